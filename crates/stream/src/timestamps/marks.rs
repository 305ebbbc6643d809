//! A few bits of each version's word, side by side: a word is looked for among them, and not among the versions, which
//! take ten times as much room and are in no cache.

use super::key_records::Version;
use crate::content::Word;

/// So many are compared at a time, without asking in between.
const LANES: usize = 32;

/// The marks of the first versions of a key, as far as anybody has asked for them.
#[derive(Default, Debug)]
pub(super) struct Marks(Vec<u32>);

impl Marks {
    /// From a version on they are not valid any more.
    pub(super) fn forget_from(&mut self, version: usize) {
        self.0.truncate(version);
    }

    /// Gives back the memory.
    pub(super) fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// Makes those of the first so many versions that are missing, and says how many these were.
    pub(super) fn extend(&mut self, versions: &[Version]) -> usize {
        let missing = versions.get(self.0.len()..).unwrap_or_default();
        self.0.extend(missing.iter().map(|version| mark(version.word)));
        missing.len()
    }

    /// The last of the first so many versions that is what is looked for, of those that may be of a word; and how many marks
    /// were compared until it was found.
    pub(super) fn last(
        &self,
        word: Word,
        count: usize,
        is_it: impl Fn(usize) -> bool,
    ) -> (Option<usize>, usize) {
        let (mark, marks) = (mark(word), &self.0[..count.min(self.0.len())]);
        let mut begin = marks.len();
        for chunk in marks.rchunks(LANES) {
            begin -= chunk.len();
            if !chunk.iter().fold(false, |is_in, m| is_in | (*m == mark)) {
                continue;
            }
            let same = (0..chunk.len()).rev().filter(|at| chunk[*at] == mark);
            if let Some(found) = same.map(|at| begin + at).find(|at| is_it(*at)) {
                return (Some(found), marks.len() - begin);
            }
        }
        (None, marks.len())
    }

    /// The bytes that they take beside themselves.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

/// Words of small numbers differ in their low bits, others in all.
fn mark(word: Word) -> u32 {
    (word.0 ^ (word.0 >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use isolde_history::{Timestamp, TxnId};

    use super::*;
    use crate::bodies::TxnRef;

    fn versions(words: impl Iterator<Item = u64>) -> Vec<Version> {
        let at = Timestamp::plain(0);
        let txn = TxnRef::new(0, TxnId(0));
        words.map(|word| Version { commit: at, start: at, word: Word(word), txn }).collect()
    }

    #[test]
    fn finds_what_looking_at_all_would_find() {
        let all = versions((0..200).map(|word| word * 7 % 11));
        let mut marks = Marks::default();
        assert_eq!(marks.extend(&all[..70]), 70);
        marks.forget_from(50);
        assert_eq!(marks.extend(&all), 150);
        for (count, word) in [(200, 3), (199, 0), (33, 10), (0, 1), (1, 0), (200, 11)] {
            for before in [200, 150, 3] {
                let is_it = |at: usize| all[at].word == Word(word) && at < before;
                let (found, compared) = marks.last(Word(word), count, is_it);
                assert_eq!(found, (0..count).rev().find(|at| is_it(*at)), "{word} of {count}");
                assert!(compared <= count);
            }
        }
    }
}
