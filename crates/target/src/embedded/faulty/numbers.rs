//! The engine's own numbers of transactions, from which its snapshots are told.

use std::collections::VecDeque;

use isolde_history::Snapshot;

/// How many transactions that have ended are remembered: enough for every snapshot that is still told.
const REMEMBERED: usize = 4096;

/// A transaction that was given a number.
#[derive(Debug)]
struct NumberedTxn {
    number: u64,
    began: u64,
    /// When it committed or was given up.
    ended: Option<u64>,
}

/// Which transactions ran when, the oldest first.
#[derive(Default, Debug)]
pub(super) struct Numbers {
    txns: VecDeque<NumberedTxn>,
}

impl Numbers {
    /// A transaction begins. Numbers ascend.
    pub(super) fn begin(&mut self, number: u64, at: u64) {
        self.txns.push_back(NumberedTxn { number, began: at, ended: None });
        while self.txns.len() > REMEMBERED && self.txns.front().is_some_and(|t| t.ended.is_some()) {
            self.txns.pop_front();
        }
    }

    /// It has ended.
    pub(super) fn end(&mut self, number: u64, at: u64) {
        let txn = self.txns.iter_mut().rev().find(|txn| txn.number == number);
        txn.into_iter().for_each(|txn| txn.ended = txn.ended.or(Some(at)));
    }

    /// What a snapshot of that time shows.
    pub(super) fn snapshot_at(&self, at: u64) -> Snapshot {
        let begun = self.txns.iter().take_while(|txn| txn.began <= at);
        let running = begun.clone().filter(|txn| txn.ended.is_none_or(|ended| ended > at));
        let in_progress: Vec<i64> = running.map(|txn| txn.number.cast_signed()).collect();
        let last = begun.last().map_or(0, |txn| txn.number);
        let xmax = last.cast_signed() + 1;
        Snapshot { xmin: in_progress.first().copied().unwrap_or(xmax), xmax, in_progress }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_shows_what_had_ended() {
        let mut numbers = Numbers::default();
        numbers.begin(1, 10);
        numbers.begin(2, 20);
        numbers.end(1, 30);
        numbers.begin(3, 40);
        let shown =
            |at: u64| (1..=3).filter(|n| numbers.snapshot_at(at).shows(*n)).collect::<Vec<_>>();
        assert!(shown(25).is_empty());
        assert_eq!(shown(30), [1]);
        assert_eq!(shown(45), [1]);
        assert_eq!(numbers.snapshot_at(45).in_progress, [2, 3]);
    }
}
