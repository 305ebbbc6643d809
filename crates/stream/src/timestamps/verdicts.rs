//! What the offline rules say of reads that look wrong, and what is told of them.
//!
//! They are asked about as few transactions as give the same answer as all would: of versions with one commit
//! timestamp some, of the writers of a word those that can give a wrong read its name.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;
use isolde_spec::{Anomaly, Axiom, By};

use super::excerpt::{self, Judged, Suspicion};
use super::key_records::Version;
use super::{Pending, Timestamps};
use crate::bodies::{BEFORE_ALL, Bodies, TxnRef};
use crate::content::Word;
use crate::divider;
use crate::event::Finding;

/// Of more versions with one commit timestamp, any of which would have been right, the first are shown.
const MOST_TIED: usize = 10;

/// What some readers of one transaction at one place saw.
struct Asked {
    of: Pending,
    /// Who is left out, as if it had not come.
    but: Option<TxnRef>,
    words: Vec<Word>,
    /// Whether any of them was refused: then it saw any other word.
    refused: bool,
    is_list: bool,
}

impl Asked {
    fn place(&self) -> Place<Timestamp> {
        Place { at: self.of.at, inclusive: self.of.inclusive }
    }

    /// Whether a writer counts that is not the reader, which is there anyway.
    fn counts(&self, txn: TxnRef) -> bool {
        txn != self.of.txn && Some(txn) != self.but
    }
}

impl Timestamps {
    /// What the offline rules say of the reads of a transaction on a key, perhaps without one of the writers. `None` if
    /// what is needed is not kept any more.
    pub(super) fn judge_readers(
        &mut self,
        of: Pending,
        but: Option<TxnRef>,
        bodies: &mut Bodies,
    ) -> Option<Judged> {
        let state = &self.keys[of.slot.0 as usize].1;
        let readers = &state.readers[self.readers_of(of)];
        let words: Vec<Word> = readers.iter().map(|reader| reader.word).collect();
        let refused = readers.iter().any(|reader| reader.not);
        let asked = Asked { of, but, words, refused, is_list: state.is_list == Some(true) };
        // A refused operation saw any other version; a list has something of all of them.
        let all = refused || asked.is_list;
        // It does not see its own version, but the one before.
        let own = bodies.get(of.txn.batch())?.txn(of.txn.txn()).commit_ts();
        let from = own.map_or(of.at, |own| own.min(of.at));
        if !self.reload(of.slot, if all { BEFORE_ALL } else { from }, bodies) {
            return None;
        }
        if self.keys[of.slot.0 as usize].1.sees_nothing_known(asked.place(), of.txn) {
            return None;
        }
        if self.may_have_seen_unknown(&asked, bodies)? {
            let doubt = "it may have seen a transaction whose outcome is unknown";
            return Some(Judged::in_doubt(doubt));
        }
        if !self.about.complete && !self.are_unique(of.slot, bodies)? {
            return Some(Judged::in_doubt(excerpt::MISSING));
        }
        let involved = self.involved(&asked, bodies)?;
        let key = Some(self.keys[of.slot.0 as usize].0);
        let asked = Suspicion { axiom: Axiom::Ext, txn: of.txn, key, involved: &involved };
        let judged = excerpt::judge(&self.about, bodies, asked)?;
        // What wrote the value may be gone.
        let thin_air = |(_, found): &(Option<u32>, Finding)| found.anomaly == Anomaly::ThinAirRead;
        if judged.findings.iter().any(thin_air) && bodies.forgotten().is_some() {
            return None;
        }
        Some(self.without_absent(of, judged))
    }

    /// Whether readers may have seen a transaction of which it is not known whether it committed.
    fn may_have_seen_unknown(&mut self, asked: &Asked, bodies: &mut Bodies) -> Option<bool> {
        let (name, state) = &mut self.keys[asked.of.slot.0 as usize];
        let name = *name;
        if asked.refused || asked.is_list {
            let mut others = state.others.iter();
            let found = others.any(|other| other.unknown && Some(other.txn) != asked.but);
            let forgotten =
                !found && state.floor.is_some() && bodies.may_have_forgotten(name, None);
            return (!forgotten).then_some(found);
        }
        if asked.words.iter().any(|word| state.may_be_written(*word, asked.but)) {
            return Some(true);
        }
        if state.floor.is_none() {
            return Some(false);
        }
        for word in &asked.words {
            if self.may_be_written_on_disk(name, *word, bodies)? {
                return Some(true);
            }
            if bodies.may_have_forgotten(name, Some(*word)) {
                return None;
            }
        }
        Some(false)
    }

    /// The transactions that matter for the verdict on readers.
    fn involved(&mut self, asked: &Asked, bodies: &mut Bodies) -> Option<Vec<TxnRef>> {
        let mut involved: Vec<TxnRef> = Vec::new();
        if !asked.is_list {
            for word in &asked.words {
                let counts = |txn| asked.counts(txn);
                let slot = asked.of.slot;
                involved.extend(self.sources((slot, *word), asked.place(), counts, bodies)?);
            }
        }
        let state = &self.keys[asked.of.slot.0 as usize].1;
        let count = state.count(asked.place());
        if asked.is_list {
            involved.extend(state.versions.iter().map(|version| version.txn));
            involved.extend(state.others.iter().map(|other| other.txn));
        }
        let counts = |version: &&Version| asked.counts(version.txn);
        let some = |tied: &[Version], to: &mut Vec<TxnRef>| {
            to.extend(tied.iter().filter(counts).take(MOST_TIED).map(|version| version.txn));
        };
        some(state.newest(count, asked.of.txn), &mut involved);
        some(state.tied(count, asked.place()), &mut involved);
        if asked.but.is_some() {
            // Then the version before it was the newest.
            let mut before = state.versions[..count].iter().rev();
            let commit = before.find(counts).map(|version| version.commit);
            let same = commit.map_or(0..0, |commit| state.committed_at(commit));
            some(&state.versions[same], &mut involved);
        }
        if asked.refused {
            // Whether it may have seen another word, earlier or later.
            let (seen, later) = state.versions.split_at(count);
            for (word, versions) in asked.words.iter().flat_map(|w| [(w, seen), (w, later)]) {
                let mut others = versions.iter().filter(|version| version.word != *word);
                involved.extend(others.find(counts).map(|version| version.txn));
            }
        }
        involved.retain(|txn| Some(*txn) != asked.but);
        if self.about.promise.by == By::Snapshots {
            involved.extend(state.last_deletes().filter(|txn| asked.counts(*txn)).take(2));
            let dividers = divider::all_of(&involved, bodies).into_iter();
            involved.extend(dividers.filter(|txn| Some(*txn) != asked.but));
        }
        Some(involved)
    }

    /// Notes what readers are told to be, and hands back the findings that have changed, each with what the reader was
    /// told to be before.
    pub(super) fn assign(
        &mut self,
        of: Pending,
        judged: Option<Judged>,
    ) -> Vec<(Option<Anomaly>, Finding)> {
        let Some(judged) = judged else {
            self.figures.too_late += 1;
            return Vec::new();
        };
        let range = self.readers_of(of);
        let readers = &mut self.keys[of.slot.0 as usize].1.readers[range];
        let doubt = judged.doubt.is_some();
        let mut changed = Vec::new();
        for (op, finding) in judged.findings {
            let Some(reader) = readers.iter_mut().find(|r| Some(r.op) == op) else { continue };
            let before = reader.told.replace(finding.anomaly);
            if before != Some(finding.anomaly) {
                changed.push((before, finding));
            }
        }
        for reader in readers.iter_mut().filter(|r| r.wrong && r.told.is_none()) {
            if doubt != std::mem::replace(&mut reader.doubt, doubt) {
                self.figures.doubt(doubt, judged.doubt.as_deref());
            }
        }
        changed
    }
}
