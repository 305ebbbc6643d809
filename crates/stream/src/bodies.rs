//! The transactions themselves, in the batches in which they came.

use std::collections::VecDeque;
use std::sync::Arc;

use isolde_history::{History, TxnId};

/// A transaction of the stream: its batch, and its place there. The order is that of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TxnRef(u64);

impl TxnRef {
    pub(crate) fn new(batch: u32, txn: TxnId) -> TxnRef {
        TxnRef(u64::from(batch) << 32 | u64::from(txn.0))
    }

    pub(crate) fn batch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn txn(self) -> TxnId {
        TxnId(self.0 as u32)
    }
}

/// The batches of a stream.
#[derive(Default)]
pub(crate) struct Bodies {
    /// Those that are in memory, from the first of them on.
    live: VecDeque<Arc<History>>,
    first: u32,
    bytes: usize,
}

impl Bodies {
    /// Keeps a batch, and says its number.
    pub(crate) fn add(&mut self, batch: History) -> (u32, Arc<History>) {
        let batch = Arc::new(batch);
        self.bytes += batch.heap_bytes() + size_of::<History>();
        let number = self.first + self.live.len() as u32;
        self.live.push_back(batch.clone());
        (number, batch)
    }

    /// The number of the next batch.
    pub(crate) fn next(&self) -> u32 {
        self.first + self.live.len() as u32
    }

    /// The batch of a transaction.
    pub(crate) fn get(&mut self, batch: u32) -> Option<Arc<History>> {
        self.live.get(batch.checked_sub(self.first)? as usize).cloned()
    }

    /// The bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
