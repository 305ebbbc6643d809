//! Mace: an engine between a B+ tree and a log, with snapshots.

use isolde_spec::Level;
use mace::{Bucket, BucketOptions, Mace, OpCode, Options, TxnKV};
use self_cell::self_cell;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const OFFERS: &[Offer] = &[Offer {
    name: "snapshot",
    promises: Level::SnapshotIsolation,
    remark: "the README promises 'non-blocking concurrent reads and writes with snapshot isolation'; \
             the second writer is refused at once",
}];

/// The database, its only bucket, and the folder that goes with it.
struct MaceKv {
    bucket: Bucket,
    _db: Mace,
    _folder: Scratch,
}

/// A transaction, until it has ended.
type Running<'a> = Option<TxnKV<'a>>;

self_cell!(
    /// A transaction with the bucket from which it borrows.
    struct MaceTxn {
        owner: Bucket,
        #[not_covariant]
        dependent: Running,
    }
);

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("mace").map_err(cannot)?;
    let mut options = Options::new(folder.path().join("data"));
    // A temporary folder is not needed after a crash.
    options.sync_on_write = false;
    let db = Mace::new(options.validate().map_err(cannot)?).map_err(cannot)?;
    let bucket = db.new_bucket("rows", BucketOptions::default()).map_err(cannot)?;
    Ok(Box::new(Embedded::new(MaceKv { bucket, _db: db, _folder: folder })))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("Mace does not open: {}", error.to_string()))
}

fn fault(error: OpCode) -> Fault {
    match error {
        OpCode::AbortTx => Fault::conflict("the transaction was aborted (AbortTx)"),
        other => Fault::other(other),
    }
}

impl MaceTxn {
    fn run<T>(&self, act: impl FnOnce(&TxnKV<'_>) -> Result<T, OpCode>) -> Result<T, Fault> {
        self.with_dependent(|_, txn| match txn {
            Some(txn) => act(txn).map_err(fault),
            None => Err(Fault::other("the transaction has ended")),
        })
    }
}

impl Engine for MaceKv {
    const ABOUT: EngineAbout = EngineAbout {
        name: "Mace",
        version: env!("VERSION_MACE_KV"),
        offers: OFFERS,
        scans: true,
        locks: false,
        facts: &[("sync_on_write", "off")],
    };

    type Txn = MaceTxn;

    fn begin(&self, _offer: &str) -> Result<MaceTxn, Fault> {
        MaceTxn::try_new(self.bucket.clone(), |bucket| bucket.begin().map(Some)).map_err(fault)
    }

    fn get(&self, txn: &mut MaceTxn, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.run(|txn| match txn.get(key) {
            Ok(value) => Ok(Some(value.slice().to_vec())),
            Err(OpCode::NotFound) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn scan(&self, txn: &mut MaceTxn, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        txn.run(|txn| {
            let mut pairs = Vec::new();
            let mut found = txn.range(from..to);
            while let Some(item) = found.try_next()? {
                pairs.push((item.key().to_vec(), item.val().to_vec()));
            }
            Ok(pairs)
        })
    }

    fn put(&self, txn: &mut MaceTxn, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        txn.run(|txn| txn.upsert(key, value))
    }

    fn delete(&self, txn: &mut MaceTxn, key: &[u8]) -> Result<(), Fault> {
        txn.run(|txn| txn.del(key))
    }

    fn commit(&self, mut txn: MaceTxn) -> Result<(), Fault> {
        txn.with_dependent_mut(|_, txn| match txn.take() {
            Some(txn) => txn.commit().map_err(fault),
            None => Err(Fault::other("the transaction has ended")),
        })
    }
}
