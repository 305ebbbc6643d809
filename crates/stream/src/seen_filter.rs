//! Which names have left memory: a Bloom filter that grows. It never denies one that has; it may take one in a hundred
//! that has not for one that has, and then the disk is asked in vain.

use crate::content::NameId;

/// Words of a block: one line of the cache.
const BLOCK: usize = 8;
/// How many names a block is made for: about ten bits each.
const A_BLOCK: usize = 50;
/// How many names the first filter is made for.
const FIRST: usize = 1 << 14;

/// Names that have left memory.
#[derive(Default)]
pub(crate) struct SeenFilter {
    /// Each four times as large as the one before; only the last is added to.
    parts: Vec<Part>,
    /// Everything may have left memory: nothing is known of the past.
    anything: bool,
}

struct Part {
    blocks: Vec<[u64; BLOCK]>,
    left: usize,
}

impl SeenFilter {
    /// Adds a name.
    pub(crate) fn add(&mut self, name: NameId) {
        if self.may_have(name) {
            return;
        }
        if self.parts.last().is_none_or(|part| part.left == 0) {
            let room = FIRST << (2 * self.parts.len());
            let blocks = vec![[0; BLOCK]; room / A_BLOCK + 1];
            self.parts.push(Part { blocks, left: room });
        }
        if let Some(part) = self.parts.last_mut() {
            part.left -= 1;
            let (block, bits) = part.place(name);
            let words = &mut part.blocks[block];
            bits.for_each(|bit| words[bit / 64] |= 1 << (bit % 64));
        }
    }

    /// Whether a name may have left memory.
    pub(crate) fn may_have(&self, name: NameId) -> bool {
        self.anything
            || self.parts.iter().any(|part| {
                let (block, mut bits) = part.place(name);
                let words = &part.blocks[block];
                bits.all(|bit| words[bit / 64] >> (bit % 64) & 1 == 1)
            })
    }

    /// From now on any name may have left memory.
    pub(crate) fn add_all(&mut self) {
        self.anything = true;
    }

    /// The bytes that it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.blocks.len() * BLOCK * 8).sum()
    }
}

impl Part {
    /// The block of a name, and its seven bits there.
    fn place(&self, name: NameId) -> (usize, impl Iterator<Item = usize> + use<>) {
        let hash = name.hash();
        let block = ((u128::from(hash) * self.blocks.len() as u128) >> 64) as usize;
        let mixed = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (block, (0..7).map(move |i| (mixed >> (i * 9)) as usize % (BLOCK * 64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_never_denied_and_little_else_is_found() {
        let mut filter = SeenFilter::default();
        let name = |i: u64| NameId(i * 4, 0);
        (0..100_000).for_each(|i| filter.add(name(i)));
        assert!((0..100_000).all(|i| filter.may_have(name(i))));
        let wrong = (100_000..200_000).filter(|i| filter.may_have(name(*i))).count();
        assert!(wrong < 4_000, "{wrong} of 100,000");
    }
}
