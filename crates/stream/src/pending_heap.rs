//! Wrong reads that are not told yet, by when they are final and by when they came.
//!
//! Each is in two heaps, and what is taken from one stays in the other until it comes up there: asking about a read
//! once more does no harm. A heap that holds mostly such is cleared of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use isolde_history::Timestamp;

use crate::bodies::TxnRef;
use crate::timestamps::Pending;

/// From so many on a heap may be cleared.
const FEW: usize = 1 << 16;

/// Wrong reads that are not told yet.
#[derive(Default)]
pub(crate) struct PendingHeap {
    by_time: BinaryHeap<Reverse<Pending>>,
    by_arrival: BinaryHeap<Reverse<(TxnRef, Pending)>>,
    /// How many each heap had when it was last cleared.
    cleared: [usize; 2],
}

impl PendingHeap {
    /// Adds a read.
    pub(crate) fn push(&mut self, pending: Pending) {
        self.by_time.push(Reverse(pending));
        self.by_arrival.push(Reverse((pending.txn, pending)));
    }

    /// One that came in a batch before a number.
    pub(crate) fn pop_before(&mut self, batch: u32) -> Option<Pending> {
        let Reverse((txn, _)) = self.by_arrival.peek()?;
        if txn.batch() >= batch {
            return None;
        }
        self.by_arrival.pop().map(|Reverse((_, pending))| pending)
    }

    /// One that is final below a time.
    pub(crate) fn pop_below(&mut self, low: Timestamp) -> Option<Pending> {
        let Reverse(pending) = self.by_time.peek()?;
        if pending.until >= low {
            return None;
        }
        self.by_time.pop().map(|Reverse(pending)| pending)
    }

    /// Clears the heaps of what is not open any more, if that may be most of them: most wrong reads become right.
    pub(crate) fn clear_settled(&mut self, is_open: impl Fn(&Pending) -> bool) {
        if self.by_time.len() > FEW.max(2 * self.cleared[0]) {
            self.by_time.retain(|Reverse(pending)| is_open(pending));
            self.cleared[0] = self.by_time.len();
        }
        if self.by_arrival.len() > FEW.max(2 * self.cleared[1]) {
            self.by_arrival.retain(|Reverse((_, pending))| is_open(pending));
            self.cleared[1] = self.by_arrival.len();
        }
    }

    /// All of them, in the order of time.
    pub(crate) fn all(&self) -> Vec<Pending> {
        let mut all: Vec<Pending> = self.by_time.iter().map(|Reverse(pending)| *pending).collect();
        all.extend(self.by_arrival.iter().map(|Reverse((_, pending))| *pending));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.by_time.capacity() * size_of::<Pending>()
            + self.by_arrival.capacity() * size_of::<(TxnRef, Pending)>()
    }
}
