//! fjall: a log-structured engine with optimistic transactions.

use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace};
use fjall::{OptimisticWriteTx, Readable};
use isolde_spec::Level;
use tempfile::TempDir;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const OFFERS: &[Offer] = &[Offer {
    name: "serializable",
    promises: Level::Serializable,
    remark: "the README promises 'multi-writer, serializable transactions' (OptimisticTxDatabase); \
             reads are tracked by key and range and checked at commit",
}];

/// The database, its only keyspace, and the folder that goes with it.
struct Fjall {
    db: OptimisticTxDatabase,
    rows: OptimisticTxKeyspace,
    // Dropped last: the database still writes when it is closed.
    _folder: TempDir,
}

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = TempDir::with_prefix("isolde-fjall-").map_err(cannot)?;
    let db = OptimisticTxDatabase::builder(folder.path()).open().map_err(cannot)?;
    let rows = db.keyspace("rows", KeyspaceCreateOptions::default).map_err(cannot)?;
    Ok(Box::new(Embedded::new(Fjall { db, rows, _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("fjall does not open: {}", error.to_string()))
}

impl Engine for Fjall {
    const ABOUT: EngineAbout = EngineAbout {
        name: "fjall",
        version: env!("VERSION_FJALL"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[],
    };

    type Txn = OptimisticWriteTx;

    fn begin(&self, _offer: &str) -> Result<OptimisticWriteTx, Fault> {
        self.db.write_tx().map_err(Fault::other)
    }

    fn get(&self, txn: &mut OptimisticWriteTx, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.get(&self.rows, key).map(|v| v.map(|v| v.to_vec())).map_err(Fault::other)
    }

    fn scan(
        &self,
        txn: &mut OptimisticWriteTx,
        from: &[u8],
        to: &[u8],
    ) -> Result<Vec<Pair>, Fault> {
        let pairs = txn.range(&self.rows, from..to).map(fjall::Guard::into_inner);
        pairs.map(|p| p.map(|(k, v)| (k.to_vec(), v.to_vec())).map_err(Fault::other)).collect()
    }

    fn put(&self, txn: &mut OptimisticWriteTx, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        txn.insert(&self.rows, key, value);
        Ok(())
    }

    fn delete(&self, txn: &mut OptimisticWriteTx, key: &[u8]) -> Result<(), Fault> {
        txn.remove(&self.rows, key);
        Ok(())
    }

    fn commit(&self, txn: OptimisticWriteTx) -> Result<(), Fault> {
        txn.commit().map_err(Fault::other)?.map_err(Fault::conflict)
    }
}
