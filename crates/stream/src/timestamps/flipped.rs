//! How verdicts on reads changed before they were final, and of which transactions: figures, of which nothing is told.

use std::collections::VecDeque;

use super::key_records::{Reader, Version};
use crate::bodies::TxnRef;
use crate::content::Word;

/// Transactions of which a verdict has changed, from some batch on: a bit for each.
#[derive(Default)]
pub(super) struct Flipped {
    first: u32,
    batches: VecDeque<Vec<u64>>,
}

impl Flipped {
    /// Adds a transaction: whether it is new. One of a batch that is forgotten is.
    pub(super) fn insert(&mut self, txn: TxnRef) -> bool {
        let Some(batch) = txn.batch().checked_sub(self.first) else { return true };
        let (batch, bit) = (batch as usize, txn.txn().index());
        if self.batches.len() <= batch {
            self.batches.resize(batch + 1, Vec::new());
        }
        let words = &mut self.batches[batch];
        if words.len() <= bit / 64 {
            words.resize(bit / 64 + 1, 0);
        }
        let word = &mut words[bit / 64];
        let is_new = *word >> (bit % 64) & 1 == 0;
        *word |= 1 << (bit % 64);
        is_new
    }

    /// Forgets batches before a number.
    pub(super) fn forget_before(&mut self, number: u32) {
        let gone = number.saturating_sub(self.first) as usize;
        self.batches.drain(..gone.min(self.batches.len()));
        self.first = self.first.max(number);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let bits: usize = self.batches.iter().map(|words| words.capacity() * 8).sum();
        bits + self.batches.capacity() * size_of::<Vec<u64>>()
    }
}

/// A change of the verdict on a read: its transaction, its operation, the batch that changed it, and whether it was right then.
pub(super) type Change = (TxnRef, u32, u32, bool);

/// How the verdict on a read changed from its coming until now: the read, the batch that changed it, and whether it was right then.
/// What is written here is counted and tells nothing, so versions that have left memory, and ties, may be left out.
pub(super) fn changes_until_now(
    first: Word,
    visible: &[Version],
    reader: &Reader,
    changes: &mut Vec<Change>,
) {
    let others = |version: &&Version| version.txn != reader.txn;
    let came_later = |v: &&Version| v.txn.batch() > reader.txn.batch();
    let count = visible.iter().rev().take_while(came_later).count();
    let (before, later) = visible.split_at(visible.len() - count);
    let before = before.iter().rev().find(others);
    let mut right = reader.accepts(before.map_or(first, |version| version.word));
    // In the order of arrival, each that was newer than all before it. Of a read that waited for long there may be very many.
    let mut later: Vec<&Version> = later.iter().filter(others).collect();
    later.sort_unstable_by_key(|version| version.txn);
    let mut newest = None;
    for next in later {
        if newest.is_some_and(|newest| next.commit < newest) {
            continue;
        }
        newest = Some(next.commit);
        let is_right = reader.accepts(next.word);
        if is_right != std::mem::replace(&mut right, is_right) {
            changes.push((reader.txn, reader.op, next.txn.batch(), is_right));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::TxnId;

    #[test]
    fn each_transaction_is_new_once() {
        let mut flipped = Flipped::default();
        let txn = |batch, txn| TxnRef::new(batch, TxnId(txn));
        assert!(flipped.insert(txn(3, 700)) && flipped.insert(txn(3, 699)));
        assert!(!flipped.insert(txn(3, 700)) && flipped.insert(txn(0, 0)));
        flipped.forget_before(3);
        assert!(!flipped.insert(txn(3, 699)) && flipped.insert(txn(4, 1)));
        flipped.forget_before(9);
        assert!(flipped.insert(txn(9, 0)) && !flipped.insert(txn(9, 0)));
    }
}
