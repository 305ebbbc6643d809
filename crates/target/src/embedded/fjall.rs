//! fjall: a log-structured engine with optimistic transactions.

use std::error::Error;

use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace};
use fjall::{OptimisticWriteTx, Readable};
use isolde_spec::Level;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
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
    _folder: Scratch,
}

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("fjall").map_err(cannot)?;
    let db = OptimisticTxDatabase::builder(folder.path()).open().map_err(cannot)?;
    let rows = db.keyspace("rows", KeyspaceCreateOptions::default).map_err(cannot)?;
    Ok(Box::new(Embedded::new(Fjall { db, rows, _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl Error + 'static) -> OpenError {
    OpenError::new(format!("fjall does not open: {}", words(&error)))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn fault(error: fjall::Error) -> Fault {
    Fault::other(words(&error))
}

/// An error as a sentence. fjall shows its own as Rust does; the operating system's below it is one.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return error.to_string();
        }
        cause = error.source();
    }
    error.to_string()
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
        self.db.write_tx().map_err(fault)
    }

    fn get(&self, txn: &mut OptimisticWriteTx, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.get(&self.rows, key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
    }

    fn scan(
        &self,
        txn: &mut OptimisticWriteTx,
        from: &[u8],
        to: &[u8],
    ) -> Result<Vec<Pair>, Fault> {
        let pairs = txn.range(&self.rows, from..to).map(fjall::Guard::into_inner);
        pairs.map(|p| p.map(|(k, v)| (k.to_vec(), v.to_vec())).map_err(fault)).collect()
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
        txn.commit().map_err(fault)?.map_err(Fault::conflict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_in_a_sentence() {
        let full = fjall::Error::Io(std::io::Error::from_raw_os_error(28));
        assert_eq!(words(&full), "No space left on device (os error 28)");
    }
}
