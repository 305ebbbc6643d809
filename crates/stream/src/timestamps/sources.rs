//! Where a word that was read and should not have been can have come from.
//!
//! A name for a wrong read needs few of the writers of the word: if any had committed by then, one of those, and else two of
//! each kind, as one may not count. They are taken in the order of arrival, so that they are the same whatever is in
//! memory.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;

use super::records::{Records, read_again};
use super::word_index::{Fate, Writer};
use super::{Slot, Timestamps};
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, What, Word};

/// Of each kind, so many are enough.
const ENOUGH: u8 = 2;

/// Writers of a word that a wrong read of it may have seen.
struct Sources {
    place: Place<Timestamp>,
    found: Vec<TxnRef>,
    /// How many there are that committed later, were overwritten, were rolled back.
    counts: [u8; 3],
    /// One had committed by then: no other one gives another name.
    is_sure: bool,
}

impl Sources {
    fn offer(&mut self, writer: Writer) {
        let kind = match writer.fate {
            Fate::Version(commit) if self.place.sees(commit) => {
                self.is_sure = true;
                self.found.push(writer.txn);
                return;
            }
            Fate::Version(_) => 0,
            Fate::Overwritten => 1,
            Fate::Undone => 2,
            Fate::Unknown => return,
        };
        let count = &mut self.counts[kind];
        if *count < ENOUGH {
            *count += 1;
            self.found.push(writer.txn);
        }
    }
}

impl Timestamps {
    /// The writers of a word of a register that matter for a wrong read of it at a place, of those that count.
    pub(super) fn sources(
        &mut self,
        (slot, word): (Slot, Word),
        place: Place<Timestamp>,
        counts: impl Fn(TxnRef) -> bool,
        bodies: &mut Bodies,
    ) -> Option<Vec<TxnRef>> {
        let mut sources = Sources { place, found: Vec::new(), counts: [0; 3], is_sure: false };
        let (name, state) = &self.keys[slot.0 as usize];
        let (name, is_whole) = (*name, state.floor.is_none());
        let on_disk = if is_whole { Vec::new() } else { bodies.about(name, What::Word(word)) };
        for batch in on_disk.into_iter().filter(|batch| *batch < self.trimmed) {
            let writers = self.writers_in(batch, name, word, bodies)?;
            for writer in writers.into_iter().filter(|writer| counts(writer.txn)) {
                sources.offer(writer);
                if sources.is_sure {
                    return Some(sources.found);
                }
            }
        }
        let since = if is_whole { 0 } else { self.trimmed };
        let here = self.keys[slot.0 as usize].1.writers(word, since);
        for writer in here.filter(|writer| counts(writer.txn)) {
            sources.offer(writer);
            if sources.is_sure {
                break;
            }
        }
        Some(sources.found)
    }

    /// Whether a transaction in batches on disk wrote a word to a key that may have committed or not. `None` if
    /// such a batch cannot be read.
    pub(super) fn may_be_written_on_disk(
        &self,
        name: NameId,
        word: Word,
        bodies: &mut Bodies,
    ) -> Option<bool> {
        for batch in bodies.about(name, What::Unsure(word)) {
            if batch < self.trimmed {
                let writers = self.writers_in(batch, name, word, bodies)?;
                if writers.iter().any(|writer| writer.fate == Fate::Unknown) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// Whether a word was written to a register in batches on disk. `None` if one cannot be read.
    pub(super) fn is_written_on_disk(
        &self,
        name: NameId,
        word: Word,
        bodies: &mut Bodies,
    ) -> Option<bool> {
        for batch in bodies.about(name, What::Word(word)) {
            if batch < self.trimmed && !self.writers_in(batch, name, word, bodies)?.is_empty() {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The writers of a word to a register in a batch. `None` if it cannot be read.
    fn writers_in(
        &self,
        batch: u32,
        name: NameId,
        word: Word,
        bodies: &mut Bodies,
    ) -> Option<Vec<Writer>> {
        let body = bodies.body(batch)?;
        let mut records = Records::default();
        read_again(&body, batch, (name, self.ordering), &mut records);
        let versions = records.versions.iter().map(|(version, _)| version);
        let versions = versions.filter(|version| version.word == word).map(Writer::from);
        let others = records.others.iter().filter(|other| other.word == word).map(Writer::from);
        let mut writers: Vec<Writer> = versions.chain(others).collect();
        writers.sort_unstable();
        Some(writers)
    }
}
