//! All targets, as data.

use std::path::PathBuf;
use std::time::Duration;

use crate::target::{OpenError, Target};

/// How to open a target.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Where the programs of a throwaway server are, if not in the usual places.
    pub server_bin: Option<PathBuf>,
    /// The port of a throwaway server; a free one if not given.
    pub port: Option<u16>,
    /// Leave the throwaway server running, and its folder in place.
    pub keep: bool,
    /// How long one statement may take before the session gives up on the connection.
    pub timeout: Duration,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        let timeout = Duration::from_secs(10);
        OpenOptions { server_bin: None, port: None, keep: false, timeout }
    }
}

/// Opens a target: by the bare name of its kind (no URL: a server is started), or what a URL names.
pub type Open = fn(url: Option<&str>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError>;

/// One kind of target.
pub struct Kind {
    /// What the user types: `isolde test NAME`.
    pub name: &'static str,
    /// The schemes of URLs that mean it, such as `postgres`; none for those without a server.
    pub schemes: &'static [&'static str],
    /// One line for `isolde targets`.
    pub summary: &'static str,
    /// Opens it.
    pub open: Open,
}

/// Every kind of target that this build knows.
pub const KINDS: &[Kind] = &[
    #[cfg(feature = "postgres")]
    Kind {
        name: "postgres",
        schemes: &["postgres", "postgresql"],
        summary: "PostgreSQL: a throwaway server, or postgres://user:password@host:port/database",
        open: crate::postgres::open,
    },
    #[cfg(feature = "mysql")]
    Kind {
        name: "mariadb",
        schemes: &["mariadb", "mysql", "tidb"],
        summary: "MariaDB with InnoDB: a throwaway server; or MariaDB, MySQL or TiDB by \
                  mysql://user:password@host:port/database",
        open: crate::mysql::open,
    },
    #[cfg(feature = "mysql")]
    Kind {
        name: "mariadb-rocksdb",
        schemes: &["mariadb-rocksdb"],
        summary: "MariaDB with MyRocks: a throwaway server, or mariadb-rocksdb://...",
        open: crate::mysql::open_rocksdb,
    },
];

/// Opens what the user named: the name of a kind, or a URL.
pub fn open(spec: &str, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    if let Some(kind) = KINDS.iter().find(|k| k.name == spec) {
        return (kind.open)(None, options);
    }
    let scheme = spec.split(':').next().unwrap_or_default();
    match KINDS.iter().find(|k| spec.contains(':') && k.schemes.contains(&scheme)) {
        Some(kind) => (kind.open)(Some(spec), options),
        None => {
            let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
            let hint = format!("targets of this build are {}; or give a URL", names.join(", "));
            Err(OpenError::new(format!("there is no target '{spec}'")).hint(hint))
        }
    }
}
