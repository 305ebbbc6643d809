//! What has left memory is made again from the batches on disk.
//!
//! Of a key that something must be known of from some time on, the batches are read that have to do with it, the latest
//! first, until a version before that time is known, and all batches that are left are earlier than that version. What they
//! hold can matter to nothing that stands after it.

use isolde_history::{Key, Timestamp};

use super::key_records::Version;
use super::key_state::{KeyState, from_the_end};
use super::records::{Records, read_again};
use super::{Slot, Timestamps};
use crate::bodies::{AFTER_ALL, BEFORE_ALL, BatchSearch, Bodies, TxnRef};
use crate::content::{ListHash, NameId, What, Word};
use crate::event::Cause;

/// A key without anything is as large as this, with its places in tables.
const A_KEY: usize = size_of::<(NameId, KeyState)>() + 2 * size_of::<(NameId, Slot)>();

/// A key of which a batch needs more than what is in memory.
pub(super) struct LateKey {
    pub(super) key: Key,
    pub(super) slot: Slot,
    /// From when on it has to be known.
    pub(super) from: Timestamp,
}

/// A key that is read again, batch by batch.
struct Again {
    slot: Slot,
    name: NameId,
    /// From when on all has to be known.
    from: Timestamp,
    /// Whether all has to be.
    whole: bool,
    /// The batches that are left.
    batches: BatchSearch,
    records: Records,
    base: Base,
    /// The floor then, and whether what was visible there is not kept any more.
    floor: Option<Timestamp>,
    base_missing: bool,
    /// Whether a batch used it as something else than a list, and as a list.
    lists: [bool; 2],
}

/// Whether reading goes on after a batch.
enum ReloadStep {
    GoOn,
    Done,
    TooMuch,
}

/// The newest two versions before a time, as far as they are known: commit, writer, whether its timestamps make sense.
#[derive(Default)]
struct Base(Vec<(Timestamp, TxnRef, bool)>);

impl Base {
    fn add(&mut self, version: &Version) {
        self.0.push((version.commit, version.txn, version.start < version.commit));
        self.0.sort_unstable_by(|a, b| b.cmp(a));
        self.0.dedup();
        self.0.truncate(2);
    }

    /// What must not be missed, and the floor if nothing from there on is: of the newest version alone if its writer does
    /// not stand after it. A writer whose timestamps are wrong sees the one before.
    fn known(&self) -> Option<(Timestamp, Timestamp)> {
        match self.0[..] {
            [(newest, _, true), ..] => Some((newest, newest)),
            [(newest, ..), (before, ..)] => Some((before, newest)),
            _ => None,
        }
    }
}

impl Timestamps {
    /// The place of a key in memory. Of one that may have left memory nothing is known yet.
    pub(super) fn slot(&mut self, name: NameId, is_list: bool) -> Slot {
        if let Some(slot) = self.slots.get(&name) {
            return *slot;
        }
        let first = if is_list { ListHash::EMPTY.word() } else { self.about.first(name) };
        let mut state = KeyState::new(first);
        if self.left.may_have(name) {
            state.floor = Some(AFTER_ALL);
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.keys[slot.0 as usize] = (name, state);
                slot
            }
            None => {
                self.keys.push((name, state));
                Slot(self.keys.len() as u32 - 1)
            }
        };
        self.slots.insert(name, slot);
        self.key_bytes += A_KEY;
        slot
    }

    /// Sees to it that all of a key after a time, and what was visible then, is in memory. Says whether it is: what was
    /// needed may not be kept any more.
    pub(super) fn reload(&mut self, slot: Slot, from: Timestamp, bodies: &mut Bodies) -> bool {
        let Some(mut again) = self.again(slot, from, bodies) else { return true };
        while let Some(batch) = again.batches.next {
            bodies.step_back(&mut again.batches);
            match self.read_batch(&mut again, batch, bodies) {
                ReloadStep::GoOn => {}
                ReloadStep::Done => break,
                ReloadStep::TooMuch => return false,
            }
        }
        self.restore_key(again, bodies)
    }

    /// The same of several keys, each from a time on: every batch is read once for all of them. What is too much for that
    /// is left out.
    pub(super) fn reload_together(&mut self, keys: &[LateKey], bodies: &mut Bodies) {
        let again = keys.iter().filter_map(|late| self.again(late.slot, late.from, bodies));
        let mut left: Vec<Again> = again.collect();
        let mut done = Vec::new();
        while let Some(batch) = left.iter().filter_map(|again| again.batches.next).max() {
            let mut at = 0;
            while let Some(again) = left.get_mut(at) {
                let step = match again.batches.next == Some(batch) {
                    true => {
                        bodies.step_back(&mut again.batches);
                        self.read_batch(again, batch, bodies)
                    }
                    false => ReloadStep::GoOn,
                };
                if matches!(step, ReloadStep::GoOn) && again.batches.next.is_some() {
                    at += 1;
                    continue;
                }
                let again = left.swap_remove(at);
                done.extend((!matches!(step, ReloadStep::TooMuch)).then_some(again));
            }
            let bytes = left.iter().chain(&done).map(|again| again.records.bytes());
            if bytes.sum::<usize>() > self.most_reloaded {
                break;
            }
        }
        for again in done {
            self.keys[again.slot.0 as usize].1.reloaded = true;
            self.restore_key(again, bodies);
        }
    }

    /// Lets go of what was read again of keys, if all keys take too much: the next ones that came late need room.
    pub(super) fn let_go_of(&mut self, keys: &[LateKey], bodies: &Bodies) {
        if self.key_bytes <= self.most_reloaded {
            return;
        }
        let from = self.held.earliest().unwrap_or(AFTER_ALL);
        let near = bodies.newest_on_disk();
        for late in keys {
            let state = &mut self.keys[late.slot.0 as usize].1;
            let before = state.heap_bytes();
            state.trim(self.trimmed, from, near);
            self.highest_floor = self.highest_floor.max(state.floor.unwrap_or(BEFORE_ALL));
            self.key_bytes = (self.key_bytes + state.heap_bytes()).saturating_sub(before);
        }
    }

    /// A key of which something has to be read again to know all from a time on; `None` if nothing has to.
    fn again(&self, slot: Slot, from: Timestamp, bodies: &mut Bodies) -> Option<Again> {
        let (name, state) = &self.keys[slot.0 as usize];
        if state.floor.is_none_or(|floor| from > floor) {
            return None;
        }
        // The elements of a list that is not here are known from its beginning only.
        let whole = state.is_list != Some(false) && state.versions.is_empty();
        let from = if whole { BEFORE_ALL } else { from };
        let batches = bodies.backwards(self.trimmed, *name, What::Key);
        let mut again = Again {
            slot,
            name: *name,
            from,
            whole,
            batches,
            records: Records::default(),
            base: Base::default(),
            floor: bodies.forgotten(),
            base_missing: bodies.forgotten().is_some(),
            lists: [false; 2],
        };
        let earlier = from_the_end(&state.versions, |version| version.commit < from);
        for version in state.versions[..earlier].iter().rev().take(2) {
            again.base.add(version);
        }
        Some(again)
    }

    /// Reads a batch again for a key, the batches after it having been read.
    fn read_batch(
        &self,
        again: &mut Again,
        (is_far, batch): (bool, u32),
        bodies: &mut Bodies,
    ) -> ReloadStep {
        let Some(bound) = bodies.latest_up_to(batch) else { return ReloadStep::Done };
        if let Some((least, floor)) = again.base.known()
            && least > bound
            && !is_far
        {
            (again.floor, again.base_missing) = (Some(floor), false);
            return ReloadStep::Done;
        }
        let Some(body) = bodies.body(batch) else { return ReloadStep::Done };
        let known = again.records.versions.len();
        let of = (again.name, self.ordering);
        if let Some(list) = read_again(&body, batch, of, &mut again.records) {
            again.lists[usize::from(list)] = true;
        }
        for (version, _) in &again.records.versions[known..] {
            if version.commit < again.from {
                again.base.add(version);
            }
        }
        match again.records.bytes() > self.most_reloaded {
            true => ReloadStep::TooMuch,
            false => ReloadStep::GoOn,
        }
    }

    /// Enters what was read again of a key, and says whether it is all that was wanted.
    fn restore_key(&mut self, again: Again, bodies: &mut Bodies) -> bool {
        let Again { slot, from, whole, mut records, floor, base_missing, lists, .. } = again;
        let is_list = self.keys[slot.0 as usize].1.is_list;
        // What stands at the floor or below it cannot be judged.
        records.readers.retain(|reader| floor.is_none_or(|floor| reader.at > floor));
        self.keys[slot.0 as usize].1.base_missing = base_missing;
        self.enter_again(slot, &records, floor, bodies);
        let mixed = lists == [true; 2] || is_list.is_some_and(|list| lists[usize::from(!list)]);
        if mixed || (whole && floor.is_some() && lists[1]) {
            let why = Cause::because("what a key held before is not kept any more");
            self.doubt_key(slot, &why, bodies);
        }
        floor.is_none_or(|floor| from > floor)
    }

    /// Enters what was read again. What was told of wrong reads among it is what is found of them now.
    fn enter_again(
        &mut self,
        slot: Slot,
        records: &Records,
        floor: Option<Timestamp>,
        bodies: &mut Bodies,
    ) {
        let state = &mut self.keys[slot.0 as usize].1;
        let before = state.heap_bytes();
        let wrong = state.restore(records, floor);
        let after = state.heap_bytes();
        self.key_bytes = (self.key_bytes + after).saturating_sub(before);
        if self.keys[slot.0 as usize].1.doubtful {
            // Nothing was told of them, or it was withdrawn.
            return;
        }
        for reader in wrong {
            let of = super::pending((self.keys[slot.0 as usize].0, slot), &reader, None);
            if !self.finality.is(&reader) {
                self.pending.push(of);
                continue;
            }
            let judged = self.judge_readers(of, None, bodies).unwrap_or_default();
            let (range, mut finals) = (self.readers_of(of), Vec::new());
            for reader in &mut self.keys[slot.0 as usize].1.readers[range] {
                reader.is_final = true;
                let found = judged.findings.iter().find(|(op, _)| *op == Some(reader.op));
                reader.told = found.map(|(_, finding)| finding.anomaly);
                finals.push(*reader);
                reader.doubt = reader.wrong && reader.told.is_none() && judged.doubt.is_some();
            }
            finals.iter().for_each(|reader| self.note_final(slot, reader, bodies));
        }
    }

    /// Lets go of what came in batches before a number, which are on disk, and then, while more bytes are held than
    /// may be, of keys as a whole.
    pub(crate) fn trim(&mut self, end: u32, most: usize, bodies: &mut Bodies) {
        // What is on disk may be read again at any time, and then with all its readers.
        self.judge_before(end, bodies);
        let from = self.held.earliest().unwrap_or(AFTER_ALL);
        self.trimmed = end;
        self.flipped.forget_before(end);
        self.trim_sessions(end, most / 8);
        (self.key_bytes, self.needed_bytes) = (0, 0);
        // What was read again is likely to be needed again, if that is not too much.
        let late = self.keys.iter().filter(|(_, state)| state.reloaded);
        let stays = late.map(|(_, state)| state.heap_bytes()).sum::<usize>() <= most / 4;
        self.highest_floor = BEFORE_ALL;
        let near = bodies.newest_on_disk();
        for (_, state) in &mut self.keys {
            if !(state.reloaded && stays) {
                state.trim(end, from, near);
            }
            self.highest_floor = self.highest_floor.max(state.floor.unwrap_or(BEFORE_ALL));
            self.key_bytes += A_KEY + state.heap_bytes();
            self.needed_bytes += A_KEY + state.needed_bytes();
        }
        let mut looked_at = 0;
        while self.key_bytes > most && looked_at < self.keys.len() {
            looked_at += 1;
            self.hand = (self.hand + 1) % self.keys.len();
            let (name, state) = &self.keys[self.hand];
            let slot = Slot(self.hand as u32);
            let idle = state.is_idle(end) && !self.deletes_matter(slot);
            if idle && self.slots.get(name) == Some(&slot) {
                self.left.add(*name);
                self.slots.remove(name);
                self.key_bytes = self.key_bytes.saturating_sub(A_KEY + state.heap_bytes());
                self.keys[self.hand].1 = KeyState::new(Word(0));
                self.free.push(slot);
            }
        }
    }
}
