//! All targets, as data.

use crate::nearest::nearest;
use crate::open::{Open, OpenOptions};
use crate::secret::without_password;
use crate::target::{OpenError, Target};

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
    #[cfg(feature = "postgres")]
    Kind {
        name: "postgres-standby",
        schemes: &[],
        summary: "PostgreSQL with a hot standby: throwaway servers; half of the sessions read there",
        open: crate::postgres::open_pair,
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
        name: "galera",
        schemes: &[],
        summary: "MariaDB Galera: a throwaway cluster of three nodes; sessions are spread over them",
        open: crate::mysql::open_galera,
    },
    #[cfg(feature = "mysql")]
    Kind {
        name: "mariadb-rocksdb",
        schemes: &["mariadb-rocksdb"],
        summary: "MariaDB with MyRocks: a throwaway server, or mariadb-rocksdb://...",
        open: crate::mysql::open_rocksdb,
    },
    #[cfg(feature = "etcd")]
    Kind {
        name: "etcd",
        schemes: &["etcd"],
        summary: "etcd: a throwaway cluster of three nodes (etcd:1 for one), or etcd://host:port,...",
        open: crate::etcd::open,
    },
    #[cfg(feature = "drivers")]
    Kind {
        name: "driver",
        schemes: &["driver"],
        summary: "any database by driver:COMMAND, a process that speaks JSON (docs/drivers.md)",
        open: crate::driver::open,
    },
    // Engines inside this process.
    #[cfg(feature = "sqlite")]
    Kind {
        name: "sqlite",
        schemes: &["sqlite"],
        summary: "SQLite: a temporary file, or sqlite:PATH for your own; one writer, a control",
        open: crate::embedded::sqlite::open,
    },
    #[cfg(feature = "fjall")]
    Kind {
        name: "fjall",
        schemes: &[],
        summary: "fjall: a log-structured engine with optimistic serializable transactions",
        open: crate::embedded::fjall::open,
    },
    #[cfg(feature = "surrealkv")]
    Kind {
        name: "surrealkv",
        schemes: &[],
        summary: "SurrealKV: a log-structured engine with snapshot isolation",
        open: crate::embedded::surrealkv::open,
    },
    #[cfg(feature = "surrealmx")]
    Kind {
        name: "surrealmx",
        schemes: &[],
        summary: "SurrealMX: in memory, snapshot isolation or strict serializability",
        open: crate::embedded::surrealmx::open,
    },
    #[cfg(feature = "surrealmx-0-22")]
    Kind {
        name: "surrealmx-0-22",
        schemes: &[],
        summary: "SurrealMX 0.22, which loses updates: a faulty engine to see violations with",
        open: crate::embedded::surrealmx_0_22::open,
    },
    #[cfg(feature = "canopydb")]
    Kind {
        name: "canopydb",
        schemes: &[],
        summary: "Canopydb: a B+ tree with concurrent writers (snapshot) or one (serializable)",
        open: crate::embedded::canopydb::open,
    },
    #[cfg(feature = "mace-kv")]
    Kind {
        name: "mace-kv",
        schemes: &[],
        summary: "Mace: between a B+ tree and a log, with snapshot isolation",
        open: crate::embedded::mace::open,
    },
    #[cfg(feature = "skipdb")]
    Kind {
        name: "skipdb",
        schemes: &[],
        summary: "SkipDB: in memory, optimistic or serializable transactions",
        open: crate::embedded::skipdb::open,
    },
    #[cfg(feature = "stoolap")]
    Kind {
        name: "stoolap",
        schemes: &[],
        summary: "Stoolap: SQL in memory, read committed or snapshot isolation",
        open: crate::embedded::stoolap::open,
    },
    #[cfg(feature = "tidesdb")]
    Kind {
        name: "tidesdb",
        schemes: &[],
        summary: "TidesDB: a log-structured engine in C with five levels",
        open: crate::embedded::tidesdb::open,
    },
    #[cfg(feature = "grafeo")]
    Kind {
        name: "grafeo",
        schemes: &[],
        summary: "Grafeo: a graph in memory, read committed to serializable",
        open: crate::embedded::grafeo::open,
    },
    #[cfg(feature = "redb")]
    Kind {
        name: "redb",
        schemes: &[],
        summary: "redb: a copy-on-write tree; one writer, a control",
        open: crate::embedded::redb::open,
    },
    #[cfg(feature = "faulty")]
    Kind {
        name: FAULTY,
        schemes: &[],
        summary: "no database: an engine of Isolde's own that is faulty on purpose (--fault)",
        open: crate::embedded::faulty::open,
    },
];

/// The one target in which anomalies can be planted.
pub const FAULTY: &str = "faulty";

/// What is said of a build without databases.
pub const NONE: &str = "this build has no databases: it was made without default features";

/// Opens what the user named: the name of a kind, or a URL.
pub fn open(spec: &str, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    let shown = without_password(spec);
    if let (Some(anomaly), true) = (options.planted.first(), spec != FAULTY) {
        return Err(OpenError::new(format!("{anomaly} cannot be planted in '{shown}'"))
            .hint(format!("only '{FAULTY}' is faulty on purpose")));
    }
    if let Some(kind) = KINDS.iter().find(|k| k.name == spec) {
        return showing((kind.open)(None, options)?, options);
    }
    // Schemes of URLs may be written in capitals.
    let scheme = spec.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match KINDS.iter().find(|k| spec.contains(':') && k.schemes.contains(&scheme.as_str())) {
        Some(kind) => showing((kind.open)(Some(spec), options)?, options),
        None => {
            let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
            let schemes = KINDS.iter().flat_map(|k| k.schemes.iter().copied());
            let hint = match nearest(&scheme, names.iter().copied().chain(schemes)) {
                _ if names.is_empty() => NONE.to_owned(),
                Some(near) => format!("did you mean {near}? `isolde targets` lists all"),
                None => format!("targets of this build are {}; or give a URL", names.join(", ")),
            };
            Err(OpenError::new(format!("there is no target '{shown}'")).hint(hint))
        }
    }
}

/// Refuses a target that does not show what it shall show.
fn showing(target: Box<dyn Target>, options: &OpenOptions) -> Result<Box<dyn Target>, OpenError> {
    match options.show.map_or(Ok(()), |show| target.shows(show)) {
        Ok(()) => Ok(target),
        Err(why) => Err(OpenError::new(why)),
    }
}
