//! What has left memory is made again from the batches on disk.
//!
//! Of a key that something must be known of from some time on, the batches are read that have to do with it, the latest
//! first, until a version before that time is known, and all batches that are left are earlier than that version. What they
//! hold can matter to nothing that stands after it.

use isolde_history::Timestamp;

use super::key_records::Version;
use super::key_state::KeyState;
use super::records::{Records, read_again};
use super::{Slot, Timestamps};
use crate::bodies::{AFTER_ALL, BEFORE_ALL, Bodies};
use crate::content::{ListHash, NameId, What, Word};

/// A key without anything is as large as this, with its places in tables.
const A_KEY: usize = size_of::<(NameId, KeyState)>() + 2 * size_of::<(NameId, Slot)>();

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
        let (name, state) = &self.keys[slot.0 as usize];
        let (name, is_list) = (*name, state.is_list);
        if state.floor.is_none_or(|floor| from > floor) {
            return true;
        }
        // The elements of a list that is not here are known from its beginning only.
        let whole = is_list != Some(false) && state.versions.is_empty();
        let from = if whole { BEFORE_ALL } else { from };
        // A writer whose timestamps are wrong does not see its own version, but the one before.
        let counts = |version: &&Version| version.commit < from && version.start < version.commit;
        let mut earlier = state.versions.iter().rev().find(counts).map(|version| version.commit);
        let mut batches = bodies.about(name, What::Key);
        batches.retain(|batch| *batch < self.trimmed);
        let mut records = Records::default();
        let mut floor = bodies.forgotten();
        let mut base_missing = floor.is_some();
        let mut lists = [false; 2];
        while let Some(batch) = batches.pop() {
            let Some(bound) = bodies.latest_up_to(batch) else { break };
            if earlier.is_some_and(|earlier| earlier > bound) {
                (floor, base_missing) = (earlier, false);
                break;
            }
            let Some(history) = bodies.get(batch) else { break };
            let known = records.versions.len();
            if let Some(list) = read_again(&history, batch, (name, self.ordering), &mut records) {
                lists[usize::from(list)] = true;
            }
            let found = records.versions[known..].iter().map(|(version, _)| version);
            earlier = earlier.max(found.filter(counts).map(|version| version.commit).max());
            if records.bytes() > self.most_reloaded {
                return false;
            }
        }
        // What stands at the floor or below it cannot be judged.
        records.readers.retain(|reader| floor.is_none_or(|floor| reader.at > floor));
        self.keys[slot.0 as usize].1.base_missing = base_missing;
        self.enter_again(slot, &records, floor, bodies);
        let mixed = lists == [true; 2] || is_list.is_some_and(|list| lists[usize::from(!list)]);
        if mixed || (whole && floor.is_some() && lists[1]) {
            self.doubt_key(slot);
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
        self.flipped.retain(|txn| txn.batch() >= end);
        self.trim_sessions(end, most / 8);
        (self.key_bytes, self.needed_bytes) = (0, 0);
        for (_, state) in &mut self.keys {
            state.trim(end, from);
            self.key_bytes += A_KEY + state.heap_bytes();
            self.needed_bytes += A_KEY + state.needed_bytes();
        }
        let mut looked_at = 0;
        while self.key_bytes > most && looked_at < self.keys.len() {
            looked_at += 1;
            self.hand = (self.hand + 1) % self.keys.len();
            let (name, state) = &self.keys[self.hand];
            let slot = Slot(self.hand as u32);
            if state.is_idle(end) && self.slots.get(name) == Some(&slot) {
                self.left.add(*name);
                self.slots.remove(name);
                self.key_bytes = self.key_bytes.saturating_sub(A_KEY + state.heap_bytes());
                self.keys[self.hand].1 = KeyState::new(Word(0));
                self.free.push(slot);
            }
        }
    }
}
