//! Items by key: a counting sort, so that what belongs together lies together.

use std::ops::Range;

/// A permutation of items that puts those of each key next to each other, in their old order.
pub(crate) struct Groups {
    /// Indices of items.
    pub(crate) items: Vec<u32>,
    ends: Vec<u32>,
}

impl Groups {
    /// Groups `count` items by their keys, which are below `keys`.
    pub(crate) fn new(count: usize, keys: usize, key_of: impl Fn(usize) -> usize) -> Groups {
        let mut ends = vec![0u32; keys];
        for i in 0..count {
            ends[key_of(i)] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut items = vec![0u32; count];
        for i in 0..count {
            let at = &mut ends[key_of(i)];
            items[*at as usize] = i as u32;
            *at += 1;
        }
        Groups { items, ends }
    }

    /// Where the items of a key are.
    #[inline]
    pub(crate) fn range(&self, key: usize) -> Range<usize> {
        let start = if key == 0 { 0 } else { self.ends[key - 1] as usize };
        start..self.ends[key] as usize
    }

    /// The items of a key.
    #[inline]
    pub(crate) fn of(&self, key: usize) -> &[u32] {
        &self.items[self.range(key)]
    }
}
