//! Batches on which the verdict is not final, by the time of their last transaction and by their number.

use std::collections::{BTreeMap, BTreeSet};

use isolde_history::Timestamp;

use crate::pack::Pack;

/// Batches that are not final.
#[derive(Default)]
pub(crate) struct Waiting {
    by_time: BTreeSet<(Timestamp, u32)>,
    by_number: BTreeMap<u32, (Timestamp, u32)>,
    /// How many transactions they have.
    pub(crate) txns: u64,
}

impl Pack for Waiting {
    fn pack(&self, out: &mut Vec<u8>) {
        let batches = self.by_number.iter().map(|(number, (last, txns))| (*number, *last, *txns));
        batches.collect::<Vec<_>>().pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Waiting> {
        let mut waiting = Waiting::default();
        for (number, last, txns) in Vec::unpack(input)? {
            waiting.add(last, number, txns);
        }
        Some(waiting)
    }
}

impl Waiting {
    /// A batch has come: the last time of its transactions, its number, how many there are.
    pub(crate) fn add(&mut self, last: Timestamp, number: u32, txns: u32) {
        self.by_time.insert((last, number));
        self.by_number.insert(number, (last, txns));
        self.txns += u64::from(txns);
    }

    /// All batches before a number are final, and all that are earlier than a time.
    pub(crate) fn settle(&mut self, number: u32, low: Option<Timestamp>) {
        while let Some(entry) = self.by_number.first_entry()
            && *entry.key() < number
        {
            let (number, (last, txns)) = entry.remove_entry();
            self.by_time.remove(&(last, number));
            self.txns -= u64::from(txns);
        }
        while let Some((last, number)) = self.by_time.first().copied()
            && low.is_some_and(|low| last < low)
        {
            self.by_time.pop_first();
            let txns = self.by_number.remove(&number).map_or(0, |(_, txns)| txns);
            self.txns -= u64::from(txns);
        }
    }

    /// The first batch that is not final.
    pub(crate) fn first(&self) -> Option<u32> {
        self.by_number.first_key_value().map(|(number, _)| *number)
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.by_number.len() * 96
    }
}
