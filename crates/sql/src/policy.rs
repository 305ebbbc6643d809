//! How statements have to be watched, for each server and level: data.
//!
//! A read in between has to see exactly what its statement sees. Mostly a plain SELECT does, since nothing else happens
//! between the two. On InnoDB at REPEATABLE READ it does not: SELECT reads a snapshot, and INSERT, UPDATE, DELETE and
//! locking reads read the newest versions. There the reads of these lock, too, which makes them read what is newest.

use isolde_target::Offer;

/// How statements are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What a read of all rows of a table ends with, on behalf of a statement that writes or locks.
    pub version_set: &'static str,
    /// What a read of the rows that a statement is going to write ends with.
    pub before_write: &'static str,
    /// Whether all plain SELECTs of a transaction read one snapshot.
    pub one_snapshot: bool,
    /// Whether SELECT and UPDATE of one transaction may see different rows, as the server's makers document.
    pub writes_read_newest: bool,
    /// Whether a step that would have to wait for another session fails at once instead, and can be done later.
    pub fails_when_busy: bool,
}

/// SELECT reads what all other statements read.
const PLAIN: Policy = Policy {
    version_set: "",
    before_write: "",
    one_snapshot: true,
    writes_read_newest: false,
    fails_when_busy: false,
};

/// One writer at a time.
const SQLITE: Policy = Policy { fails_when_busy: true, ..PLAIN };

/// A row: a server, one of its levels, and how to watch it there or why that cannot be done.
type PolicyRow = (&'static str, &'static str, Result<Policy, &'static str>);

/// All rows. What is not here is not known to be sound.
const POLICIES: [PolicyRow; 12] = [
    ("PostgreSQL", "read-committed", Ok(Policy { one_snapshot: false, ..PLAIN })),
    ("PostgreSQL", "repeatable-read", Ok(PLAIN)),
    ("PostgreSQL", "serializable", Ok(PLAIN)),
    ("MariaDB", "read-uncommitted", Err(DIRTY)),
    ("MariaDB", "read-committed", Ok(Policy { one_snapshot: false, ..PLAIN })),
    ("MariaDB", "repeatable-read", Ok(INNODB_SNAPSHOTS)),
    // A writer that finds a newer version than its snapshot's fails, so that both see the same.
    (
        "MariaDB",
        "repeatable-read-snapshot",
        Ok(Policy { writes_read_newest: false, ..INNODB_SNAPSHOTS }),
    ),
    // Every SELECT locks.
    ("MariaDB", "serializable", Ok(Policy { one_snapshot: false, ..PLAIN })),
    ("MySQL", "read-uncommitted", Err(DIRTY)),
    ("SQLite", "deferred", Ok(SQLITE)),
    ("SQLite", "immediate", Ok(SQLITE)),
    ("TiDB", "repeatable-read", Err(PESSIMISTIC)),
];

/// InnoDB at REPEATABLE READ.
const INNODB_SNAPSHOTS: Policy = Policy {
    version_set: " LOCK IN SHARE MODE",
    before_write: " FOR UPDATE",
    one_snapshot: true,
    writes_read_newest: true,
    fails_when_busy: false,
};

const DIRTY: &str = "at READ UNCOMMITTED a statement may see rows that are rolled back, so no serial order has to explain it";
const PESSIMISTIC: &str = "pessimistic transactions of TiDB read a snapshot and write the newest versions, and their locking \
                           reads do not read what their writes do";

/// How to watch statements at a level.
pub fn policy(server: &str, offer: &Offer) -> Result<Policy, String> {
    // MySQL does what MariaDB does at levels of the same name.
    let alike = if server == "MySQL" { "MariaDB" } else { server };
    let row =
        |name: &str| POLICIES.iter().find(|(of, level, _)| *of == name && *level == offer.name);
    match row(server).or_else(|| row(alike)) {
        Some((_, _, Ok(policy))) => Ok(*policy),
        Some((_, _, Err(why))) => Err(format!("{} of {server}: {why}", offer.name)),
        None => Err(format!(
            "it is not known which reads show what statements see at {} of {server}",
            offer.name
        )),
    }
}
