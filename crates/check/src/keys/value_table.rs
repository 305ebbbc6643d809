//! Which writes of a key have a value.
//!
//! A small open table from values to writes, made anew for each key in the same memory. Values come
//! from files, so where they land depends on a seed that no file can know.

use std::hash::{BuildHasher, RandomState};

use isolde_history::Value;

use crate::keys::accesses::WriteFact;
use crate::maybe_index::MaybeIndex;

/// A table from values to the first write of each; later ones are linked from there.
pub(crate) struct ValueTable {
    /// The first write of the value that has its place here.
    slots: Vec<MaybeIndex>,
    mask: usize,
    seed: u64,
}

impl Default for ValueTable {
    fn default() -> ValueTable {
        let seed = RandomState::new().hash_one(0x6973_6f6c_6465_u64) | 1;
        ValueTable { slots: vec![MaybeIndex::NONE; 8], mask: 7, seed }
    }
}

impl ValueTable {
    /// Enters all writes of a key, and links those of the same value in their order.
    pub(crate) fn index(&mut self, writes: &mut [WriteFact]) {
        let size = (2 * writes.len()).next_power_of_two().max(8);
        self.slots.clear();
        self.slots.resize(size, MaybeIndex::NONE);
        self.mask = size - 1;
        // From the last to the first, so that each goes before those that it links to.
        for i in (0..writes.len()).rev() {
            let slot = self.slot(writes, writes[i].value);
            writes[i].next_equal = self.slots[slot];
            self.slots[slot] = MaybeIndex::of(i);
        }
    }

    /// The first write of a value.
    #[inline]
    pub(crate) fn first(&self, writes: &[WriteFact], value: Value) -> Option<u32> {
        self.slots[self.slot(writes, value)].get().map(|w| w as u32)
    }

    /// All writes of a value, in their order.
    #[inline]
    pub(crate) fn chain<'w>(
        &self,
        writes: &'w [WriteFact],
        value: Value,
    ) -> impl Iterator<Item = u32> + use<'w> {
        let mut next = self.slots[self.slot(writes, value)];
        std::iter::from_fn(move || {
            let at = next.get()?;
            next = writes[at].next_equal;
            Some(at as u32)
        })
    }

    /// The slot of a value, or the free one where it would go.
    #[inline]
    fn slot(&self, writes: &[WriteFact], value: Value) -> usize {
        let product = u128::from(value.to_bits() ^ self.seed) * 0x9e37_79b9_7f4a_7c15;
        let mut at = ((product >> 64) ^ product) as usize & self.mask;
        loop {
            match self.slots[at].get() {
                Some(write) if writes[write].value != value => at = (at + 1) & self.mask,
                _ => return at,
            }
        }
    }
}
