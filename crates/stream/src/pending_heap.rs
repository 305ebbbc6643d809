//! Wrong reads that are not told yet, by when they are final and by when they came.
//!
//! As long as all sessions promise, the time of arrival says nothing; without any promise, the timestamps do not. Where both
//! count, a read is in two heaps, and what is taken from one stays in the other until it comes up there: asking about
//! a read once more does no harm. A heap that holds mostly such is cleared of them. Once sessions have ceased to
//! promise, reads are in both heaps for good, so that it costs nothing if they begin and cease again and again.

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
    /// Whether all sessions promise.
    promised: bool,
    /// Whether they ever ceased to: then every read is in both heaps.
    mixed: bool,
}

impl PendingHeap {
    /// Adds a read; `low` is how far promises have come.
    pub(crate) fn push(&mut self, pending: Pending, low: Option<Timestamp>) {
        if self.promised || self.mixed || low.is_some() {
            self.by_time.push(Reverse(pending));
        }
        if !self.promised || self.mixed {
            self.by_arrival.push(Reverse((pending.txn, pending)));
        }
    }

    /// Whether all sessions promise from now on.
    pub(crate) fn promised(&mut self, promised: bool) {
        match (self.promised, promised) {
            _ if self.mixed => {}
            (true, false) => {
                self.mixed = true;
                let all = self.by_time.iter().map(|Reverse(p)| Reverse((p.txn, *p)));
                self.by_arrival = all.collect();
            }
            (false, true) => {
                // What is in both heaps must not be here twice.
                self.by_time = self.all().into_iter().map(Reverse).collect();
                self.by_arrival = BinaryHeap::new();
            }
            _ => {}
        }
        self.promised = promised;
    }

    /// One that is final: it came in a batch before a number, or lies below a time, or nothing more comes.
    pub(crate) fn pop_final(
        &mut self,
        low: Option<Timestamp>,
        batch: u32,
        all: bool,
    ) -> Option<Pending> {
        self.pop_before(batch).or_else(|| self.pop_below(low?)).or_else(|| self.pop_if(all))
    }

    /// Any that is left, if nothing more comes.
    fn pop_if(&mut self, over: bool) -> Option<Pending> {
        if !over {
            return None;
        }
        let by_time = self.by_time.pop().map(|Reverse(pending)| pending);
        by_time.or_else(|| self.by_arrival.pop().map(|Reverse((_, pending))| pending))
    }

    /// One that came in a batch before a number.
    fn pop_before(&mut self, batch: u32) -> Option<Pending> {
        let Reverse((txn, _)) = self.by_arrival.peek()?;
        if txn.batch() >= batch {
            return None;
        }
        self.by_arrival.pop().map(|Reverse((_, pending))| pending)
    }

    /// One that is final below a time.
    fn pop_below(&mut self, low: Timestamp) -> Option<Pending> {
        let Reverse(pending) = self.by_time.peek()?;
        if pending.until >= low {
            return None;
        }
        self.by_time.pop().map(|Reverse(pending)| pending)
    }

    /// Clears the heaps of what is not open any more, if that may be most of them: most wrong reads become right, and some
    /// wrong again.
    pub(crate) fn clear_settled(&mut self, is_open: impl Fn(&Pending) -> bool) {
        if self.by_time.len() > FEW.max(2 * self.cleared[0]) {
            clear(&mut self.by_time, |Reverse(pending)| is_open(pending));
            self.cleared[0] = self.by_time.len();
        }
        if self.by_arrival.len() > FEW.max(2 * self.cleared[1]) {
            clear(&mut self.by_arrival, |Reverse((_, pending))| is_open(pending));
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

/// Keeps one of each that is open.
fn clear<T: Ord>(heap: &mut BinaryHeap<T>, is_open: impl Fn(&T) -> bool) {
    let mut all = std::mem::take(heap).into_vec();
    all.retain(is_open);
    all.sort_unstable();
    all.dedup();
    *heap = BinaryHeap::from(all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::TxnId;

    #[test]
    fn promises_that_come_and_go_do_not_multiply_reads() {
        let mut heap = PendingHeap::default();
        let low = Some(Timestamp::plain(0));
        let read = |i: u32| Pending::at(Timestamp::plain(100), TxnRef::new(i, TxnId(0)));
        (0..1_000).for_each(|i| heap.push(read(i), low));
        for flip in 0..40 {
            heap.promised(flip % 2 == 0);
            assert!(heap.by_time.len() + heap.by_arrival.len() <= 2_000, "after {flip} flips");
        }
        let bytes = 4 * 1_000 * size_of::<(TxnRef, Pending)>();
        assert!(heap.heap_bytes() <= bytes, "{} bytes", heap.heap_bytes());
        // None is lost, and none comes before its time.
        assert!(heap.pop_final(low, 0, false).is_none());
        heap.promised(true);
        heap.push(read(1_000), low);
        let mut popped = 0;
        while heap.pop_final(Some(Timestamp::plain(101)), 0, false).is_some() {
            popped += 1;
        }
        assert_eq!(popped, 1_001);
        // By arrival, too.
        heap.promised(false);
        assert_eq!(std::iter::from_fn(|| heap.pop_final(None, 1_001, false)).count(), 1_001);
    }
}
