//! A batch comes: what its transactions did is entered key by key.

use isolde_check::timestamps::facts::{
    BatchFacts, BatchKey, BatchRead, BatchWrite, Saw, WriteFate, wrote,
};
use isolde_check::timestamps::rules::{Ordering, Place, Stamps, keeps_session_order};
use isolde_history::{History, Key, OpId, OpKind, Outcome, Timestamp, Txn, TxnId, Value};
use isolde_spec::{Axiom, By};

use super::excerpt::{self, Suspicion, name_of};
use super::key_state::{KeyState, Other, Reader, Version};
use super::{Pending, Slot, Timestamps};
use crate::bodies::{Bodies, TxnRef};
use crate::content::{ListHash, NameId, Word, name_id, word};
use crate::event::Trouble;

/// A batch on its way in.
pub(super) struct Arrival<'a> {
    pub(super) batch: &'a History,
    kept: Kept<'a>,
    pub(super) now: i64,
    /// When each batch came, from the first on.
    pub(super) arrived: &'a [i64],
    stands: Vec<Stand>,
}

/// Where the transactions of a batch are among the bodies.
#[derive(Clone, Copy)]
pub(crate) enum Kept<'a> {
    /// The batch is the one of this number.
    Batch(u32),
    /// One by one in earlier batches, in the order of arrival.
    Picked(&'a [PickedTxn]),
}

/// A transaction that was taken from an earlier batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PickedTxn {
    pub(crate) txn: TxnRef,
    /// The number of its first operation there.
    pub(crate) first_op: u32,
    /// Whether it came too late to have a place.
    pub(crate) too_late: bool,
}

/// Where a transaction stands.
#[derive(Clone, Copy)]
struct Stand {
    /// `None` if it does not count, or nothing says where it stands.
    place: Option<Place<Timestamp>>,
    start: Option<Timestamp>,
    commit: Option<Timestamp>,
}

impl Arrival<'_> {
    pub(super) fn txn(&self, txn: TxnId) -> TxnRef {
        match self.kept {
            Kept::Batch(number) => TxnRef::new(number, txn),
            Kept::Picked(picked) => picked[txn.index()].txn,
        }
    }

    /// An operation of a transaction, by its number among the bodies.
    fn op(&self, txn: TxnId, op: OpId) -> u32 {
        match self.kept {
            Kept::Batch(_) => op.0,
            Kept::Picked(picked) => {
                let first = self.batch.txn(txn).op_range().start as u32;
                op.0 - first + picked[txn.index()].first_op
            }
        }
    }

    /// What a transaction of the batch is called.
    pub(super) fn name(&self, txn: TxnRef) -> String {
        let at = match self.kept {
            Kept::Batch(_) => txn.txn(),
            Kept::Picked(picked) => TxnId(picked.partition_point(|p| p.txn < txn) as u32),
        };
        name_of(self.batch, at)
    }

    fn is_too_late(&self, txn: TxnId) -> bool {
        matches!(self.kept, Kept::Picked(picked) if picked[txn.index()].too_late)
    }

    /// How long ago the batch of a transaction came.
    pub(super) fn age(&self, txn: TxnRef) -> i64 {
        self.now - self.arrived.get(txn.batch() as usize).copied().unwrap_or(self.now)
    }
}

impl Timestamps {
    /// Takes a batch, whose transactions are among the bodies already.
    pub(crate) fn take(
        &mut self,
        batch: &History,
        kept: Kept<'_>,
        (now, arrived): (i64, &[i64]),
        bodies: &mut Bodies,
    ) {
        let stands = Vec::with_capacity(batch.txn_count());
        let mut arrival = Arrival { batch, kept, now, arrived, stands };
        for txn in batch.txns() {
            let stand = self.stand(&txn, &arrival, bodies);
            arrival.stands.push(stand);
        }
        if batch.op_counts()[OpKind::PredicateRead as usize] > 0 {
            self.figures.doubt(true, Some("what predicate reads did not return is not judged"));
        }
        let mut facts = BatchFacts::new(batch);
        for key in 0..batch.key_count() as u32 {
            self.take_key(Key(key), &facts.of(Key(key)), &arrival, bodies);
        }
    }

    /// What has to do with a transaction as a whole.
    fn stand(&mut self, txn: &Txn<'_>, arrival: &Arrival<'_>, bodies: &mut Bodies) -> Stand {
        let (start, commit) = (txn.start_ts(), txn.commit_ts());
        let mut stand = Stand { place: None, start, commit };
        if txn.outcome() != Outcome::Committed || arrival.is_too_late(txn.id()) {
            stand.commit = None;
            return stand;
        }
        let (stamps, wrote) = (Stamps { start, commit }, wrote(txn));
        let place = stamps.place(self.ordering, wrote);
        if place.is_none() || (wrote && commit.is_none()) {
            self.figures.unstamped += 1;
            if self.figures.unstamped == 1 {
                self.trouble(Trouble::Unstamped(name_of(arrival.batch, txn.id())));
            }
            stand.commit = None;
            return stand;
        }
        stand.place = place;
        let own = arrival.txn(txn.id());
        if self.ordering == Ordering::Snapshots && stamps.are_bad(wrote) {
            self.suspect(Axiom::Stamps, own, None, &[], bodies);
        }
        // By snapshots, sessions are judged where snapshots are.
        if self.about.promise.session_order
            && self.about.promise.by == By::Timestamps
            && let Some(place) = place
        {
            let binds = stamps.binds_its_session(self.ordering, wrote);
            self.in_session(txn, own, (place, binds), arrival, bodies);
        }
        stand
    }

    /// SESSION.
    fn in_session(
        &mut self,
        txn: &Txn<'_>,
        own: TxnRef,
        (place, binds): (Place<Timestamp>, Option<Timestamp>),
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let pool = arrival.batch.pool();
        let session = name_id(pool, pool.session_name(txn.session()));
        let bound = self.bounds.get(&session).copied();
        if let Some((bound, before)) = bound
            && !keeps_session_order(bound, place)
        {
            self.suspect(Axiom::Session, own, None, &[before], bodies);
        }
        if let Some(binds) = binds
            && bound.is_none_or(|(most, _)| binds > most)
        {
            self.bounds.insert(session, (binds, own));
        }
    }

    /// Asks about something that is told at once, and tells it: whether there is anything to tell.
    pub(crate) fn suspect(
        &mut self,
        axiom: Axiom,
        txn: TxnRef,
        key: Option<NameId>,
        involved: &[TxnRef],
        bodies: &mut Bodies,
    ) -> bool {
        let asked = Suspicion { axiom, txn, key, involved };
        let Some(judged) = excerpt::judge(&self.about, bodies, asked) else {
            self.figures.too_late += 1;
            return false;
        };
        let found = !judged.findings.is_empty();
        judged.findings.into_iter().for_each(|(_, found)| self.tell(found));
        found
    }

    fn take_key(
        &mut self,
        key: Key,
        facts: &BatchKey<'_, '_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let pool = arrival.batch.pool();
        let name = name_id(pool, pool.key_name(key));
        let slot = self.slot(name, facts.is_list());
        let state = &mut self.keys[slot.0 as usize].1;
        let is_list = facts.is_list();
        let mixed = state.is_list.is_some_and(|before| before != is_list);
        let doubt = facts.doubt().is_some() || mixed;
        if doubt && !state.doubtful {
            state.doubtful = true;
            self.figures.doubt(true, Some("it is not known which versions a key had"));
        }
        let committed = |txn: &TxnId| arrival.batch.txn(*txn).outcome() == Outcome::Committed;
        let mut broke: Vec<TxnId> =
            facts.breaches().map(|(txn, _)| txn).filter(committed).collect();
        broke.sort_unstable();
        broke.dedup();
        let inserted = self.inserted(facts, arrival);
        let (inserted, broke): (Vec<TxnId>, Vec<TxnId>) =
            broke.into_iter().partition(|txn| inserted.contains(txn));
        for txn in broke {
            self.suspect(Axiom::Int, arrival.txn(txn), Some(name), &[], bodies);
        }
        if self.keys[slot.0 as usize].1.doubtful {
            return;
        }
        self.keys[slot.0 as usize].1.is_list = Some(is_list);
        self.take_writes(slot, facts, arrival, bodies);
        for txn in inserted {
            self.inserted_what_was_there(slot, arrival.txn(txn), bodies);
        }
        for read in facts.reads() {
            self.take_read(slot, &read, arrival);
        }
    }

    /// The place of a key in memory.
    fn slot(&mut self, name: NameId, is_list: bool) -> Slot {
        let (keys, about) = (&mut self.keys, &self.about);
        *self.slots.entry(name).or_insert_with(|| {
            let first = if is_list { ListHash::EMPTY.word() } else { about.first(name) };
            keys.push((name, KeyState::new(first)));
            Slot(keys.len() as u32 - 1)
        })
    }

    fn take_writes(
        &mut self,
        slot: Slot,
        facts: &BatchKey<'_, '_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let pool = arrival.batch.pool();
        let mut block: Vec<Word> = Vec::new();
        let mut first = FirstWrite::default();
        for write in facts.writes() {
            let first = first.next(&write);
            let stand = arrival.stands[write.txn.index()];
            let txn = arrival.txn(write.txn);
            let written = word(pool, write.value);
            let is_version = write.fate == WriteFate::Version && stand.commit.is_some();
            if is_version && facts.is_list() {
                block.push(written);
            }
            if is_version
                && write.last
                && let Some(commit) = stand.commit
            {
                let free = self.is_free(slot, arrival.batch, first);
                let start = match self.ordering {
                    // Then it overlaps nothing.
                    Ordering::Snapshots if free => commit,
                    Ordering::Snapshots => stand.start.unwrap_or(commit),
                    Ordering::Commits { .. } => Timestamp::plain(i64::MIN),
                };
                let version = Version { commit, start, word: written, txn };
                let state = &mut self.keys[slot.0 as usize].1;
                let at = match facts.is_list() {
                    true => state.add_block(version, ListHash::of(block.drain(..))),
                    false => state.add_version(version),
                };
                self.version_came(slot, at, arrival, bodies);
            }
        }
        // Behind all versions: a reader of one of these is judged by the whole transaction that wrote it.
        let left = |write: &BatchWrite| {
            let committed = arrival.stands[write.txn.index()].commit.is_some();
            !(write.fate == WriteFate::Version && committed)
        };
        for write in facts.writes().filter(left) {
            self.take_other(slot, &write, word(pool, write.value), arrival, bodies);
        }
    }

    /// A write that leaves no version may still be what some transaction read.
    fn take_other(
        &mut self,
        slot: Slot,
        write: &BatchWrite,
        written: Word,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let outcome = arrival.batch.txn(write.txn).outcome();
        let unknown = write.fate == WriteFate::Unknown
            || (write.fate == WriteFate::Version && outcome == Outcome::Committed);
        let txn = arrival.txn(write.txn);
        self.keys[slot.0 as usize].1.others.push(Other { word: written, txn, unknown });
        if unknown {
            self.perhaps_deleted(slot, (written, txn), arrival, bodies);
        }
        self.written_again(slot, written, txn, arrival, bodies);
    }

    fn take_read(&mut self, slot: Slot, read: &BatchRead<'_>, arrival: &Arrival<'_>) {
        let stand = arrival.stands[read.txn.index()];
        let Some(place) = stand.place else { return };
        let pool = arrival.batch.pool();
        let (word, not) = match read.saw {
            Saw::Value(value) => (word(pool, value), false),
            Saw::NotValue(value) => (word(pool, value), true),
            Saw::List(elements) => {
                (ListHash::of(elements.iter().map(|e: &Value| word(pool, *e))).word(), false)
            }
        };
        let txn = arrival.txn(read.txn);
        let reader = Reader {
            at: place.at,
            inclusive: place.inclusive,
            not,
            wrong: false,
            is_final: false,
            flipped: false,
            doubt: false,
            told: None,
            word,
            txn,
            op: arrival.op(read.txn, read.op),
        };
        let state = &mut self.keys[slot.0 as usize].1;
        if !place.inclusive && state.tied(state.count(place), place).iter().any(|v| v.txn != txn) {
            self.figures.doubt(true, Some("two transactions have one commit timestamp"));
        }
        if self.keys[slot.0 as usize].1.add_reader(reader) {
            *self.wrong_words.entry((slot, word)).or_default() += 1;
            self.pending.push(pending(slot, &reader, stand.start.max(stand.commit)));
        }
    }
}

/// A wrong read that is told when nothing of its time can come any more.
pub(super) fn pending(slot: Slot, reader: &Reader, until: Option<Timestamp>) -> Pending {
    let until = until.map_or(reader.at, |until| until.max(reader.at));
    Pending { until, txn: reader.txn, slot, at: reader.at, inclusive: reader.inclusive }
}

/// The first write of a key by the transaction of each write that stays.
#[derive(Default)]
struct FirstWrite(Option<(TxnId, OpId)>);

impl FirstWrite {
    /// The next write, in the order of the batch.
    fn next(&mut self, write: &BatchWrite) -> OpId {
        match self.0 {
            Some((txn, op)) if txn == write.txn => op,
            _ if write.fate == WriteFate::Undone => write.op,
            _ => {
                self.0 = Some((write.txn, write.op));
                write.op
            }
        }
    }
}
