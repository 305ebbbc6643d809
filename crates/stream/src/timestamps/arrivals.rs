//! A batch comes: what its transactions did is entered key by key.

use std::hint::black_box;
use std::ops::Range;

use isolde_check::timestamps::facts::{BatchFacts, BatchKey, wrote};
use isolde_check::timestamps::rules::{Ordering, Place, Stamps, keeps_session_order};
use isolde_history::{History, Key, OpKind, Outcome, Timestamp, Txn, TxnId};
use isolde_spec::{Axiom, By};

use super::excerpt::{self, Suspicion, name_of};
use super::flipped::changes_until_now;
use super::key_records::{Other, Reader, Wrote};
use super::key_state::KeyState;
use super::records::{Kept, Records, Standing};
use super::reload::LateKey;
use super::{Slot, Timestamps, held_back, pending};
use crate::bodies::{AFTER_ALL, BEFORE_ALL, Bodies, TxnRef};
use crate::content::{NameId, name_id};
use crate::event::{Cause, Trouble};

/// Of so many keys what came late needs is read again together, each batch once.
const AT_ONCE: usize = 64;

/// So many keys are looked at ahead.
const AHEAD: usize = 16;

/// A batch on its way in.
pub(super) struct Arrival<'a> {
    pub(super) standing: Standing<'a>,
    pub(super) now: i64,
}

impl Arrival<'_> {
    /// What a transaction of the batch is called.
    pub(super) fn name(&self, txn: TxnRef, bodies: &mut Bodies) -> String {
        // What was picked has left its names behind.
        match bodies.get(txn.batch()) {
            Some(batch) => name_of(&batch, txn.txn()),
            None => name_of(self.standing.batch, self.standing.id(txn)),
        }
    }

    /// How long ago the batch of a transaction came.
    pub(super) fn age(&self, txn: TxnRef, bodies: &mut Bodies) -> i64 {
        self.now - bodies.arrived(txn.batch()).unwrap_or(self.now)
    }
}

impl Timestamps {
    /// Takes a batch, whose transactions are among the bodies already.
    pub(crate) fn take(&mut self, batch: &History, kept: Kept<'_>, now: i64, bodies: &mut Bodies) {
        let arrival = Arrival { standing: Standing::new(batch, kept, self.ordering), now };
        for txn in batch.txns() {
            self.take_txn(&txn, &arrival, bodies);
        }
        if batch.has_ops(OpKind::PredicateRead) {
            self.figures.doubt(true, Some("what predicate reads did not return is not judged"));
        }
        let mut facts = BatchFacts::new(batch);
        let mut next = 0;
        for late in self.late_keys(&mut facts, &arrival).chunks(AT_ONCE) {
            self.reload_together(late, bodies);
            let end = late.last().map_or(next, |late| late.key.0 + 1);
            self.take_keys(next..end, &mut facts, &arrival, bodies);
            self.let_go_of(late, bodies);
            next = end;
        }
        self.take_keys(next..batch.key_count() as u32, &mut facts, &arrival, bodies);
        self.look_for_deletes(batch, &arrival, bodies);
        if let Kept::Batch(number) = kept {
            let stands = arrival.standing.stands().map(|stand| (stand.start, stand.commit));
            self.held.close(number, &held_back::untils(stands));
            self.held.take_surplus(&mut self.taken);
            self.judge_taken(bodies);
        }
    }

    /// The keys of which a batch is earlier than what is in memory, and from when on it needs each.
    fn late_keys(&mut self, facts: &mut BatchFacts<'_>, arrival: &Arrival<'_>) -> Vec<LateKey> {
        let stands = arrival.standing.stands().flat_map(|stand| [stand.start, stand.commit]);
        let earliest = stands.flatten().min();
        let mut late = Vec::new();
        let Some(earliest) = earliest.filter(|earliest| *earliest <= self.highest_floor) else {
            return late;
        };
        let batch = arrival.standing.batch;
        let mut records = std::mem::take(&mut self.records);
        for key in (0..batch.key_count() as u32).map(Key) {
            let name = name_id(batch.pool(), batch.pool().key_name(key));
            let facts = facts.of(key);
            let slot = match self.slots.get(&name) {
                Some(slot) => *slot,
                None if self.left.may_have(name) => self.slot(name, facts.is_list()),
                None => continue,
            };
            let floor = self.keys[slot.0 as usize].1.floor;
            let Some(floor) = floor.filter(|floor| *floor >= earliest) else { continue };
            records.clear();
            records.add(&facts, &arrival.standing);
            let from = records.earliest(self.ordering);
            if from <= floor {
                late.push(LateKey { key, slot, from });
            }
        }
        self.records = records;
        late
    }

    /// What has to do with a transaction as a whole.
    fn take_txn(&mut self, txn: &Txn<'_>, arrival: &Arrival<'_>, bodies: &mut Bodies) {
        if txn.outcome() != Outcome::Committed || arrival.standing.is_too_late(txn.id()) {
            return;
        }
        let (stamps, wrote) =
            (Stamps { start: txn.start_ts(), commit: txn.commit_ts() }, wrote(txn));
        let own = arrival.standing.txn(txn.id());
        let Some(place) = arrival.standing.stand(txn.id()).place else {
            self.figures.unstamped += 1;
            if self.figures.unstamped == 1 {
                self.trouble(Trouble::Unstamped(arrival.name(own, bodies)));
            }
            return;
        };
        if self.ordering == Ordering::Snapshots && stamps.are_bad(wrote) {
            self.suspect(Axiom::Stamps, own, None, &[], bodies);
        }
        // By snapshots, sessions are judged where snapshots are.
        if self.about.promise.session_order && self.about.promise.by == By::Timestamps {
            let binds = stamps.binds_its_session(self.ordering, wrote);
            self.in_session(txn, own, (place, binds), arrival, bodies);
        }
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
        let pool = arrival.standing.batch.pool();
        let session = name_id(pool, pool.session_name(txn.session()));
        let bound = self.bound(session, (own, place), bodies);
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
            self.figures.too_late(txn);
            return false;
        };
        let found = !judged.findings.is_empty();
        judged.findings.into_iter().for_each(|(_, found)| self.tell(found));
        found
    }

    fn take_keys(
        &mut self,
        keys: Range<u32>,
        facts: &mut BatchFacts<'_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        for from in keys.clone().step_by(AHEAD) {
            let some = from..keys.end.min(from + AHEAD as u32);
            self.look_ahead(some.clone(), arrival);
            for key in some.map(Key) {
                self.take_key(key, &facts.of(key), arrival, bodies);
            }
        }
    }

    /// Looks at what is going to be needed of some keys of a batch.
    fn look_ahead(&self, keys: Range<u32>, arrival: &Arrival<'_>) {
        let pool = arrival.standing.batch.pool();
        let slot = |key| self.slots.get(&name_id(pool, pool.key_name(Key(key)))).copied();
        let mut ahead = [None; AHEAD];
        for (ahead, key) in ahead.iter_mut().zip(keys) {
            *ahead = slot(key);
        }
        self.look_at(ahead.into_iter().flatten());
    }

    /// A key that no batch has had for a while is in no cache, and the processor waits for several at once where nothing
    /// depends on what it finds.
    fn look_at(&self, slots: impl Iterator<Item = Slot> + Clone) {
        let states = slots.map(|slot| &self.keys[slot.0 as usize].1);
        let counts = states.clone().map(|state| state.versions.len() + state.readers.len());
        black_box(counts.sum::<usize>());
        let last = |state: &KeyState| {
            let reader = state.readers.last().map_or(0, |reader| reader.at.physical);
            reader ^ state.versions.last().map_or(0, |version| version.commit.physical)
        };
        black_box(states.map(last).fold(0, |all, last| all ^ last));
    }

    fn take_key(
        &mut self,
        key: Key,
        facts: &BatchKey<'_, '_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let batch = arrival.standing.batch;
        let name = name_id(batch.pool(), batch.pool().key_name(key));
        let is_list = facts.is_list();
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        records.add(facts, &arrival.standing);
        if !records.is_empty() || facts.doubt().is_some() || facts.breaches().next().is_some() {
            let slot = self.slot(name, is_list);
            let state = &self.keys[slot.0 as usize].1;
            if facts.doubt().is_some() || state.is_list.is_some_and(|before| before != is_list) {
                let is_mixed = state.is_list.is_some_and(|before| before != is_list);
                let why = match is_mixed || facts.is_mixed() {
                    true => "a key is used as a list and as something else",
                    false => "what was done to a key leaves open which versions it had",
                };
                self.doubt_key(slot, &Cause::because(why), bodies);
            }
            let inserted = self.inside(name, facts, arrival, bodies);
            self.enter((slot, is_list), &mut records, &inserted, arrival, bodies);
        }
        self.records = records;
    }

    /// INT. Hands back what inserted a row that was there, which a delete may excuse.
    fn inside(
        &mut self,
        name: NameId,
        facts: &BatchKey<'_, '_>,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) -> Vec<TxnId> {
        let batch = arrival.standing.batch;
        let committed = |txn: &TxnId| batch.txn(*txn).outcome() == Outcome::Committed;
        let mut broke: Vec<TxnId> =
            facts.breaches().map(|(txn, _)| txn).filter(committed).collect();
        broke.sort_unstable();
        broke.dedup();
        let inserted = self.inserted(facts, arrival);
        let (inserted, broke): (Vec<TxnId>, Vec<TxnId>) =
            broke.into_iter().partition(|txn| inserted.contains(txn));
        for txn in broke {
            self.suspect(Axiom::Int, arrival.standing.txn(txn), Some(name), &[], bodies);
        }
        inserted
    }

    /// Enters what a batch says of a key.
    fn enter(
        &mut self,
        (slot, is_list): (Slot, bool),
        records: &mut Records,
        inserted: &[TxnId],
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        if self.keys[slot.0 as usize].1.doubtful {
            return;
        }
        self.keys[slot.0 as usize].1.is_list = Some(is_list);
        let earliest = records.earliest(self.ordering);
        let state = &mut self.keys[slot.0 as usize].1;
        state.reloaded |= state.floor.is_some_and(|floor| earliest <= floor);
        if !self.reload(slot, earliest, bodies) {
            self.too_late(slot, records, bodies);
        }
        if self.keys[slot.0 as usize].1.doubtful {
            return;
        }
        let before = self.keys[slot.0 as usize].1.heap_bytes();
        let twice = self.writes_again(slot, records, bodies);
        let was_asked = self.keys[slot.0 as usize].1.once.is_asked();
        if !self.enter_quietly(slot, is_list, records) {
            self.enter_versions(slot, records, arrival, bodies);
        }
        // Behind all versions: a reader of one of these is judged by the whole transaction that wrote it.
        for other in &records.others {
            self.keys[slot.0 as usize].1.add_other(*other);
            if other.unknown {
                self.perhaps_deleted(slot, (other.word, other.txn), arrival, bodies);
            }
            let Other { txn, word, unknown, .. } = *other;
            let wrote = Wrote { txn, words: &[word], commit: AFTER_ALL, unknown };
            self.written_again(slot, wrote, arrival, bodies);
        }
        self.keep_up_uniqueness(slot, (was_asked, twice), records, arrival, bodies);
        for txn in inserted {
            self.inserted_what_was_there(slot, arrival.standing.txn(*txn), bodies);
        }
        if self.may_wait(is_list) {
            self.hold_back(slot, &mut records.readers);
        }
        let name = self.keys[slot.0 as usize].0;
        for reader in self.enter_readers(slot, &mut records.readers, bodies) {
            let stand = arrival.standing.stand(arrival.standing.id(reader.txn));
            let until = stand.start.max(stand.commit);
            self.pending.push(pending((name, slot), &reader, until));
        }
        let after = self.keys[slot.0 as usize].1.heap_bytes();
        self.key_bytes = (self.key_bytes + after).saturating_sub(before);
    }

    /// Enters the versions of a register, if it can be seen at once that there is nothing to tell.
    fn enter_quietly(&mut self, slot: Slot, is_list: bool, records: &Records) -> bool {
        // By snapshots, inserts and deletes excuse each other.
        if is_list || self.about.promise.by == By::Snapshots {
            return false;
        }
        self.coming.clear();
        self.coming.extend(records.versions.iter().map(|(version, _)| *version));
        if self.keys[slot.0 as usize].1.wrong > 0
            && self.coming.iter().any(|version| self.may_rename(slot, version.word))
        {
            return false;
        }
        let may_conflict = self.ordering == Ordering::Snapshots;
        self.keys[slot.0 as usize].1.add_quiet_versions(&mut self.coming, may_conflict)
    }

    /// Enters versions one by one, and tells what there is to tell of each.
    fn enter_versions(
        &mut self,
        slot: Slot,
        records: &Records,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let versions = records.versions.iter().zip(&records.first_ops);
        for (i, ((version, block), first)) in versions.enumerate() {
            let mut version = *version;
            if self.is_free(slot, arrival.standing.batch, *first) {
                // Then it overlaps nothing.
                version.start = version.commit;
            }
            let state = &mut self.keys[slot.0 as usize].1;
            let at = match block {
                Some(block) => state.add_block(version, *block),
                None => state.add_version(version),
            };
            self.version_came(slot, (at, records.elements(i)), arrival, bodies);
        }
    }

    /// Whether reads may wait until they are final. By snapshots they have done so before they come here.
    fn may_wait(&self, is_list: bool) -> bool {
        !is_list && self.about.promise.by == By::Timestamps
    }

    /// Lets those readers wait that can be judged later without the disk.
    fn hold_back(&mut self, slot: Slot, readers: &mut Vec<Reader>) {
        let state = &mut self.keys[slot.0 as usize].1;
        let held = &mut self.held;
        readers.retain(|reader| {
            let now = state.floor.is_some_and(|floor| reader.at <= floor);
            if !now {
                state.held += 1;
                held.add(slot, *reader);
            }
            now
        });
    }

    /// Enters readers of a key, of which all is here that they may see, and hands back those that are wrong.
    pub(super) fn enter_readers(
        &mut self,
        slot: Slot,
        readers: &mut [Reader],
        bodies: &mut Bodies,
    ) -> Vec<Reader> {
        let state = &mut self.keys[slot.0 as usize].1;
        let unknown =
            readers.iter().filter(|reader| state.sees_nothing_known(reader.place(), reader.txn));
        unknown.for_each(|reader| self.figures.too_late(reader.txn));
        for reader in readers.iter().filter(|reader| !reader.inclusive) {
            let place = reader.place();
            if state.tied(state.count(place), place).iter().any(|v| v.txn != reader.txn) {
                self.figures.doubt(true, Some("two transactions have one commit timestamp"));
            }
        }
        let first = state.first;
        let (mut wrong, mut changes) = (Vec::new(), std::mem::take(&mut self.changes));
        state.add_readers(readers, |reader, visible| {
            if visible.last().is_some_and(|v| v.txn.batch() > reader.txn.batch()) {
                let before = changes.len();
                changes_until_now(first, visible, reader, &mut changes);
                reader.flipped = changes.len() > before;
            }
            wrong.extend(reader.wrong.then_some(*reader));
        });
        let mut last = None;
        for (reader, op, batch, right) in changes.drain(..) {
            if last.replace((reader, op)) != Some((reader, op)) {
                self.flipped_first(reader);
            }
            let ends = [batch, reader.batch()].map(|batch| bodies.arrived(batch));
            let [Some(end), Some(begin)] = ends else { continue };
            self.figures.change(end - begin, right);
        }
        self.changes = changes;
        wrong
    }

    /// Notes that the verdict on a read has changed for the first time.
    pub(super) fn flipped_first(&mut self, reader: TxnRef) {
        self.figures.flipped += 1;
        self.figures.flipped_txns += u64::from(self.flipped.insert(reader));
    }

    /// Judges what is final: all before a time, and all that came in batches before a number.
    pub(crate) fn judge_final(&mut self, low: Option<Timestamp>, before: u32, bodies: &mut Bodies) {
        self.held.take_final(low, before, &mut self.taken);
        self.judge_taken(bodies);
    }

    /// Judges all reads that wait, final or not.
    pub(crate) fn judge_all(&mut self, bodies: &mut Bodies) {
        self.judge_before(u32::MAX, bodies);
    }

    /// Judges all reads that wait and came in batches before a number, final or not.
    pub(super) fn judge_before(&mut self, number: u32, bodies: &mut Bodies) {
        self.held.take_before(number, &mut self.taken);
        self.judge_taken(bodies);
    }

    /// Judges reads that wait no more, key by key.
    fn judge_taken(&mut self, bodies: &mut Bodies) {
        if self.taken.is_empty() {
            return;
        }
        let mut taken = std::mem::take(&mut self.taken);
        let of_key = |(i, (slot, _)): (usize, &(Slot, Reader))| u64::from(slot.0) << 32 | i as u64;
        let mut order: Vec<u64> = taken.iter().enumerate().map(of_key).collect();
        sort_by_slot(&mut order, self.keys.len());
        let mut records = std::mem::take(&mut self.records);
        let groups: Vec<&[u64]> = order.chunk_by(|a, b| a >> 32 == b >> 32).collect();
        let slot = |group: &&[u64]| Slot((group[0] >> 32) as u32);
        for some in groups.chunks(AHEAD) {
            self.look_at(some.iter().map(slot));
            for group in some {
                records.clear();
                records.readers.extend(group.iter().map(|i| taken[*i as u32 as usize].1));
                self.judge_held(slot(group), &mut records, bodies);
            }
        }
        self.records = records;
        taken.clear();
        self.taken = taken;
    }

    /// Judges reads of one key that wait no more.
    fn judge_held(&mut self, slot: Slot, records: &mut Records, bodies: &mut Bodies) {
        let state = &mut self.keys[slot.0 as usize].1;
        state.held -= records.readers.len() as u32;
        if state.doubtful {
            return;
        }
        if !self.reload(slot, records.earliest(self.ordering), bodies) {
            self.too_late(slot, records, bodies);
        }
        let (name, state) = &self.keys[slot.0 as usize];
        if state.doubtful {
            return;
        }
        let (name, before) = (*name, state.heap_bytes());
        for reader in self.enter_readers(slot, &mut records.readers, bodies) {
            let until = until_of(reader.txn, bodies);
            self.pending.push(pending((name, slot), &reader, until));
        }
        let after = self.keys[slot.0 as usize].1.heap_bytes();
        self.key_bytes = (self.key_bytes + after).saturating_sub(before);
    }

    /// What a batch says of a key, of which what it needs is not kept any more: reads cannot be judged. Versions count, for
    /// what comes after them.
    fn too_late(&mut self, slot: Slot, records: &mut Records, bodies: &mut Bodies) {
        let state = &self.keys[slot.0 as usize].1;
        let floor = state.floor.unwrap_or(BEFORE_ALL);
        let versions = records.versions.iter().filter(|(v, _)| v.commit.min(v.start) <= floor);
        let mut late: Vec<TxnRef> = versions.map(|(version, _)| version.txn).collect();
        late.extend(records.readers.iter().filter(|r| r.at <= floor).map(|r| r.txn));
        if late.is_empty() {
            // What came needs more than what it overlaps.
            late.extend(records.versions.iter().map(|(version, _)| version.txn));
            late.extend(records.readers.iter().map(|reader| reader.txn));
        }
        records.readers.retain(|reader| reader.at > floor);
        late.sort_unstable();
        late.dedup();
        late.iter().for_each(|txn| self.figures.too_late(*txn));
        let first = late.first().and_then(|first| {
            let batch = bodies.get(first.batch())?;
            Some(name_of(&batch, first.txn()))
        });
        if let Some(first) = &first {
            let is_kept = bodies.forgotten().is_none();
            let trouble = if is_kept { Trouble::TooMuch } else { Trouble::TooLate };
            self.trouble(trouble(first.clone()));
        }
        if state_is_list(records) {
            self.doubt_key(slot, &Cause::Late(first.unwrap_or_default()), bodies);
        }
    }
}

/// Sorts words of which the upper half is a place among so many, and which are in the order of the lower.
fn sort_by_slot(words: &mut Vec<u64>, slots: usize) {
    // Digit by digit, if there are many words to each place of a digit.
    const DIGIT: u32 = 8;
    if words.len() < 1 << DIGIT || slots > 1 << (3 * DIGIT) {
        return words.sort_unstable();
    }
    let mut other = vec![0; words.len()];
    let mut shift = 32;
    while slots >> (shift - 32) > 0 {
        let digit = |word: u64| (word >> shift) as usize & ((1 << DIGIT) - 1);
        let mut ends = [0_usize; 1 << DIGIT];
        words.iter().for_each(|word| ends[digit(*word)] += 1);
        let mut sum = 0;
        ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        for word in &*words {
            let end = &mut ends[digit(*word)];
            other[*end] = *word;
            *end += 1;
        }
        std::mem::swap(words, &mut other);
        shift += DIGIT;
    }
}

/// When all that has to do with a transaction has committed.
pub(super) fn until_of(txn: TxnRef, bodies: &mut Bodies) -> Option<Timestamp> {
    let batch = bodies.get(txn.batch())?;
    let txn = batch.txn(txn.txn());
    txn.start_ts().max(txn.commit_ts())
}

/// Whether the versions are those of a list.
fn state_is_list(records: &Records) -> bool {
    records.versions.iter().any(|(_, block)| block.is_some())
}
