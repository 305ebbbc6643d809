//! Servers and levels by the names that people and tools give them.

/// A server's name as it is compared. A server is also known by its protocol or its storage engine.
pub(super) fn server(name: &str) -> String {
    let name = plain(name);
    let usual = match name.as_str() {
        "postgres" => "postgresql",
        "innodb" => "mariadb",
        "myrocks" | "mariadb-rocksdb" => "mariadb-myrocks",
        _ => return name,
    };
    usual.to_owned()
}

/// A level's name as it is compared. JDBC's constants are `TRANSACTION_REPEATABLE_READ` and the like.
pub(super) fn level(name: &str) -> String {
    let name = plain(name);
    name.strip_prefix("transaction-").map_or(name.clone(), str::to_owned)
}

/// Small letters, with hyphens for spaces and underscores.
fn plain(name: &str) -> String {
    let hyphens = name.trim().replace([' ', '_'], "-");
    hyphens.to_ascii_lowercase()
}
