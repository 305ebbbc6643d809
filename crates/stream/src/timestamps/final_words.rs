//! Words of keys that a read saw that was wrong when it became final; of a list, its elements. When one is written again, the
//! read may be called something else.

use hashbrown::{HashMap, HashSet};
use isolde_history::Timestamp;

use super::slot::Slot;
use crate::bodies::{AFTER_ALL, BEFORE_ALL};
use crate::content::{Word, mix};

/// Of a word of which no read may be called otherwise by another version.
pub(super) const SETTLED: Timestamp = BEFORE_ALL;
/// Of a word of which some read may be, whenever that version was committed.
pub(super) const OPEN: Timestamp = AFTER_ALL;

/// The words, by key.
#[derive(Default)]
pub(super) struct FinalWords {
    /// Up to which commit of another version a read may be called otherwise. Each version that comes is looked for here, so
    /// only those are here of which that may be.
    open: HashMap<(Slot, Word), Timestamp>,
    /// Which of them may be here: that few versions are is seen without looking for them in the map, which is in no cache.
    may_be_open: OpenFilter,
    /// Those of which only an unknown outcome, or something that is missing, changes anything.
    settled: HashSet<(Slot, Word)>,
}

impl FinalWords {
    /// A read saw a word, and may be called otherwise up to a commit.
    pub(super) fn note(&mut self, slot: Slot, word: Word, until: Timestamp) {
        if until == SETTLED {
            if !self.is_open(slot, word) {
                self.settled.insert((slot, word));
            }
            return;
        }
        self.settled.remove(&(slot, word));
        let before = self.open.entry((slot, word)).or_insert(until);
        *before = until.max(*before);
        match self.may_be_open.has_room_for(self.open.len()) {
            true => self.may_be_open.add(slot, word),
            false => self.may_be_open = OpenFilter::of(self.open.keys().copied()),
        }
    }

    /// Of all reads that saw a word this is what is true now, if any of them was noted.
    pub(super) fn note_again(&mut self, slot: Slot, word: Word, until: Timestamp) {
        let was_open = self.open.remove(&(slot, word)).is_some();
        if was_open || self.settled.contains(&(slot, word)) {
            self.note(slot, word, until);
        }
    }

    /// Whether another version may change what a read is called.
    pub(super) fn is_open(&self, slot: Slot, word: Word) -> bool {
        self.may_be_open.may_have(slot, word) && self.open.contains_key(&(slot, word))
    }

    /// The same of a version that was committed then.
    pub(super) fn is_open_at(&self, slot: Slot, word: Word, commit: Timestamp) -> bool {
        self.open.get(&(slot, word)).is_some_and(|until| commit <= *until)
    }

    /// Whether a read saw a word at all.
    pub(super) fn is_noted(&self, slot: Slot, word: Word) -> bool {
        self.open.contains_key(&(slot, word)) || self.settled.contains(&(slot, word))
    }

    /// The bytes that they take.
    pub(super) fn heap_bytes(&self) -> usize {
        self.open.capacity() * (size_of::<(Slot, Word, Timestamp)>() + 1)
            + self.may_be_open.0.len() * size_of::<u64>()
            + self.settled.capacity() * (size_of::<(Slot, Word)>() + 1)
    }
}

/// One bit for each word, of so many that few words share theirs with another one. It may say yes of a word that is not
/// among them, or is not any more.
#[derive(Default)]
struct OpenFilter(Vec<u64>);

impl OpenFilter {
    /// So many bits are there for each word at least.
    const BITS: usize = 16;

    /// A filter of some words, with room for as many again.
    fn of(words: impl ExactSizeIterator<Item = (Slot, Word)>) -> OpenFilter {
        let bits = (2 * words.len() * OpenFilter::BITS).next_power_of_two().max(1 << 12);
        let mut filter = OpenFilter(vec![0; bits / 64]);
        words.for_each(|(slot, word)| filter.add(slot, word));
        filter
    }

    fn has_room_for(&self, words: usize) -> bool {
        words * OpenFilter::BITS <= self.0.len() * 64
    }

    fn add(&mut self, slot: Slot, word: Word) {
        let bit = self.bit(slot, word);
        if let Some(bits) = self.0.get_mut(bit / 64) {
            *bits |= 1 << (bit % 64);
        }
    }

    fn may_have(&self, slot: Slot, word: Word) -> bool {
        let bit = self.bit(slot, word);
        self.0.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1)
    }

    /// The bit of a word. How many there are is a power of two.
    fn bit(&self, slot: Slot, word: Word) -> usize {
        mix(word.0, u64::from(slot.0)) as usize & (self.0.len() * 64).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_never_denied_and_little_else_is_looked_for() {
        let mut words = FinalWords::default();
        assert!(!words.is_open(Slot(0), Word(0)));
        let of = |i: u64| (Slot(i as u32 % 100), Word(i * 4));
        for i in 0..10_000 {
            let (slot, word) = of(i);
            words.note(slot, word, OPEN);
        }
        assert!((0..10_000).map(of).all(|(slot, word)| words.is_open(slot, word)));
        let others = || (10_000..20_000).map(of);
        assert!(!others().any(|(slot, word)| words.is_open(slot, word)));
        let looked_for = others().filter(|(slot, word)| words.may_be_open.may_have(*slot, *word));
        assert!(looked_for.count() < 1_000);
        words.note_again(Slot(1), Word(4), SETTLED);
        assert!(!words.is_open(Slot(1), Word(4)) && words.is_noted(Slot(1), Word(4)));
    }
}
