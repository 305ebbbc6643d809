//! Of which transactions a verdict has changed: a bit for each, batch by batch.

use std::collections::VecDeque;

use crate::bodies::TxnRef;

/// Transactions of which a verdict has changed, from some batch on.
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
