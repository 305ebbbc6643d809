//! What the search for an order remembers: where it was without success.
//!
//! A place is the set of calls that were done, what the object holds, and which of the calls that may
//! be left out were used. A place leads nowhere if one with the same calls and the same state did that
//! had used fewer of those: whatever can follow here could have followed there.

use std::hash::{BuildHasher, Hash, RandomState};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// A set of calls as a number: the sum (without carries) of one random number for each. Two sets have
/// the same one with a chance of 2^-128, whatever the input, since the seed is not known beforehand.
pub(crate) type Print = u128;

/// The numbers of calls.
pub(crate) struct Prints(RandomState);

impl Prints {
    pub(crate) fn new() -> Prints {
        Prints(RandomState::new())
    }

    pub(crate) fn of(&self, call: u32) -> Print {
        let half = |side: u8| u128::from(self.0.hash_one((call, side)));
        half(0) << 64 | half(1)
    }
}

/// A set of calls that may be left out, by number.
pub(crate) type SetId = u32;

/// The sets of calls that may be left out: each is kept once.
pub(crate) struct Sets {
    words: usize,
    all: Vec<Box<[u64]>>,
    ids: HashMap<Box<[u64]>, SetId>,
}

impl Sets {
    /// The sets of so many calls; number 0 is the empty one.
    pub(crate) fn new(calls: usize) -> Sets {
        let words = calls.div_ceil(64);
        let empty: Box<[u64]> = vec![0; words].into();
        Sets { words, all: vec![empty.clone()], ids: HashMap::from_iter([(empty, 0)]) }
    }

    pub(crate) fn contains(&self, set: SetId, call: usize) -> bool {
        self.all[set as usize][call / 64] & (1 << (call % 64)) != 0
    }

    pub(crate) fn with(&mut self, set: SetId, call: usize) -> SetId {
        let mut words = self.all[set as usize].clone();
        words[call / 64] |= 1 << (call % 64);
        let next = self.all.len() as SetId;
        match self.ids.entry(words) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.all.push(new.key().clone());
                *new.insert(next)
            }
        }
    }

    fn within(&self, one: SetId, other: SetId) -> bool {
        let (one, other) = (&self.all[one as usize], &self.all[other as usize]);
        one.iter().zip(other).all(|(a, b)| a & !b == 0)
    }

    fn bytes(&self) -> usize {
        self.all.len() * (2 * 8 * self.words + 64)
    }
}

/// Places that led nowhere, or are on the way.
pub(crate) struct Memo<S> {
    /// The first of the sets that were used at a place.
    places: HashMap<(Print, S), u32>,
    /// Each with the next one.
    used: Vec<(SetId, u32)>,
}

const LAST: u32 = u32::MAX;

impl<S: Clone + Eq + Hash> Memo<S> {
    pub(crate) fn new() -> Memo<S> {
        Memo { places: HashMap::new(), used: Vec::new() }
    }

    /// Notes a place; false if it is no better than one that was noted before. Counts how many it was
    /// compared with.
    pub(crate) fn is_new(
        &mut self,
        print: Print,
        state: &S,
        set: SetId,
        sets: &Sets,
        compared: &mut u64,
    ) -> bool {
        let next = self.used.len() as u32;
        match self.places.entry((print, state.clone())) {
            Entry::Vacant(place) => {
                place.insert(next);
                self.used.push((set, LAST));
            }
            Entry::Occupied(mut place) => {
                let mut at = *place.get();
                while let Some(&(known, after)) = self.used.get(at as usize) {
                    *compared += 1;
                    if sets.within(known, set) {
                        return false;
                    }
                    at = after;
                }
                let first = place.insert(next);
                self.used.push((set, first));
            }
        }
        true
    }

    /// About how much memory is used, or will be when so many places more are noted: a table that
    /// grows is there twice for a moment, and twice as large after.
    pub(crate) fn bytes(&self, sets: &Sets, more: usize) -> usize {
        // A table has a byte of its own for each slot.
        let slot = size_of::<((Print, S), u32)>() + 1;
        let grows = self.places.len() + more > self.places.capacity();
        let tables = if grows { 3 } else { 1 };
        tables * self.places.capacity() * slot + self.used.capacity() * 8 + sets.bytes()
    }
}
