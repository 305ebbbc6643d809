//! Words of keys that a read saw that was wrong when it became final; of a list, its elements. When one is written again, the
//! read may be called something else.

use hashbrown::{HashMap, HashSet};
use isolde_history::Timestamp;

use super::slot::Slot;
use crate::bodies::{AFTER_ALL, BEFORE_ALL};
use crate::content::Word;

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
    /// Those of which only an unknown outcome, or something that is missing, changes anything.
    settled: HashSet<(Slot, Word)>,
}

impl FinalWords {
    /// A read saw a word, and may be called otherwise up to a commit.
    pub(super) fn note(&mut self, slot: Slot, word: Word, until: Timestamp) {
        if until == SETTLED {
            if !self.open.contains_key(&(slot, word)) {
                self.settled.insert((slot, word));
            }
            return;
        }
        self.settled.remove(&(slot, word));
        let before = self.open.entry((slot, word)).or_insert(until);
        *before = until.max(*before);
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
        !self.open.is_empty() && self.open.contains_key(&(slot, word))
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
            + self.settled.capacity() * (size_of::<(Slot, Word)>() + 1)
    }
}
