//! What a checkpoint keeps of the rules of timestamps. Of keys, only what batches on disk do not tell: which reads were
//! wrong, and what was told of them. All else is made again when it is needed.

use isolde_history::Timestamp;
use isolde_spec::Anomaly;

use super::final_words::OPEN;
use super::key_records::Reader;
use super::standing::StandingFindings;
use super::{Finality, Pending, Slot, Timestamps};
use crate::bodies::{AFTER_ALL, BEFORE_ALL, TxnRef};
use crate::content::{NameId, Word};
use crate::figures::Figures;
use crate::pack::{Pack, packed};

/// What a checkpoint keeps.
pub(crate) struct SavedTimestamps {
    bounds: Vec<(NameId, Timestamp, TxnRef)>,
    /// Keys of which nothing is judged any more.
    doubtful: Vec<NameId>,
    /// Whether each key holds a list, and its wrong reads.
    wrong: Vec<(NameId, Option<bool>, Vec<Reader>)>,
    /// Violations that stand, packed.
    standing: Vec<u8>,
    low: Option<Timestamp>,
    batch: u32,
    figures: Figures,
    complete: bool,
    deletes: bool,
}

packed!(SavedTimestamps {
    bounds,
    doubtful,
    wrong,
    standing,
    low,
    batch,
    figures,
    complete,
    deletes
});

impl Pack for Reader {
    fn pack(&self, out: &mut Vec<u8>) {
        (self.at, self.inclusive, self.not, self.wrong, self.is_final).pack(out);
        (self.flipped, self.doubt).pack(out);
        self.told.pack(out);
        (self.word, self.txn, self.op).pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Reader> {
        let (at, inclusive, not, wrong, is_final) = Pack::unpack(input)?;
        let (flipped, doubt) = Pack::unpack(input)?;
        let told = Option::<Anomaly>::unpack(input)?;
        let (word, txn, op): (Word, TxnRef, u32) = Pack::unpack(input)?;
        let flags = (not, wrong, is_final, flipped, doubt);
        let (not, wrong, is_final, flipped, doubt) = flags;
        Some(Reader { at, inclusive, not, wrong, is_final, flipped, doubt, told, word, txn, op })
    }
}

impl Timestamps {
    /// What a checkpoint keeps.
    pub(crate) fn save(&self) -> SavedTimestamps {
        let bounds = self.bounds.iter().map(|(session, (bound, txn))| (*session, *bound, *txn));
        let live = self.keys.iter().filter(|(name, _)| self.slots.contains_key(name));
        let doubtful = live.clone().filter(|(_, state)| state.doubtful).map(|(name, _)| *name);
        let wrong = live.filter(|(_, state)| state.wrong > 0).map(|(name, state)| {
            let wrong = state.readers.iter().filter(|reader| reader.wrong);
            (*name, state.is_list, wrong.copied().collect())
        });
        SavedTimestamps {
            bounds: bounds.collect(),
            doubtful: doubtful.collect(),
            wrong: wrong.collect(),
            standing: self.standing.packed(),
            low: self.finality.low,
            batch: self.finality.batch,
            figures: self.figures.clone(),
            complete: self.about.complete,
            deletes: self.deletes,
        }
    }

    /// The state of a checkpoint; all batches before a number are on disk.
    pub(crate) fn restore(&mut self, saved: SavedTimestamps, next: u32) {
        let bounds = saved.bounds.into_iter();
        self.bounds = bounds.map(|(session, bound, txn)| (session, (bound, txn))).collect();
        self.left.add_all();
        self.left_sessions.add_all();
        self.trimmed = next;
        self.finality = Finality { low: saved.low, batch: saved.batch };
        self.figures = saved.figures;
        (self.about.complete, self.deletes) = (saved.complete, saved.deletes);
        match StandingFindings::unpack(&mut &saved.standing[..]) {
            Some(standing) => self.standing = standing,
            None => self.standing.lose(),
        }
        for name in saved.doubtful {
            let slot = self.slot(name, false);
            self.keys[slot.0 as usize].1.doubtful = true;
        }
        for (name, is_list, readers) in saved.wrong {
            let slot = self.slot(name, is_list == Some(true));
            self.wrong_again(slot, is_list, readers);
        }
    }

    fn wrong_again(&mut self, slot: Slot, is_list: Option<bool>, readers: Vec<Reader>) {
        for reader in readers.iter().filter(|reader| !reader.not) {
            self.final_words.note(slot, reader.word, OPEN);
        }
        let state = &mut self.keys[slot.0 as usize].1;
        (state.is_list, state.floor) = (is_list, Some(AFTER_ALL));
        state.wrong = readers.len() as u32;
        state.refused = readers.iter().any(|reader| reader.not);
        state.latest = readers.iter().map(|reader| reader.at).max().unwrap_or(BEFORE_ALL);
        state.unnoted = is_list == Some(true);
        state.readers = readers;
    }

    /// The key of a wrong read that is not told yet, and the read; `None` if it is right by now.
    pub(crate) fn save_pending(&self, pending: &Pending) -> Option<SavedPending> {
        let readers = &self.keys[pending.slot.0 as usize].1.readers[self.readers_of(*pending)];
        if !readers.iter().any(|reader| reader.wrong) {
            return None;
        }
        let name = self.keys[pending.slot.0 as usize].0;
        let Pending { until, txn, at, inclusive, .. } = *pending;
        Some(SavedPending { name, until, txn, at, inclusive })
    }

    /// The same again.
    pub(crate) fn restore_pending(&mut self, saved: &SavedPending) -> Pending {
        let SavedPending { name, until, txn, at, inclusive } = *saved;
        let slot = self.slot(name, false);
        Pending { until, txn, name, slot, at, inclusive }
    }
}

/// A wrong read that is not told yet.
pub(crate) struct SavedPending {
    name: NameId,
    until: Timestamp,
    txn: TxnRef,
    at: Timestamp,
    inclusive: bool,
}

packed!(SavedPending { name, until, txn, at, inclusive });
