//! Words that are written again: reads whose verdict was final may be called something else then.

use isolde_history::{OpId, Timestamp};
use isolde_spec::{Anomaly, By};

use super::arrivals::Arrival;
use super::final_words::{OPEN, SETTLED};
use super::key_records::{Reader, Wrote};
use super::{Pending, Slot, Timestamps, pending};
use crate::bodies::Bodies;
use crate::content::{Word, word};

impl Timestamps {
    /// Remembers what the wrong reads of a transaction on a key saw, which are final now.
    pub(super) fn note_finals(&mut self, of: Pending, bodies: &mut Bodies) {
        let readers = &self.keys[of.slot.0 as usize].1.readers[self.readers_of(of)];
        let wrong: Vec<Reader> = readers.iter().filter(|reader| reader.wrong).copied().collect();
        wrong.iter().for_each(|reader| self.note_final(of.slot, reader, bodies));
    }

    /// Remembers what a read saw that was wrong when it became final.
    pub(super) fn note_final(&mut self, slot: Slot, reader: &Reader, bodies: &mut Bodies) {
        let state = &mut self.keys[slot.0 as usize].1;
        if state.is_list == Some(true) {
            match elements(reader, bodies) {
                Some(words) => words.into_iter().for_each(|word| {
                    self.final_words.note(slot, word, OPEN);
                }),
                None => state.unnoted = true,
            }
            return;
        }
        state.refused |= reader.not;
        if !reader.not {
            let until = open_until(reader, self.settles());
            self.final_words.note(slot, reader.word, until);
        }
    }

    /// Whether a version with a word may change what a read that was told is called.
    pub(super) fn may_rename(&self, slot: Slot, word: Word) -> bool {
        let state = &self.keys[slot.0 as usize].1;
        state.refused
            || self.final_words.is_open(slot, word)
            || (!self.settles() && self.final_words.is_noted(slot, word))
    }

    /// Something was written to a key: reads of it that were told may be called something else now.
    pub(super) fn written_again(
        &mut self,
        slot: Slot,
        wrote: Wrote<'_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let state = &self.keys[slot.0 as usize].1;
        if state.wrong == 0 || state.once.is_refuted() {
            return;
        }
        let is_list = state.is_list == Some(true);
        if state.unnoted {
            self.note_all(slot, bodies);
        }
        let may_be = |word: &Word| match wrote.unknown || !self.settles() {
            true => self.final_words.is_noted(slot, *word),
            false => self.final_words.is_open_at(slot, *word, wrote.commit),
        };
        let state = &self.keys[slot.0 as usize].1;
        let by_word = state.unnoted || wrote.words.iter().any(may_be);
        if !by_word && !state.refused {
            return;
        }
        let settles = self.settles();
        let about_it = |reader: &&Reader| {
            reader.wrong
                && reader.is_final
                && reader.txn != wrote.txn
                && match is_list {
                    true => shows(reader, wrote.words, bodies),
                    false => may_be_renamed(reader, settles, wrote),
                }
        };
        let name = self.keys[slot.0 as usize].0;
        let state = &self.keys[slot.0 as usize].1;
        let again = state.readers.iter().filter(about_it);
        let mut again: Vec<Pending> = again.map(|r| pending((name, slot), r, None)).collect();
        again.dedup();
        for of in again {
            self.review(of, wrote.txn, arrival, bodies);
        }
        if !is_list {
            self.note_settled(slot, wrote);
        }
    }

    /// Whether the name of a wrong read may be its last. By snapshots a delete that comes later may excuse an insert, and if
    /// something is missing, what was written twice is unknown.
    fn settles(&self) -> bool {
        self.about.complete && self.about.promise.by == By::Timestamps
    }

    /// Notes whether reads of what was written now may be called otherwise if it is written once more.
    fn note_settled(&mut self, slot: Slot, wrote: Wrote<'_>) {
        let settles = self.settles();
        let state = &mut self.keys[slot.0 as usize].1;
        let readers = || state.readers.iter().filter(|r| r.wrong && r.is_final);
        let until = |reader: &Reader| open_until(reader, settles);
        for word in wrote.words {
            if self.final_words.is_noted(slot, *word) {
                let of_word = readers().filter(|r| !r.not && r.word == *word);
                let until = of_word.map(until).max().unwrap_or(SETTLED);
                self.final_words.note_again(slot, *word, until);
            }
        }
        let refused = state.refused && readers().any(|r| r.not && until(r) != SETTLED);
        state.refused = refused;
    }

    /// Remembers what was shown by all reads of a list that are final and wrong.
    fn note_all(&mut self, slot: Slot, bodies: &mut Bodies) {
        let state = &mut self.keys[slot.0 as usize].1;
        state.unnoted = false;
        let told = state.readers.iter().filter(|reader| reader.wrong && reader.is_final);
        for reader in told.copied().collect::<Vec<Reader>>() {
            self.note_final(slot, &reader, bodies);
        }
    }
}

/// The elements that a read of a list showed; `None` if that is not kept any more.
fn elements(reader: &Reader, bodies: &mut Bodies) -> Option<Vec<Word>> {
    let batch = bodies.get(reader.txn.batch())?;
    let elements = batch.op(OpId(reader.op)).elements().unwrap_or_default();
    Some(elements.iter().map(|element| word(batch.pool(), *element)).collect())
}

/// Whether a read of a list showed one of some elements.
fn shows(reader: &Reader, words: &[Word], bodies: &mut Bodies) -> bool {
    let elements = elements(reader, bodies);
    elements.is_none_or(|elements| elements.iter().any(|element| words.contains(element)))
}

/// Up to which commit another version gives a read another name: none does if it could have been seen rightly once, or is
/// unknown for good.
fn open_until(reader: &Reader, settles: bool) -> Timestamp {
    match reader.told {
        _ if !settles => OPEN,
        Some(Anomaly::StaleRead) => SETTLED,
        None if reader.doubt => SETTLED,
        Some(Anomaly::UncommittedVersionRead) if !reader.not => reader.at,
        _ => OPEN,
    }
}

/// Whether a read of a register may be called otherwise now.
fn may_be_renamed(reader: &Reader, settles: bool, wrote: Wrote<'_>) -> bool {
    // One that was refused saw any other word.
    let about_it = wrote.words.contains(&reader.word) != reader.not;
    let until = open_until(reader, settles);
    match wrote.unknown {
        true => about_it || reader.not,
        false => about_it && until != SETTLED && wrote.commit <= until,
    }
}
