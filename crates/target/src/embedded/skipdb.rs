//! SkipDB: a skip list in memory with optimistic transactions.

use std::sync::Arc;

use isolde_spec::Level;
use skipdb::serializable::{SerializableDb, SerializableTransaction};
use txn::error::{TransactionError, WtmError};

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const OFFERS: &[Offer] = &[Offer {
    name: "serializable",
    promises: Level::Serializable,
    remark: "serializable_write(): the README promises that it 'can handle all kinds of write skew \
             correctly'; keys and ranges that were read are checked at commit",
}];

/// Bytes that are cheap to clone, as the engine wants them.
type Bytes = Arc<[u8]>;

/// The database.
struct Skip(SerializableDb<Bytes, Bytes>);

/// Opens a database in memory.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    Ok(Box::new(Embedded::new(Skip(SerializableDb::new()))))
}

impl Engine for Skip {
    const ABOUT: EngineAbout = EngineAbout {
        name: "SkipDB",
        version: env!("VERSION_SKIPDB"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[],
    };

    type Txn = SerializableTransaction<Bytes, Bytes>;

    fn begin(&self, _offer: &str) -> Result<Self::Txn, Fault> {
        Ok(self.0.serializable_write())
    }

    fn get(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let key = Bytes::from(key);
        let value = txn.get(&key).map_err(Fault::other)?;
        Ok(value.map(|v| v.value().to_vec()))
    }

    fn scan(&self, txn: &mut Self::Txn, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let pairs = txn.range(Bytes::from(from)..Bytes::from(to)).map_err(Fault::other)?;
        Ok(pairs.map(|p| (p.key().to_vec(), p.value().to_vec())).collect())
    }

    fn put(&self, txn: &mut Self::Txn, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        txn.insert(key.into(), value.into()).map_err(Fault::other)
    }

    fn delete(&self, txn: &mut Self::Txn, key: &[u8]) -> Result<(), Fault> {
        txn.remove(key.into()).map_err(Fault::other)
    }

    fn commit(&self, mut txn: Self::Txn) -> Result<(), Fault> {
        txn.commit().map_err(|error| match error {
            WtmError::Transaction(TransactionError::Conflict) => Fault::conflict(error),
            other => Fault::other(other),
        })
    }

    fn rollback(&self, mut txn: Self::Txn) -> Result<(), Fault> {
        txn.rollback().map_err(Fault::other)
    }
}
