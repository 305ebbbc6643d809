//! Whether every word of a key was written once, which matters from the time on when something is missing in the stream:
//! then what is missing may have written any word that others wrote, too.
//!
//! It is asked of keys with wrong reads only: all batches are looked at once then, for all keys that are asked about. From
//! then on it is kept up with each write of the key.

use hashbrown::{HashMap, HashSet};
use isolde_check::timestamps::facts::BatchFacts;
use isolde_history::{History, Key, OpKind, Value};

use super::arrivals::Arrival;
use super::excerpt::{Judged, MISSING};
use super::key_state::KeyState;
use super::once::Uniqueness;
use super::records::{Kept, Records, Standing, key_named, read_again};
use super::{Pending, Slot, Timestamps, pending};
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, What, Word, name_id};

/// What a read of nothing saw.
const ABSENT: Word = Word(Value::ABSENT.to_bits());

/// Words of keys, of which only as many are held at once as may be: those of one part after another.
struct Gathered {
    words: Vec<(Slot, Word)>,
    part: u64,
    parts: u64,
}

impl Gathered {
    /// Adds the words of this part.
    fn add(&mut self, slot: Slot, words: impl Iterator<Item = Word>) {
        let (part, parts) = (self.part, self.parts);
        let spread = |word: &Word| (word.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % parts;
        let of_part = words.filter(|word| spread(word) == part);
        self.words.extend(of_part.map(|word| (slot, word)));
    }
}

impl Gathered {
    /// Of more words than may be held, leaves those of keys of which nothing was written twice so far.
    fn drop_twice(&mut self, most: usize, twice: &mut HashSet<Slot>) {
        if self.words.len() <= most {
            return;
        }
        self.words.sort_unstable();
        let pairs = self.words.windows(2).filter(|pair| pair[0] == pair[1]);
        twice.extend(pairs.map(|pair| pair[0].0));
        self.words.retain(|(slot, _)| !twice.contains(slot));
    }
}

impl Timestamps {
    /// Whether every word of a key was written once. `None` if that cannot be known any more.
    pub(super) fn are_unique(&mut self, slot: Slot, bodies: &mut Bodies) -> Option<bool> {
        if !self.keys[slot.0 as usize].1.once.is_asked() {
            self.look_for_twice(&[slot], bodies)?;
        }
        Some(!self.keys[slot.0 as usize].1.once.is_refuted())
    }

    /// A delete leaves nothing that could be unique: if something is missing, it is unknown which one a read of nothing saw.
    pub(super) fn without_absent(&self, of: Pending, mut judged: Judged) -> Judged {
        if self.about.complete || !self.deletes {
            return judged;
        }
        let readers = &self.keys[of.slot.0 as usize].1.readers[self.readers_of(of)];
        let is_of_nothing = |op: Option<u32>| {
            let reader = readers.iter().find(|reader| Some(reader.op) == op);
            reader.is_some_and(|reader| reader.word == ABSENT)
        };
        let before = judged.findings.len();
        judged.findings.retain(|(op, _)| !is_of_nothing(*op));
        if judged.findings.len() < before {
            judged.doubt.get_or_insert_with(|| MISSING.to_owned());
        }
        judged
    }

    /// Looks whether every word of some keys was written once.
    pub(super) fn look_for_twice(&mut self, slots: &[Slot], bodies: &mut Bodies) -> Option<()> {
        if bodies.forgotten().is_some() {
            return None;
        }
        let slots: HashMap<NameId, Slot> =
            slots.iter().map(|slot| (self.keys[slot.0 as usize].0, *slot)).collect();
        let mut batches: Vec<u32> =
            slots.keys().flat_map(|name| bodies.about(*name, What::Key)).collect();
        batches.retain(|batch| *batch < self.trimmed);
        batches.sort_unstable();
        batches.dedup();
        let mut parts = 1;
        let twice = loop {
            match self.twice_in_parts(&slots, &batches, parts, bodies)? {
                Some(twice) => break twice,
                None => parts *= 4,
            }
        };
        for slot in slots.into_values() {
            let once = match twice.contains(&slot) {
                true => Uniqueness::Twice,
                false => self.unique(slot, &batches, bodies)?,
            };
            self.keys[slot.0 as usize].1.once = once;
        }
        Some(())
    }

    /// The keys of which a word was written twice, looking at so many parts of all words one after another. Nothing if
    /// one part is too much.
    fn twice_in_parts(
        &self,
        slots: &HashMap<NameId, Slot>,
        batches: &[u32],
        parts: u64,
        bodies: &mut Bodies,
    ) -> Option<Option<HashSet<Slot>>> {
        let most = self.most_reloaded / (4 * size_of::<(Slot, Word)>());
        let mut twice = HashSet::new();
        for part in 0..parts {
            let mut gathered = Gathered { words: Vec::new(), part, parts };
            for batch in batches {
                self.gather(*batch, slots, &mut gathered, bodies)?;
                // One word is in one part, however often it was written: then it is written twice.
                gathered.drop_twice(most, &mut twice);
                if gathered.words.len() > most {
                    return Some(None);
                }
            }
            for slot in slots.values() {
                self.gather_here(*slot, &mut gathered, bodies)?;
            }
            gathered.words.sort_unstable();
            let pairs = gathered.words.windows(2).filter(|pair| pair[0] == pair[1]);
            twice.extend(pairs.map(|pair| pair[0].0));
        }
        Some(Some(twice))
    }

    /// What is kept of a key whose words were all written once.
    fn unique(&mut self, slot: Slot, batches: &[u32], bodies: &mut Bodies) -> Option<Uniqueness> {
        let (name, state) = &self.keys[slot.0 as usize];
        if state.is_list != Some(true) {
            return Some(Uniqueness::Once);
        }
        let slots = HashMap::from_iter([(*name, slot)]);
        let mut all = Gathered { words: Vec::new(), part: 0, parts: 1 };
        for batch in batches {
            self.gather(*batch, &slots, &mut all, bodies)?;
        }
        self.gather_here(slot, &mut all, bodies)?;
        Some(Uniqueness::Elements(all.words.into_iter().map(|(_, word)| word).collect()))
    }

    /// The words that a batch on disk wrote to some keys.
    fn gather(
        &self,
        number: u32,
        slots: &HashMap<NameId, Slot>,
        to: &mut Gathered,
        bodies: &mut Bodies,
    ) -> Option<()> {
        let batch = bodies.get(number)?;
        let named = |key: &Key| slots.get(&name_id(batch.pool(), batch.pool().key_name(*key)));
        let keys: Vec<Key> = match slots.iter().next() {
            Some((name, _)) if slots.len() == 1 => key_named(&batch, *name).into_iter().collect(),
            _ => {
                (0..batch.key_count() as u32).map(Key).filter(|key| named(key).is_some()).collect()
            }
        };
        let mut facts = match keys[..] {
            [] => return Some(()),
            [key] => BatchFacts::of_one(&batch, key),
            _ => BatchFacts::new(&batch),
        };
        let standing = Standing::new(&batch, Kept::Batch(number), self.ordering);
        let mut records = Records::default();
        for (key, slot) in keys.iter().filter_map(|key| Some((key, named(key)?))) {
            records.clear();
            records.add(&facts.of(*key), &standing);
            to.add(*slot, records.words());
        }
        Some(())
    }

    /// The words of a key that were written in batches that have not left memory.
    fn gather_here(&self, slot: Slot, to: &mut Gathered, bodies: &mut Bodies) -> Option<()> {
        let (name, state) = &self.keys[slot.0 as usize];
        let is_here = |txn: TxnRef| txn.batch() >= self.trimmed;
        let others = state.others.iter().filter(|other| is_here(other.txn));
        to.add(slot, others.map(|other| other.word));
        let versions = state.versions.iter().filter(|version| is_here(version.txn));
        if state.is_list != Some(true) {
            to.add(slot, versions.map(|version| version.word));
            return Some(());
        }
        let entered: HashSet<TxnRef> = versions.map(|version| version.txn).collect();
        let mut batches: Vec<u32> = entered.iter().map(|txn| txn.batch()).collect();
        batches.sort_unstable();
        batches.dedup();
        for number in batches {
            let batch = bodies.body(number)?;
            let mut records = Records::default();
            read_again(&batch, number, (*name, self.ordering), &mut records);
            for (at, (version, _)) in records.versions.iter().enumerate() {
                if entered.contains(&version.txn) {
                    to.add(slot, records.elements(at).iter().copied());
                }
            }
        }
        Some(())
    }

    /// A batch is going to be entered that writes a key: says whether it is the first that writes a word once more.
    pub(super) fn writes_again(
        &mut self,
        slot: Slot,
        records: &Records,
        bodies: &mut Bodies,
    ) -> bool {
        if self.about.complete {
            return false;
        }
        let state = &self.keys[slot.0 as usize].1;
        if !state.once.is_asked() && state.wrong > 0 && self.are_unique(slot, bodies).is_none() {
            self.keys[slot.0 as usize].1.once = Uniqueness::Twice;
            return true;
        }
        let once = &self.keys[slot.0 as usize].1.once;
        if !once.is_asked() || once.is_refuted() {
            return false;
        }
        let mut words: Vec<Word> = records.words().collect();
        words.sort_unstable();
        let twice = words.windows(2).any(|pair| pair[0] == pair[1])
            || words.iter().any(|word| self.was_written(slot, *word, bodies));
        let state = &mut self.keys[slot.0 as usize].1;
        match (twice, &mut state.once) {
            (true, once) => *once = Uniqueness::Twice,
            (false, Uniqueness::Elements(elements)) => elements.extend(words),
            (false, _) => {}
        }
        twice
    }

    /// Whether a word was written to a key before; also if that cannot be known any more.
    fn was_written(&mut self, slot: Slot, word: Word, bodies: &mut Bodies) -> bool {
        let (name, state) = &mut self.keys[slot.0 as usize];
        if let Uniqueness::Elements(elements) = &state.once {
            return elements.contains(&word);
        }
        if state.is_written(word) {
            return true;
        }
        let name = *name;
        state.floor.is_some() && self.is_written_on_disk(name, word, bodies).unwrap_or(true)
    }

    /// A batch has been entered. If it was the first to write a word twice, what was told of reads of the key is unknown.
    pub(super) fn keep_up_uniqueness(
        &mut self,
        slot: Slot,
        (was_asked, is_first): (bool, bool),
        records: &Records,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let once = &mut self.keys[slot.0 as usize].1.once;
        let mut twice = is_first;
        if !was_asked && once.is_asked() && !once.is_refuted() {
            // It was asked while the batch was on its way in.
            *once = Uniqueness::Unasked;
            twice = self.are_unique(slot, bodies) != Some(true);
        }
        let versions = records.versions.iter().map(|(version, _)| version.txn);
        let last = versions.chain(records.others.iter().map(|other| other.txn)).max();
        if let Some(last) = last.filter(|_| twice) {
            for of in self.told_of(slot, |_| true) {
                self.review(of, last, arrival, bodies);
            }
        }
    }

    /// The first delete in a stream in which something is missing: nobody knows which one a read of nothing saw.
    pub(super) fn look_for_deletes(
        &mut self,
        batch: &History,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        if self.deletes || !batch.has_ops(OpKind::Delete) {
            return;
        }
        self.deletes = true;
        let mut ops = batch.ops().filter(|op| op.kind() == OpKind::Delete);
        let Some(op) = ops.next().filter(|_| !self.about.complete) else { return };
        let txn = arrival.standing.txn(batch.txn_of(op.id()));
        for slot in self.slots_by_name() {
            for of in self.told_of(slot, |word| word == ABSENT) {
                self.review(of, txn, arrival, bodies);
            }
        }
    }

    /// Where all keys are, in an order that does not depend on what has been in memory before.
    pub(super) fn slots_by_name(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.slots.values().copied().collect();
        slots.sort_unstable_by_key(|slot| self.keys[slot.0 as usize].0);
        slots
    }

    /// The readers of a key of which something was told, of some words.
    pub(super) fn told_of(&self, slot: Slot, wanted: impl Fn(Word) -> bool) -> Vec<Pending> {
        let (name, state): &(NameId, KeyState) = &self.keys[slot.0 as usize];
        let told = state.readers.iter().filter(|r| r.told.is_some() && wanted(r.word));
        let mut told: Vec<Pending> = told.map(|r| pending((*name, slot), r, None)).collect();
        told.dedup();
        told
    }
}
