//! The rules of timestamps on a stream (Aion): what is specific to them.
//!
//! INT, SESSION and NOCONFLICT are told at once. Whether a read was right is judged when it comes and again whenever a
//! version comes that it should have seen; what is wrong is told when nothing can change it any more, and then in
//! the words of the offline check ([`excerpt`]).

mod arrivals;
mod changes;
pub(crate) mod excerpt;
mod inserts;
mod key_state;

use hashbrown::{HashMap, HashSet};
use isolde_check::timestamps::rules::{Ordering, Place};
use isolde_history::{History, Timestamp, info};
use isolde_spec::{Anomaly, Axiom, By, Level, Promise};

use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, Word};
use crate::event::{Correction, Finding, Told, Trouble};
use crate::figures::Figures;
use crate::settings::Settings;
pub(crate) use arrivals::{Kept, PickedTxn};
use excerpt::{About, Judged, Suspicion};
use key_state::{KeyState, Reader};

/// A key in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot(u32);

/// A wrong read that is not told yet: where it stands among the readers of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pending {
    /// When all that has to do with it has committed.
    pub(crate) until: Timestamp,
    pub(crate) txn: TxnRef,
    slot: Slot,
    at: Timestamp,
    inclusive: bool,
}

/// What is final already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finality {
    /// All places before this, by promises.
    pub(crate) low: Option<Timestamp>,
    /// All transactions of batches before this, by time.
    pub(crate) batch: u32,
}

impl Finality {
    fn is(&self, reader: &Reader) -> bool {
        reader.is_final || self.covers(reader.txn, reader.at)
    }

    fn covers(&self, txn: TxnRef, at: Timestamp) -> bool {
        txn.batch() < self.batch || self.low.is_some_and(|low| at < low)
    }
}

/// By snapshots: what was told and a delete may excuse.
#[derive(Default)]
struct Inserts {
    /// Inserts of rows that were there.
    breaches: HashMap<Slot, Vec<(TxnRef, Option<u32>, Finding)>>,
    /// Rows that were written in a way that inserts them if need be.
    upserted: HashSet<Slot>,
    /// Writers of these that overlap.
    conflicts: HashMap<Slot, Vec<(TxnRef, TxnRef, Finding)>>,
}

/// The state of a stream by timestamps.
pub(crate) struct Timestamps {
    pub(crate) about: About,
    ordering: Ordering,
    slots: HashMap<NameId, Slot>,
    keys: Vec<(NameId, KeyState)>,
    /// What binds each session.
    bounds: HashMap<NameId, (Timestamp, TxnRef)>,
    /// How many wrong readers saw a word of a key.
    wrong_words: HashMap<(Slot, Word), u32>,
    /// What deletes may excuse.
    inserts: Inserts,
    /// Wrong reads that are not told yet.
    pub(crate) pending: Vec<Pending>,
    pub(crate) told: Vec<Told>,
    pub(crate) figures: Figures,
    pub(crate) finality: Finality,
}

impl Timestamps {
    /// Begins with what the first batch says of the run.
    pub(crate) fn new(settings: &Settings, batch: &History) -> Timestamps {
        let about = About::new(settings.promise, batch);
        let ordering = ordering(settings.promise, &about.header);
        Timestamps {
            about,
            ordering,
            slots: HashMap::new(),
            keys: Vec::new(),
            bounds: HashMap::new(),
            wrong_words: HashMap::new(),
            inserts: Inserts::default(),
            pending: Vec::new(),
            told: Vec::new(),
            figures: Figures::default(),
            finality: Finality { low: None, batch: 0 },
        }
    }

    /// Tells the wrong reads of a transaction on a key: nothing that keeps its promise changes them any more.
    pub(crate) fn settle(&mut self, pending: Pending, bodies: &mut Bodies) {
        let range = self.readers_of(pending);
        let state = &mut self.keys[pending.slot.0 as usize].1;
        let mut open = false;
        for reader in &mut state.readers[range.clone()] {
            open |= reader.wrong && !reader.is_final;
            reader.is_final = true;
        }
        if open {
            let judged = self.judge_readers(pending, None, bodies);
            for (reader, finding) in self.assign(pending.slot, range, judged) {
                let _ = reader;
                self.tell(finding);
            }
        }
    }

    /// The readers of one transaction at one place of a key.
    fn readers_of(&self, of: Pending) -> std::ops::Range<usize> {
        let readers = &self.keys[of.slot.0 as usize].1.readers;
        let key = |r: &Reader| (r.at, r.inclusive, r.txn);
        let wanted = (of.at, of.inclusive, of.txn);
        let from = readers.partition_point(|r| key(r) < wanted);
        let count = readers[from..].partition_point(|r| key(r) <= wanted);
        from..from + count
    }

    /// What the offline rules say of the reads of a transaction on a key, perhaps without one of the writers.
    fn judge_readers(
        &self,
        of: Pending,
        but: Option<TxnRef>,
        bodies: &mut Bodies,
    ) -> Option<Judged> {
        let (key, state) = &self.keys[of.slot.0 as usize];
        let place = Place { at: of.at, inclusive: of.inclusive };
        let count = state.count(place);
        let readers = &state.readers[self.readers_of(of)];
        let words: Vec<Word> = readers.iter().map(|reader| reader.word).collect();
        let seen = |word: &Word| state.is_list == Some(true) || words.contains(word);
        let refused = readers.iter().any(|reader| reader.not);
        let mut involved: Vec<TxnRef> = Vec::new();
        let others = || state.others.iter().filter(|o| Some(o.txn) != but);
        if others().any(|o| o.unknown && (refused || seen(&o.word))) {
            let doubt = "it may have seen a transaction whose outcome is unknown".to_owned();
            return Some(Judged { doubt: Some(doubt), ..Judged::default() });
        }
        if !self.about.complete && state.repeats(but) {
            let doubt = "a transaction that is missing may have written what it saw".to_owned();
            return Some(Judged { doubt: Some(doubt), ..Judged::default() });
        }
        involved.extend(state.others.iter().filter(|o| seen(&o.word)).map(|o| o.txn));
        involved.extend(state.newest(count, of.txn).iter().map(|version| version.txn));
        involved.extend(state.tied(count, place).iter().map(|version| version.txn));
        // A refused operation saw any other version.
        let matters = |word: &Word| refused || seen(word);
        involved.extend(state.versions.iter().filter(|v| matters(&v.word)).map(|v| v.txn));
        if let Some(but) = but {
            // Then the version before it was the newest.
            let before = state.versions[..count].iter().rev().filter(|v| v.txn != but);
            let mut before = before.filter(|v| v.txn != of.txn).peekable();
            let commit = before.peek().map(|v| v.commit);
            involved.extend(before.take_while(|v| Some(v.commit) == commit).map(|v| v.txn));
            involved.retain(|txn| *txn != but);
        }
        if self.about.promise.by == By::Snapshots {
            let dividers = state.dividers(&involved).into_iter();
            involved.extend(dividers.filter(|txn| Some(*txn) != but));
        }
        let asked =
            Suspicion { axiom: Axiom::Ext, txn: of.txn, key: Some(*key), involved: &involved };
        excerpt::judge(&self.about, bodies, asked)
    }

    /// Notes what readers are told to be, and hands back the findings that have changed, each with what the reader was
    /// told to be before.
    fn assign(
        &mut self,
        slot: Slot,
        range: std::ops::Range<usize>,
        judged: Option<Judged>,
    ) -> Vec<(Option<Anomaly>, Finding)> {
        let Some(judged) = judged else {
            self.figures.too_late += 1;
            return Vec::new();
        };
        let readers = &mut self.keys[slot.0 as usize].1.readers[range];
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

    /// Tells a violation.
    fn tell(&mut self, finding: Finding) {
        self.figures.count(finding.anomaly, 1);
        self.told.push(Told::Violation(Box::new(finding)));
    }

    /// Tells that a final verdict has changed.
    fn correct(&mut self, adds: bool, finding: Finding, late: &str) {
        self.figures.count(finding.anomaly, if adds { 1 } else { -1 });
        self.figures.corrections += 1;
        let correction = Correction { adds, finding, late: late.to_owned() };
        self.told.push(Told::Correction(Box::new(correction)));
    }

    /// Tells that a violation is called something else now.
    fn rename(&mut self, before: Anomaly, finding: Finding) {
        self.figures.count(before, -1);
        self.figures.count(finding.anomaly, 1);
        self.told.push(Told::Renamed(Box::new(finding)));
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.told.push(Told::Trouble(trouble));
    }

    /// A session has ended: nothing of it will come any more.
    pub(crate) fn end_session(&mut self, session: NameId) {
        self.bounds.remove(&session);
    }

    /// The keys in memory, and the bytes that they take.
    pub(crate) fn held(&self) -> (usize, usize) {
        let keys: usize = self.keys.iter().map(|(_, key)| key.heap_bytes()).sum();
        let tables = self.keys.capacity() * size_of::<(NameId, KeyState)>()
            + self.slots.capacity() * (size_of::<(NameId, Slot)>() + 1)
            + self.bounds.capacity() * (size_of::<(NameId, (Timestamp, TxnRef))>() + 1)
            + self.wrong_words.capacity() * (size_of::<((Slot, Word), u32)>() + 1);
        (self.keys.len(), keys + tables)
    }
}

/// The order that the timestamps of a run give, for a promise.
fn ordering(promise: Promise, header: &History) -> Ordering {
    match promise.level {
        Level::Serializable => Ordering::Commits {
            reads_at_commit: header.info_text(info::READS_AT) == Some(info::AT_COMMIT),
        },
        _ => Ordering::Snapshots,
    }
}
