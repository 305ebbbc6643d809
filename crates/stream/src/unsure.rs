//! Words that were written by transactions of which it may not be known whether or when they committed.
//!
//! There are few, so that their hashes are kept in memory, also of batches that are not kept any more: what such a
//! transaction wrote may explain any later read. Where there are too many, every word may have been written so.

use hashbrown::HashSet;

use crate::pack::Pack;

/// So many hashes are kept.
const MOST: usize = 1 << 16;

/// The hashes of words that such transactions wrote.
#[derive(Clone, Default, Debug)]
pub(crate) struct UnsureWords {
    hashes: HashSet<u32>,
    too_many: bool,
}

impl UnsureWords {
    /// A word of this hash was written so.
    pub(crate) fn add(&mut self, hash: u32) {
        if self.hashes.len() < MOST {
            self.hashes.insert(hash);
        } else {
            self.too_many = true;
        }
    }

    /// Whether a word of this hash may have been written so.
    pub(crate) fn may_have(&self, hash: u32) -> bool {
        self.too_many || self.hashes.contains(&hash)
    }

    /// Whether no word was.
    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.hashes.capacity() * (size_of::<u32>() + 1)
    }
}

impl Pack for UnsureWords {
    fn pack(&self, out: &mut Vec<u8>) {
        // The same state gives the same bytes.
        let mut hashes: Vec<u32> = self.hashes.iter().copied().collect();
        hashes.sort_unstable();
        (hashes, self.too_many).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<UnsureWords> {
        let (hashes, too_many) = <(Vec<u32>, bool)>::unpack(input)?;
        Some(UnsureWords { hashes: hashes.into_iter().collect(), too_many })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_words_are_all_words_also_after_a_restart() {
        let mut words = UnsureWords::default();
        assert!(words.is_empty() && !words.may_have(7));
        words.add(7);
        assert!(words.may_have(7) && !words.may_have(8));
        (0..=MOST as u32).for_each(|hash| words.add(hash));
        let again = UnsureWords::unpack(&mut &words.packed()[..]).unwrap();
        assert!(words.may_have(u32::MAX) && again.may_have(u32::MAX));
    }
}
