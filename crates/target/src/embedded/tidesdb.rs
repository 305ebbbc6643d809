//! TidesDB: a log-structured engine in C with five levels.

use std::sync::Arc;

use isolde_spec::Level;
use self_cell::self_cell;
use tidesdb::{ColumnFamily, ColumnFamilyConfig, Config, Error, ErrorCode, IsolationLevel};
use tidesdb::{LogLevel, SyncMode, TidesDB, Transaction};

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const ROWS: &str = "rows";

/// Remarks quote the documentation of `IsolationLevel` (config.rs).
const OFFERS: &[Offer] = &[
    Offer {
        name: "read-uncommitted",
        promises: Level::ReadUncommitted,
        remark: "'every version is visible, including sequences still in progress'",
    },
    Offer {
        name: "read-committed",
        promises: Level::Pl2,
        remark: "'the newest committed version, re-read on every operation'; the default",
    },
    Offer {
        name: "repeatable-read",
        promises: Level::RepeatableRead,
        remark: "'frozen snapshot; commit validates that every key read is unchanged and that no \
                 key appeared inside a scanned range', which is more than its name says",
    },
    Offer {
        name: "snapshot",
        promises: Level::SnapshotIsolation,
        remark: "'frozen snapshot; commit claims each written key first-committer-wins'",
    },
    Offer {
        name: "serializable",
        promises: Level::Serializable,
        remark: "the checks of repeatable-read and of snapshot",
    },
];

/// The database, and the folder that goes with it.
struct Tides {
    db: Arc<TidesDB>,
    _folder: Scratch,
}

self_cell!(
    /// A transaction with the database from which it borrows.
    struct TidesTxn {
        owner: Arc<TidesDB>,
        #[not_covariant]
        dependent: Transaction,
    }
);

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("tidesdb").map_err(cannot)?;
    let config = Config::new(folder.path().join("data"))
        .log_level(LogLevel::Error)
        .memtable_sync_mode(SyncMode::None);
    let db = TidesDB::open(config).map_err(cannot)?;
    db.create_column_family(ROWS, ColumnFamilyConfig::new()).map_err(cannot)?;
    Ok(Box::new(Embedded::new(Tides { db: Arc::new(db), _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("TidesDB does not open: {}", error.to_string()))
}

fn fault(error: Error) -> Fault {
    if error.is_conflict() || error.is_locked() {
        Fault::conflict(error)
    } else {
        Fault::other(error)
    }
}

impl TidesTxn {
    fn run<T>(
        &self,
        act: impl FnOnce(&Transaction<'_>, &ColumnFamily<'_>) -> Result<T, Error>,
    ) -> Result<T, Fault> {
        self.with_dependent(|db, txn| {
            let rows = db.get_column_family(ROWS).map_err(fault)?;
            act(txn, &rows).map_err(fault)
        })
    }
}

impl Engine for Tides {
    const ABOUT: EngineAbout = EngineAbout {
        name: "TidesDB",
        version: env!("VERSION_TIDESDB"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("sync_mode", "none")],
    };

    type Txn = TidesTxn;

    fn begin(&self, offer: &str) -> Result<TidesTxn, Fault> {
        let level = match offer {
            "read-uncommitted" => IsolationLevel::ReadUncommitted,
            "read-committed" => IsolationLevel::ReadCommitted,
            "repeatable-read" => IsolationLevel::RepeatableRead,
            "snapshot" => IsolationLevel::Snapshot,
            _ => IsolationLevel::Serializable,
        };
        let db = Arc::clone(&self.db);
        TidesTxn::try_new(db, |db| db.begin_transaction_with_isolation(level)).map_err(fault)
    }

    fn get(&self, txn: &mut TidesTxn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.run(|txn, rows| match txn.get(rows, key) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.code() == Some(ErrorCode::NotFound) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn scan(&self, txn: &mut TidesTxn, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        txn.run(|txn, rows| {
            let mut pairs = Vec::new();
            let mut found = txn.new_range_iterator(rows, from, to)?;
            found.seek(from)?;
            while found.is_valid() {
                let pair = found.key_value()?;
                if pair.0.as_slice() >= to {
                    break;
                }
                pairs.push(pair);
                found.next()?;
            }
            Ok(pairs)
        })
    }

    fn put(&self, txn: &mut TidesTxn, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        txn.run(|txn, rows| txn.put(rows, key, value))
    }

    fn delete(&self, txn: &mut TidesTxn, key: &[u8]) -> Result<(), Fault> {
        txn.run(|txn, rows| txn.delete(rows, key))
    }

    fn commit(&self, mut txn: TidesTxn) -> Result<(), Fault> {
        txn.with_dependent_mut(|_, txn| txn.commit()).map_err(fault)
    }

    fn rollback(&self, mut txn: TidesTxn) -> Result<(), Fault> {
        txn.with_dependent_mut(|_, txn| txn.rollback()).map_err(fault)
    }
}
