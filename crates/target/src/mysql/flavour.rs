//! Which of the databases behind this protocol it is, and the levels that each offers.

use isolde_spec::Level;

use crate::failure::{After, Failure};
use crate::offer::Offer;

/// A database and a storage engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flavour {
    /// MariaDB with InnoDB; whether it knows `innodb_snapshot_isolation`.
    MariaDb {
        /// Whether repeatable reads can be made snapshots.
        snapshots: bool,
    },
    /// MariaDB with Galera: several nodes.
    Galera,
    /// MariaDB with MyRocks.
    MyRocks,
    /// MySQL with InnoDB.
    MySql,
    /// TiDB.
    TiDb,
}

const READ_UNCOMMITTED: Offer = Offer {
    name: "read-uncommitted",
    promises: Level::ReadUncommitted,
    remark: "reads see what was not committed; writers wait for each other",
};
const READ_COMMITTED: Offer = Offer {
    name: "read-committed",
    promises: Level::ReadCommitted,
    remark: "each statement sees what was committed before it began",
};
/// InnoDB's writes and locking reads see the latest rows, plain reads a snapshot. After a locking
/// read of one row of a transaction, a plain read may still miss another: not even the axiom of
/// read committed holds. Locks are held to the end and only what is committed is read, so neither
/// dirty reads nor cycles of writes and reads are possible: that is PL-2.
const REPEATABLE_READ: Offer = Offer {
    name: "repeatable-read",
    promises: Level::Pl2,
    remark: "not snapshot isolation: writes and locking reads see newer rows than plain reads, so \
             updates get lost and a transaction may see half of another; it is listed before \
             read-committed because it promises less",
};
const REPEATABLE_READ_SNAPSHOT: Offer = Offer {
    name: "repeatable-read-snapshot",
    promises: Level::SnapshotIsolation,
    remark: "REPEATABLE READ with innodb_snapshot_isolation=ON: a transaction that would write or lock a row \
             that is newer than the snapshot gets error 1020",
};
const SERIALIZABLE: Offer = Offer {
    name: "serializable",
    promises: Level::Serializable,
    remark: "two-phase locking: plain reads lock too",
};

static MARIADB: [Offer; 5] =
    [READ_UNCOMMITTED, REPEATABLE_READ, READ_COMMITTED, REPEATABLE_READ_SNAPSHOT, SERIALIZABLE];
static INNODB: [Offer; 4] = [READ_UNCOMMITTED, REPEATABLE_READ, READ_COMMITTED, SERIALIZABLE];
/// A transaction's writes are compared with those that other nodes committed meanwhile; what it read is
/// not. So rows that two transactions both write are safe from each other across nodes, others are not.
static GALERA: [Offer; 3] = [
    REPEATABLE_READ,
    READ_COMMITTED,
    Offer {
        name: "serializable",
        promises: Level::SnapshotIsolation,
        remark: "serializable on each node; between nodes only writes are compared, so write skew is \
                 possible",
    },
];
static MYROCKS: [Offer; 2] = [
    READ_COMMITTED,
    Offer {
        name: "repeatable-read",
        promises: Level::SnapshotIsolation,
        remark: "snapshot isolation: a transaction that would write or lock a row that is newer than the \
                 snapshot gets error 1213; there is no SERIALIZABLE",
    },
];
static TIDB: [Offer; 3] = [
    Offer {
        name: "repeatable-read",
        promises: Level::Pl2,
        remark: "pessimistic transactions, the default: they write and lock rows that are newer \
                 than their snapshot, as InnoDB does, so it is not snapshot isolation; it is listed \
                 before read-committed because it promises less",
    },
    READ_COMMITTED,
    Offer {
        name: "repeatable-read-optimistic",
        promises: Level::SnapshotIsolation,
        remark: "optimistic transactions: conflicts are found at COMMIT",
    },
];

impl Flavour {
    /// Recognises it by what the server says of itself.
    pub(super) fn of(version: &str, rocksdb: bool, snapshots: bool) -> Flavour {
        match version.to_ascii_lowercase() {
            _ if rocksdb => Flavour::MyRocks,
            v if v.contains("tidb") => Flavour::TiDb,
            v if v.contains("mariadb") => Flavour::MariaDb { snapshots },
            _ => Flavour::MySql,
        }
    }

    /// The database system.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Flavour::MariaDb { .. } => "MariaDB",
            Flavour::Galera => "MariaDB Galera",
            Flavour::MyRocks => "MariaDB MyRocks",
            Flavour::MySql => "MySQL",
            Flavour::TiDb => "TiDB",
        }
    }

    /// The levels, weakest first.
    pub(super) fn offers(self) -> &'static [Offer] {
        match self {
            Flavour::MariaDb { snapshots: true } => &MARIADB,
            Flavour::MariaDb { snapshots: false } | Flavour::MySql => &INNODB,
            Flavour::Galera => &GALERA,
            Flavour::MyRocks => &MYROCKS,
            Flavour::TiDb => &TIDB,
        }
    }

    /// What a failure means with this engine. InnoDB ends a transaction that is in conflict while its
    /// statement waits; Galera may have done so at any time before it says so; RocksDB (`tests/outcomes.rs`)
    /// keeps its locks until it is rolled back, and TiDB is not known to do otherwise.
    pub(super) fn judged(self, failure: Failure) -> Failure {
        match (self, failure.after) {
            (Flavour::Galera, _) => Failure { ended: false, ..failure },
            (Flavour::MyRocks | Flavour::TiDb, After::Aborted) => {
                Failure { after: After::Open, ended: false, ..failure }
            }
            (Flavour::MyRocks | Flavour::TiDb | Flavour::MariaDb { .. } | Flavour::MySql, _) => {
                failure
            }
        }
    }

    /// Whether tables can keep all versions of their rows, each with the transaction that wrote it; if not, why
    /// not.
    pub(super) fn keeps_versions(self) -> Result<(), String> {
        let why = match self {
            Flavour::MariaDb { .. } => return Ok(()),
            Flavour::MyRocks => {
                "MyRocks has no system versioning by transaction id, only by time, which puts nothing in \
                 order; MariaDB with InnoDB has"
            }
            // It was never tried whether the nodes number the transactions of a row alike.
            Flavour::Galera => {
                "it is not known whether the nodes of MariaDB Galera show the same versions; MariaDB with \
                 InnoDB on one server shows them"
            }
            Flavour::MySql => {
                "MySQL keeps no versions of rows that can be asked for; MariaDB with InnoDB does"
            }
            Flavour::TiDb => {
                "TiDB keeps no versions of rows that can be asked for one by one; MariaDB with InnoDB does"
            }
        };
        Err(why.to_owned())
    }

    /// How a table is told which engine to use.
    pub(super) const fn engine(self) -> &'static str {
        match self {
            Flavour::MyRocks => " ENGINE=ROCKSDB",
            Flavour::MariaDb { .. } | Flavour::Galera | Flavour::MySql => " ENGINE=InnoDB",
            Flavour::TiDb => "",
        }
    }

    /// The statements that bring a session to an offer.
    pub(super) fn set(self, offer: &Offer) -> Option<Vec<String>> {
        let level = match offer.name {
            "read-uncommitted" => "READ UNCOMMITTED",
            "read-committed" => "READ COMMITTED",
            "repeatable-read" | "repeatable-read-snapshot" | "repeatable-read-optimistic" => {
                "REPEATABLE READ"
            }
            "serializable" => "SERIALIZABLE",
            _ => return None,
        };
        let mut set = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")];
        if self == (Flavour::MariaDb { snapshots: true }) {
            // Newer servers have it on: what each offer means must not depend on that. At other
            // levels it stays as the server has it.
            match offer.name {
                "repeatable-read" => set.push("SET SESSION innodb_snapshot_isolation = OFF".into()),
                "repeatable-read-snapshot" => {
                    set.push("SET SESSION innodb_snapshot_isolation = ON".into());
                }
                _ => {}
            }
        }
        if self == Flavour::TiDb {
            let optimistic = offer.name == "repeatable-read-optimistic";
            let mode = if optimistic { "optimistic" } else { "pessimistic" };
            set.push(format!("SET SESSION tidb_txn_mode = '{mode}'"));
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_recognised_by_their_versions() {
        let of = |version| Flavour::of(version, false, false);
        assert_eq!(of("10.11.19-MariaDB-0+deb12u1"), Flavour::MariaDb { snapshots: false });
        assert_eq!(of("8.0.36"), Flavour::MySql);
        assert_eq!(of("8.0.11-TiDB-v8.5.0"), Flavour::TiDb);
        assert_eq!(Flavour::of("10.11.19-MariaDB", true, true), Flavour::MyRocks);
    }

    #[test]
    fn every_offer_can_be_set() {
        for flavour in [Flavour::MariaDb { snapshots: true }, Flavour::MyRocks, Flavour::TiDb] {
            for offer in flavour.offers() {
                assert!(flavour.set(offer).is_some(), "{flavour:?} {}", offer.name);
            }
        }
    }

    #[test]
    fn the_weakest_offer_that_promises_a_level_is_taken() {
        let name = |level| Offer::for_levels(&MARIADB, &[level]).map(|o| o.name);
        assert_eq!(name(Level::SnapshotIsolation), Some("repeatable-read-snapshot"));
        assert_eq!(name(Level::Pl2), Some("repeatable-read"));
        assert_eq!(name(Level::Serializable), Some("serializable"));
        assert_eq!(Offer::for_levels(&MYROCKS, &[Level::Serializable]), None);
    }
}
