//! Canopydb: a B+ tree whose writers run one at a time or, optimistically, at the same time.

use canopydb::{Database, Error, Tree, WriteTransaction};
use isolde_spec::Level;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const ROWS: &[u8] = b"rows";

const OFFERS: &[Offer] = &[
    Offer {
        name: "concurrent",
        promises: Level::SnapshotIsolation,
        remark: "begin_write_concurrent: the documentation of WriteTransaction promises snapshot \
                 isolation; conflicts are those of pages, so that neighbours conflict as well",
    },
    Offer {
        name: "exclusive",
        promises: Level::StrictSerializable,
        remark: "begin_write: 'serializable snapshot isolation' by one writer at a time, for which \
                 begin waits",
    },
];

/// The database, and the folder that goes with it.
struct Canopy {
    db: Database,
    _folder: Scratch,
}

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("canopydb").map_err(cannot)?;
    let db = Database::new(folder.path()).map_err(cannot)?;
    // Made once: two transactions that make the tree would conflict.
    let txn = db.begin_write().map_err(cannot)?;
    drop(txn.get_or_create_tree(ROWS).map_err(cannot)?);
    txn.commit().map_err(cannot)?;
    Ok(Box::new(Embedded::new(Canopy { db, _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("Canopydb does not open: {}", error.to_string()))
}

fn fault(error: Error) -> Fault {
    match error {
        Error::WriteConflict => Fault::conflict(error),
        other => Fault::other(other),
    }
}

/// The tree, which can be had only once at a time, and so anew for each access.
fn rows(txn: &WriteTransaction) -> Result<Tree<'_>, Fault> {
    txn.get_or_create_tree(ROWS).map_err(fault)
}

impl Engine for Canopy {
    const ABOUT: EngineAbout = EngineAbout {
        name: "Canopydb",
        version: env!("VERSION_CANOPYDB"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("commit_sync", "off")],
    };

    type Txn = WriteTransaction;

    fn begin(&self, offer: &str) -> Result<WriteTransaction, Fault> {
        self.db.begin_write_with(offer == "concurrent").map_err(fault)
    }

    fn get(&self, txn: &mut WriteTransaction, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        rows(txn)?.get(key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
    }

    fn scan(&self, txn: &mut WriteTransaction, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let rows = rows(txn)?;
        let pairs = rows.range(from..to).map_err(fault)?;
        pairs.map(|p| p.map(|(k, v)| (k.to_vec(), v.to_vec())).map_err(fault)).collect()
    }

    fn put(&self, txn: &mut WriteTransaction, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        rows(txn)?.insert(key, value).map_err(fault)
    }

    fn delete(&self, txn: &mut WriteTransaction, key: &[u8]) -> Result<(), Fault> {
        rows(txn)?.delete(key).map(|_| ()).map_err(fault)
    }

    fn commit(&self, txn: WriteTransaction) -> Result<(), Fault> {
        txn.commit().map(|_| ()).map_err(fault)
    }
}
