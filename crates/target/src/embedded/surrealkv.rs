//! SurrealKV: a log-structured engine with snapshots and an asynchronous commit.

use isolde_spec::Level;
use surrealkv::{Error, LSMIterator, Transaction, Tree, TreeBuilder};
use tokio::runtime::Runtime;

use crate::embedded::adapter::Embedded;
use crate::embedded::engine::{Engine, EngineAbout, Fault, Pair};
use crate::embedded::scratch::Scratch;
use crate::offer::Offer;
use crate::open::OpenOptions;
use crate::target::{OpenError, Target};

const OFFERS: &[Offer] = &[Offer {
    name: "snapshot",
    promises: Level::SnapshotIsolation,
    remark: "the README promises snapshot isolation; plain reads are not checked at commit, those \
             of get_for_update are, against committed writes only",
}];

/// The database, the runtime of its background work, and the folder that goes with it.
struct SurrealKv {
    tree: Tree,
    // The engine spawns its work on the runtime in which it was opened.
    runtime: Runtime,
    _folder: Scratch,
}

/// Opens a database in a temporary folder.
pub(crate) fn open(
    _url: Option<&str>,
    _options: &OpenOptions,
) -> Result<Box<dyn Target>, OpenError> {
    let folder = Scratch::new("surrealkv").map_err(cannot)?;
    // Two threads: one could be kept busy by a compaction while commits wait.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(cannot)?;
    let path = folder.path().join("data");
    let tree = {
        let _inside = runtime.enter();
        TreeBuilder::new().with_path(path).build().map_err(cannot)?
    };
    let engine = SurrealKv { tree, runtime, _folder: folder };
    Ok(Box::new(Embedded::new(engine)))
}

#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
fn cannot(error: impl ToString) -> OpenError {
    OpenError::new(format!("SurrealKV does not open: {}", error.to_string()))
}

fn fault(error: Error) -> Fault {
    match error {
        Error::TransactionWriteConflict | Error::TransactionRetry => Fault::conflict(error),
        other => Fault::other(other),
    }
}

impl Engine for SurrealKv {
    const ABOUT: EngineAbout = EngineAbout {
        name: "SurrealKV",
        version: env!("VERSION_SURREALKV"),
        offers: OFFERS,
        scans: true,
        locks: true,
        facts: &[("durability", "eventual")],
    };

    type Txn = Transaction;

    fn begin(&self, _offer: &str) -> Result<Transaction, Fault> {
        self.tree.begin().map_err(fault)
    }

    fn get(&self, txn: &mut Transaction, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.get(key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
    }

    fn get_for_update(&self, txn: &mut Transaction, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        txn.get_for_update(key).map(|v| v.map(|v| v.to_vec())).map_err(fault)
    }

    fn scan(&self, txn: &mut Transaction, from: &[u8], to: &[u8]) -> Result<Vec<Pair>, Fault> {
        let mut pairs = Vec::new();
        let mut found = txn.range(from, to).map_err(fault)?;
        found.seek_first().map_err(fault)?;
        while found.valid() {
            let value = found.value().map_err(fault)?.to_vec();
            pairs.push((found.key().user_key().to_vec(), value));
            found.next().map_err(fault)?;
        }
        Ok(pairs)
    }

    fn put(&self, txn: &mut Transaction, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        txn.set(key, value).map_err(fault)
    }

    fn delete(&self, txn: &mut Transaction, key: &[u8]) -> Result<(), Fault> {
        txn.delete(key).map_err(fault)
    }

    fn commit(&self, mut txn: Transaction) -> Result<(), Fault> {
        self.runtime.block_on(txn.commit()).map_err(fault)
    }
}

impl Drop for SurrealKv {
    fn drop(&mut self) {
        // Whether it closes well says nothing about isolation, and its folder goes anyway.
        let _ = self.runtime.block_on(self.tree.close());
    }
}
