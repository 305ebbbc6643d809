//! Numbers that are used once in a case.
//!
//! A literal key is below [`LITERALS`]. The copies that the `j`th copying statement makes have the key of what they copy plus
//! `LITERALS * 2^j`. So a key is a literal and a set of statements; the statement `j` runs once, no key that it meets has `j`
//! in its set, and what it makes has: no key is used twice, in whatever order statements run. Unique values are likewise
//! a key and the number of the one statement that sets them.

/// The primary keys, unique values and versions that were given out.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    key: i64,
    copying: u32,
    unique: i64,
    setting: i64,
    version: i64,
}

/// Literal keys are below it.
pub(super) const LITERALS: i64 = 100_000;
/// So many statements of a case copy rows at most.
const COPYING: u32 = 12;
/// All keys are below it.
const KEYS: i64 = 1_000_000_000;
const _: () = assert!(LITERALS << COPYING < KEYS);

impl Counters {
    pub(super) fn new() -> Counters {
        Counters { key: 0, copying: 0, unique: 0, setting: 0, version: 0 }
    }

    /// A primary key; nothing if there are no more.
    pub(super) fn key(&mut self) -> Option<i64> {
        self.key += 1;
        (self.key < LITERALS).then_some(self.key)
    }

    /// What a statement adds to the primary keys of rows to make new ones; nothing if too many do.
    pub(super) fn keys_of_copies(&mut self) -> Option<i64> {
        self.copying += 1;
        (self.copying <= COPYING).then(|| LITERALS << (self.copying - 1))
    }

    /// A value of a unique column. (No generator writes so many that one reaches those below.)
    pub(super) fn unique(&mut self) -> i64 {
        self.unique += 1;
        self.unique
    }

    /// What a statement adds to the primary keys of rows to make values of a unique column.
    pub(super) fn uniques(&mut self) -> i64 {
        self.setting += 1;
        self.setting * KEYS
    }

    /// A version.
    pub(super) fn version(&mut self) -> i64 {
        self.version += 1;
        self.version
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Every statement copies all rows that there are, in an order that is not that in which it was made.
    #[test]
    fn copies_of_copies_have_keys_of_their_own() {
        let mut counters = Counters::new();
        let mut keys: HashSet<i64> = (0..7).filter_map(|_| counters.key()).collect();
        let mut bases: Vec<i64> = (0..5).filter_map(|_| counters.keys_of_copies()).collect();
        let late: Vec<i64> = (0..7).filter_map(|_| counters.key()).collect();
        bases.swap(0, 3);
        bases.rotate_left(1);
        let mut uniques = HashSet::new();
        for (at, base) in bases.into_iter().enumerate() {
            assert!(keys.insert(late[at]));
            for key in keys.clone() {
                assert!(keys.insert(base + key));
            }
            let base = counters.uniques();
            assert!(keys.iter().all(|key| *key < KEYS && uniques.insert(base + key)));
        }
        assert_eq!((0..20).filter_map(|_| counters.keys_of_copies()).count(), 7);
    }
}
