//! By snapshots: the places that the transactions of a batch were given, which the batch itself does not tell.

use std::sync::Arc;

use isolde_history::{Timestamp, TxnId};

use crate::pack::packed;

/// The place of a transaction; nothing if it has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Given {
    pub(crate) start: Option<Timestamp>,
    pub(crate) commit: Option<Timestamp>,
}

packed!(Given { start, commit });

/// The places of the transactions of a batch, as they become known.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    given: Arc<Vec<Given>>,
    /// How many transactions wait for theirs.
    waiting: usize,
}

impl Places {
    /// So many transactions wait.
    pub(crate) fn new(txns: usize) -> Places {
        Places { given: Arc::new(vec![Given::default(); txns]), waiting: txns }
    }

    /// A transaction waits no more.
    pub(crate) fn give(&mut self, txn: TxnId, place: Given) {
        if let Some(given) = Arc::make_mut(&mut self.given).get_mut(txn.index()) {
            *given = place;
            self.waiting = self.waiting.saturating_sub(1);
        }
    }

    /// Whether any transaction waits.
    pub(crate) fn wait(&self) -> bool {
        self.waiting > 0
    }

    pub(crate) fn given(&self) -> &Arc<Vec<Given>> {
        &self.given
    }

    /// The latest place.
    pub(crate) fn latest(&self) -> Option<Timestamp> {
        self.given.iter().map(|given| given.start.max(given.commit)).max().flatten()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.given.len() * size_of::<Given>()
    }
}
