//! redb: a copy-on-write tree with one writer at a time, a control.

use isolde_spec::Level;
use redb::{Database, Durability, ReadableTable, TableDefinition, WriteTransaction};

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const ROWS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("rows");

const OFFERS: &[Offer] = &[Offer {
    name: "serializable",
    promises: Level::StrictSerializable,
    remark: "docs/design.md promises 'serializable, in which all writes are applied sequentially'; \
             begin waits until the writer before has ended",
}];

/// The database, and the folder that goes with it.
struct Redb {
    db: Database,
    _folder: Scratch,
}

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("redb").map_err(cannot)?;
    let db = Database::create(folder.path().join("data")).map_err(cannot)?;
    Ok(Box::new(Embedded::new(Redb { db, _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("redb does not open: {}", error.to_string()))
}

impl Engine for Redb {
    const ABOUT: EngineAbout = EngineAbout {
        name: "redb",
        version: env!("VERSION_REDB"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("durability", "none")],
    };

    type Txn = WriteTransaction;

    fn begin(&self, _offer: &str) -> Result<WriteTransaction, Fault> {
        let mut txn = self.db.begin_write().map_err(Fault::other)?;
        // A temporary file is not needed after a crash.
        txn.set_durability(Durability::None).map_err(Fault::other)?;
        Ok(txn)
    }

    fn get(&self, txn: &mut WriteTransaction, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let rows = txn.open_table(ROWS).map_err(Fault::other)?;
        let value = rows.get(key).map_err(Fault::other)?;
        Ok(value.map(|v| v.value().to_vec()))
    }

    fn scan(&self, txn: &mut WriteTransaction, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let rows = txn.open_table(ROWS).map_err(Fault::other)?;
        let pairs = rows.range::<&[u8]>(from..to).map_err(Fault::other)?;
        pairs
            .map(|p| p.map(|(k, v)| (k.value().to_vec(), v.value().to_vec())))
            .map(|p| p.map_err(Fault::other))
            .collect()
    }

    fn put(&self, txn: &mut WriteTransaction, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let mut rows = txn.open_table(ROWS).map_err(Fault::other)?;
        rows.insert(key, value).map(|_| ()).map_err(Fault::other)
    }

    fn delete(&self, txn: &mut WriteTransaction, key: &[u8]) -> Result<(), Fault> {
        let mut rows = txn.open_table(ROWS).map_err(Fault::other)?;
        rows.remove(key).map(|_| ()).map_err(Fault::other)
    }

    fn commit(&self, txn: WriteTransaction) -> Result<(), Fault> {
        txn.commit().map_err(Fault::other)
    }

    fn rollback(&self, txn: WriteTransaction) -> Result<(), Fault> {
        txn.abort().map_err(Fault::other)
    }
}
