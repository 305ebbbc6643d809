//! What runs that were killed left on a MariaDB, MySQL or TiDB server.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use crate::leftover::{self, Leftover};

/// Tables of this database, and databases of schedules.
pub(super) fn list(conn: &mut Conn) -> Result<Vec<Leftover>, Error> {
    let tables: Vec<String> = conn.query("SHOW TABLES LIKE 'isolde\\_%'")?;
    let rooms: Vec<String> = conn.query("SHOW DATABASES LIKE 'isolde\\_%'")?;
    // Tables that a statement is just using; TiDB does not say.
    let used = "SHOW OPEN TABLES WHERE In_use > 0";
    let used: Vec<(String, String, u64, u64)> = conn.query(used).unwrap_or_default();
    let tables = tables.into_iter().filter(|name| leftover::is_table(name)).map(|name| {
        let in_use = used.iter().any(|(_, table, _, _)| *table == name);
        Leftover { kind: "table", name, in_use }
    });
    let rooms = rooms.into_iter().filter(|name| leftover::is_room(name));
    let rooms = rooms.map(|name| Leftover { kind: "database", name, in_use: false });
    Ok(tables.chain(rooms).collect())
}

/// The statement that removes one.
pub(super) fn drop_statement(left: &Leftover) -> String {
    match left.kind {
        "database" => format!("DROP DATABASE IF EXISTS {}", left.name),
        _ => format!("DROP TABLE IF EXISTS {}", left.name),
    }
}
