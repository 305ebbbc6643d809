//! Where a word that was read and should not have been can have come from.
//!
//! A name for a wrong read needs few of the writers of the word: if any had committed by then, the newest of those, and else
//! two of each kind, as one may not count. Which ones these are does not depend on what is in memory.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;

use super::records::{Records, read_writers};
use super::word_index::{Writer, WriterFate};
use super::{Slot, Timestamps};
use crate::bodies::{BEFORE_ALL, Bodies, TxnRef};
use crate::content::{NameId, What, Word};

/// Of each kind, so many are enough.
const ENOUGH: u8 = 2;

/// Writers of a word, of which batches on disk tell.
#[derive(Default)]
struct OnDisk {
    /// The newest that a place sees.
    newest: Option<(Timestamp, TxnRef)>,
    /// The first of those that left no version.
    others: Vec<Writer>,
}

impl Timestamps {
    /// The writers of a word of a register that matter for a wrong read of it at a place, of those that count. All that
    /// commits from the place on is in memory.
    pub(super) fn sources(
        &mut self,
        (slot, word): (Slot, Word),
        place: Place<Timestamp>,
        counts: impl Fn(TxnRef) -> bool,
        bodies: &mut Bodies,
    ) -> Option<Vec<TxnRef>> {
        let state = &mut self.keys[slot.0 as usize].1;
        let here = state.newest_writer(word, place, self.trimmed, &counts);
        // Behind the floor, what is on disk may be newer.
        let is_known = state.floor.is_none_or(|floor| here.is_some_and(|(at, _)| at > floor));
        let OnDisk { newest, mut others } = match is_known {
            true => OnDisk::default(),
            false => self.sources_on_disk((slot, word), place, &counts, bodies)?,
        };
        if let Some((_, newest)) = here.max(newest) {
            return Some(vec![newest]);
        }
        let state = &mut self.keys[slot.0 as usize].1;
        let since = if state.floor.is_none() { 0 } else { self.trimmed };
        let here = state.other_writers(word, since).into_iter();
        others.extend(here.filter(|writer| counts(writer.txn)));
        keep_first(&mut others);
        let mut found = state.next_writers(word, place, &counts);
        found.extend(others.iter().map(|writer| writer.txn));
        Some(found)
    }

    /// The latest batches are read first, until all that are left are earlier than what was found.
    fn sources_on_disk(
        &self,
        (slot, word): (Slot, Word),
        place: Place<Timestamp>,
        counts: &impl Fn(TxnRef) -> bool,
        bodies: &mut Bodies,
    ) -> Option<OnDisk> {
        let name = self.keys[slot.0 as usize].0;
        let mut found = OnDisk::default();
        let mut batches = bodies.backwards(self.trimmed, name, What::Word(word));
        while let Some((is_far, batch)) = batches.next {
            if let Some((newest, _)) = found.newest
                && !is_far
                && bodies.latest_up_to(batch)? < newest
            {
                break;
            }
            let writers = self.writers_in(batch, name, word, bodies)?;
            for writer in writers.into_iter().filter(|writer| counts(writer.txn)) {
                match writer.fate {
                    WriterFate::Version(commit) if place.sees(commit) => {
                        found.newest = found.newest.max(Some((commit, writer.txn)));
                    }
                    // It is in memory.
                    WriterFate::Version(_) => {}
                    _ => found.others.push(writer),
                }
            }
            keep_first(&mut found.others);
            let least = found.newest.map_or(BEFORE_ALL, |(newest, _)| newest);
            bodies.step_back_to(&mut batches, least);
        }
        Some(found)
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
                if writers.iter().any(|writer| writer.fate == WriterFate::Unknown) {
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
        read_writers(&body, batch, (name, self.ordering), word, &mut records);
        let versions = records.versions.iter().map(|(version, _)| version);
        let versions = versions.filter(|version| version.word == word).map(Writer::from);
        let others = records.others.iter().filter(|other| other.word == word).map(Writer::from);
        let mut writers: Vec<Writer> = versions.chain(others).collect();
        writers.sort_unstable();
        Some(writers)
    }
}

/// Of writers that left no version, keeps as many of each kind as are enough, in the order of arrival.
fn keep_first(others: &mut Vec<Writer>) {
    others.sort_unstable();
    let (mut overwritten, mut undone) = (0, 0);
    others.retain(|writer| {
        let count = match writer.fate {
            WriterFate::Overwritten => &mut overwritten,
            WriterFate::Undone => &mut undone,
            WriterFate::Version(_) | WriterFate::Unknown => return false,
        };
        *count += 1;
        *count <= ENOUGH
    });
}
