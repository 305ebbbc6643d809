//! Anti-dependencies, for what is said of two in a row.

use hashbrown::{HashMap, HashSet};

use super::row::TraceNo;
use super::topology::Link;

/// Anti-dependencies between transactions, both ways.
#[derive(Default, Debug)]
pub(super) struct Conflicts {
    /// Of a transaction those that overwrote what it had read.
    pub(super) out: HashMap<TraceNo, Vec<(TraceNo, Link)>>,
    /// Of a transaction those that had read what it overwrote.
    pub(super) into: HashMap<TraceNo, Vec<(TraceNo, Link)>>,
    /// Transactions in the middle that were told of.
    pub(super) told: HashSet<TraceNo>,
}

impl Conflicts {
    /// Forgets the anti-dependencies of transactions that do not matter any more.
    pub(super) fn forget(&mut self, matters: impl Fn(TraceNo) -> bool) {
        self.out.retain(|no, _| matters(*no));
        self.into.retain(|no, _| matters(*no));
        self.told.retain(|no| matters(*no));
    }
}
