//! The rules of timestamps on a stream (Aion): what is specific to them.
//!
//! INT, SESSION and NOCONFLICT are told at once. Whether a read was right is judged when it comes and again whenever a
//! version comes that it should have seen; what is wrong is told when nothing can change it any more, and then in
//! the words of the offline check ([`excerpt`]).

mod again;
mod arrivals;
mod changes;
pub(crate) mod excerpt;
mod final_words;
mod flipped;
mod held_back;
mod inserts;
mod key_records;
mod key_state;
mod marks;
mod once;
mod quiet;
mod records;
mod reload;
mod saved;
mod sessions;
mod slot;
mod sources;
mod standing;
mod uniqueness;
mod verdicts;
mod word_index;
mod writers;

use hashbrown::{HashMap, HashSet};
use isolde_check::timestamps::rules::Ordering;
use isolde_history::{History, Timestamp, info};
use isolde_spec::{Anomaly, Axiom, Level, Promise};

use crate::bodies::{BEFORE_ALL, Bodies, TxnRef};
use crate::content::NameId;
use crate::event::{Cause, Correction, Finding, Told, Trouble};
use crate::figures::Figures;
use crate::seen_filter::SeenFilter;
use crate::settings::Settings;
pub(crate) use records::{Kept, PickedTxn};
pub(crate) use saved::{SavedPending, SavedTimestamps};
pub(crate) use standing::FindingId;

use excerpt::About;
use final_words::FinalWords;
use flipped::Flipped;
use held_back::{HeldBack, HeldRead};
use key_records::Reader;
use key_state::{KeyState, from_the_end};
use records::Records;
use slot::Slot;
use standing::StandingFindings;

/// A wrong read that is not told yet: where it stands among the readers of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pending {
    /// When all that has to do with it has committed.
    pub(crate) until: Timestamp,
    pub(crate) txn: TxnRef,
    /// Before the place in memory, so that the order is the same whatever has been in memory before.
    name: NameId,
    slot: Slot,
    at: Timestamp,
    inclusive: bool,
}

#[cfg(test)]
impl Pending {
    /// A read of no key in particular.
    pub(crate) fn at(until: Timestamp, txn: TxnRef) -> Pending {
        Pending { until, txn, name: NameId(0, 0), slot: Slot(0), at: until, inclusive: true }
    }
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
    /// Places of keys that have left memory.
    free: Vec<Slot>,
    left: SeenFilter,
    /// Where the search for keys that can leave memory stands.
    hand: usize,
    /// All batches before this are on disk, and what they say of keys has left memory.
    trimmed: u32,
    /// The highest floor of any key that was in memory then.
    highest_floor: Timestamp,
    /// The bytes that keys take, and those that they needed when they were trimmed last.
    key_bytes: usize,
    needed_bytes: usize,
    /// How much of a key may be read again at once.
    most_reloaded: usize,
    records: Records,
    /// Versions of a key on their way in.
    coming: Vec<key_records::Version>,
    /// Reads that wait until they are judged, and those that wait no more.
    held: HeldBack,
    taken: Vec<HeldRead>,
    /// Violations that stand, in no more than so many bytes.
    pub(crate) standing: StandingFindings,
    most_standing: usize,
    /// What binds each session, and sessions that have left memory.
    bounds: HashMap<NameId, (Timestamp, TxnRef)>,
    left_sessions: SeenFilter,
    /// Transactions of which a verdict has changed, as far as they are in memory.
    flipped: Flipped,
    /// Where changes of verdicts are gathered.
    changes: Vec<flipped::Change>,
    final_words: FinalWords,
    /// Whether anything was deleted.
    deletes: bool,
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
            free: Vec::new(),
            left: SeenFilter::default(),
            hand: 0,
            trimmed: 0,
            highest_floor: BEFORE_ALL,
            key_bytes: 0,
            needed_bytes: 0,
            most_reloaded: (settings.memory / 4).max(8 << 20),
            records: Records::default(),
            coming: Vec::new(),
            held: HeldBack::new(settings.memory / 8),
            taken: Vec::new(),
            standing: StandingFindings::default(),
            most_standing: (settings.memory / 16).max(1 << 16),
            bounds: HashMap::new(),
            left_sessions: SeenFilter::default(),
            flipped: Flipped::default(),
            changes: Vec::new(),
            final_words: FinalWords::default(),
            deletes: false,
            inserts: Inserts::default(),
            pending: Vec::new(),
            told: Vec::new(),
            figures: Figures::default(),
            finality: Finality { low: None, batch: 0 },
        }
    }

    /// Tells the wrong reads of a transaction on a key: nothing that keeps its promise changes them any more.
    pub(crate) fn settle(&mut self, pending: Pending, bodies: &mut Bodies) {
        // The key may have left memory, which it does only if no wrong read of it is open.
        if self.keys[pending.slot.0 as usize].0 != pending.name {
            return;
        }
        let range = self.readers_of(pending);
        let state = &mut self.keys[pending.slot.0 as usize].1;
        let mut open = false;
        for reader in &mut state.readers[range] {
            open |= reader.wrong && !reader.is_final;
            reader.is_final = true;
        }
        // Of a key that is in doubt, what comes is not entered: a read may look wrong for want of it.
        if open && !state.doubtful {
            let judged = self.judge_readers(pending, None, bodies);
            for (_, finding) in self.assign(pending, judged) {
                self.tell(finding);
            }
            self.note_finals(pending, bodies);
        }
    }

    /// Whether a read that was wrong still is, and is not told.
    pub(crate) fn is_open(&self, pending: &Pending) -> bool {
        let (name, state) = &self.keys[pending.slot.0 as usize];
        let open = |reader: &Reader| reader.wrong && !reader.is_final;
        *name == pending.name && state.readers[self.readers_of(*pending)].iter().any(open)
    }

    /// The readers of one transaction at one place of a key.
    fn readers_of(&self, of: Pending) -> std::ops::Range<usize> {
        let readers = &self.keys[of.slot.0 as usize].1.readers;
        let key = |r: &Reader| (r.at, r.inclusive, r.txn);
        let wanted = (of.at, of.inclusive, of.txn);
        let from = from_the_end(readers, |r| key(r) < wanted);
        // There are few.
        let count = readers[from..].iter().take_while(|r| key(r) == wanted).count();
        from..from + count
    }

    /// Notes that a violation stands.
    fn stands(&mut self, finding: &Finding) {
        if let Some(id) = finding.id {
            self.standing.add(id, finding.anomaly, self.most_standing);
        }
    }

    /// Tells a violation.
    pub(crate) fn tell(&mut self, finding: Finding) {
        // A snapshot that contradicts itself contradicts others, too.
        let mut again = |id: FindingId| self.standing.name(id).is_some();
        if finding.axiom == Some(Axiom::Snapshots) && finding.id.is_some_and(&mut again) {
            return;
        }
        self.stands(&finding);
        self.figures.count(finding.anomaly, 1);
        self.told.push(Told::Violation(Box::new(finding)));
    }

    /// Tells that a final verdict has changed.
    pub(crate) fn correct(&mut self, adds: bool, finding: Finding, cause: &Cause) {
        match adds {
            true => self.stands(&finding),
            false => finding.id.into_iter().for_each(|id| self.standing.remove(id)),
        }
        self.figures.count(finding.anomaly, if adds { 1 } else { -1 });
        self.figures.corrections += 1;
        let correction = Correction { adds, finding, cause: cause.clone() };
        self.told.push(Told::Correction(Box::new(correction)));
    }

    /// Tells that a violation is called something else now.
    pub(crate) fn rename(&mut self, before: Anomaly, finding: Finding) {
        self.stands(&finding);
        self.figures.count(before, -1);
        self.figures.count(finding.anomaly, 1);
        self.told.push(Told::Renamed(Box::new(finding)));
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.told.push(Told::Trouble(trouble));
    }

    /// Nothing more is known of a key: what it held is not judged, and what was told of reads of it is unknown.
    fn doubt_key(&mut self, slot: Slot, cause: &Cause, bodies: &mut Bodies) {
        const WHY: &str = "it is not known which versions a key had";
        let state = &mut self.keys[slot.0 as usize].1;
        if !std::mem::replace(&mut state.doubtful, true) {
            self.withdraw_all(slot, cause, bodies);
            self.figures.doubt(true, Some(WHY));
        }
    }

    /// All batches before this are on disk, and what they say of keys has left memory.
    pub(crate) fn trimmed(&self) -> u32 {
        self.trimmed
    }

    /// The bytes that keys needed when they were trimmed last. They may take more: what was needed before is going to be
    /// needed again.
    pub(crate) fn needed_bytes(&self) -> usize {
        self.needed_bytes
    }

    /// The keys in memory, and the bytes that they take.
    pub(crate) fn held(&self) -> (usize, usize) {
        let tables = self.slots.capacity() * (size_of::<(NameId, Slot)>() + 1)
            + self.bounds.capacity() * (size_of::<(NameId, (Timestamp, TxnRef))>() + 1)
            + self.final_words.heap_bytes()
            + self.flipped.heap_bytes()
            + self.held.heap_bytes()
            + self.standing.heap_bytes()
            + self.taken.capacity() * size_of::<HeldRead>()
            + self.left.heap_bytes()
            + self.left_sessions.heap_bytes();
        (self.slots.len(), self.key_bytes + tables)
    }
}

/// A wrong read that is told when nothing of its time can come any more.
fn pending((name, slot): (NameId, Slot), reader: &Reader, until: Option<Timestamp>) -> Pending {
    let until = until.map_or(reader.at, |until| until.max(reader.at));
    let Reader { at, inclusive, txn, .. } = *reader;
    Pending { until, txn, name, slot, at, inclusive }
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
