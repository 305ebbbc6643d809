//! Who wrote a word to a register, of what is in memory of it.
//!
//! A value that was read wrongly was mostly overwritten not long before, so that looking back over the marks of versions
//! ([`Marks`](super::marks::Marks)) finds its writer in a few steps. Where that was not so too often, there is an index
//! ([`WordIndex`]): all steps together are no more than a few for each write in memory.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;

use super::key_state::KeyState;
use super::word_index::{WordIndex, Writer};
use crate::bodies::TxnRef;
use crate::content::Word;

/// So many writes are looked through for each one that is in memory, before there is an index.
const STEPS: usize = 4;
/// So many marks are compared in the time that it takes to look at one write.
const MARKS: usize = 32;
/// So few are looked through however often.
const FEW: usize = 64;

impl KeyState {
    /// The newest version of a word that a place sees, of those whose writers count: when it was committed, and by which
    /// transaction. Up to the floor only batches from a number on are asked, since all others are on disk.
    pub(super) fn newest_writer(
        &mut self,
        word: Word,
        place: Place<Timestamp>,
        since: u32,
        counts: &impl Fn(TxnRef) -> bool,
    ) -> Option<(Timestamp, TxnRef)> {
        self.index_words();
        let floor = self.floor;
        let is_wanted = |commit: Timestamp, txn: TxnRef| {
            (floor.is_none_or(|floor| commit > floor) || txn.batch() >= since) && counts(txn)
        };
        if let Some(index) = &self.words {
            return index.seen(word, place).find(|(commit, txn)| is_wanted(*commit, *txn));
        }
        let count = self.count(place);
        let versions = &self.versions;
        let is_it = |at: &usize| {
            let version = &versions[*at];
            version.word == word && is_wanted(version.commit, version.txn)
        };
        let near = count.saturating_sub(FEW);
        let mut found = (near..count).rev().find(is_it);
        if found.is_none() && near > 0 {
            let marked = self.marks.extend(&versions[..near]);
            let (far, compared) = self.marks.last(word, near, |at| is_it(&at));
            self.steps += marked + compared / MARKS;
            found = far;
        }
        found.map(|at| (self.versions[at].commit, self.versions[at].txn))
    }

    /// The writers of the first two versions of a word that a place does not see, of those that count. All that commit after
    /// the place have to be here.
    pub(super) fn next_writers(
        &mut self,
        word: Word,
        place: Place<Timestamp>,
        counts: &impl Fn(TxnRef) -> bool,
    ) -> Vec<TxnRef> {
        self.index_words();
        if let Some(index) = &self.words {
            return index.unseen(word, place).filter(|txn| counts(*txn)).take(2).collect();
        }
        let unseen = &self.versions[self.count(place)..];
        self.steps += unseen.len();
        let of_word = unseen.iter().filter(|v| v.word == word && counts(v.txn));
        of_word.map(|version| version.txn).take(2).collect()
    }

    /// The writers of a word that left no version, in batches from a number on, in the order of arrival.
    pub(super) fn other_writers(&mut self, word: Word, since: u32) -> Vec<Writer> {
        self.index_words();
        let is_wanted = |writer: &Writer| writer.txn.batch() >= since;
        if let Some(index) = &self.words {
            return index.others(word).filter(is_wanted).collect();
        }
        self.steps += self.others.len();
        let of_word = self.others.iter().filter(|other| other.word == word).map(Writer::from);
        let mut found: Vec<Writer> = of_word.filter(is_wanted).collect();
        found.sort_unstable();
        found
    }

    /// Whether a transaction of unknown outcome that is here, other than this one, wrote a word.
    pub(super) fn may_be_written(&mut self, word: Word, but: Option<TxnRef>) -> bool {
        if self.unknown == 0 {
            return false;
        }
        self.index_words();
        if let Some(index) = &self.words {
            return index.unknown(word).any(|writer| Some(writer.txn) != but);
        }
        self.steps += self.others.len();
        self.others.iter().any(|o| o.unknown && o.word == word && Some(o.txn) != but)
    }

    /// Whether a word was written by any transaction that is here.
    pub(super) fn is_written(&mut self, word: Word) -> bool {
        self.index_words();
        if let Some(index) = &self.words {
            return index.has(word);
        }
        self.steps += self.versions.len() + self.others.len();
        let mut versions = self.versions.iter();
        versions.any(|v| v.word == word) || self.others.iter().any(|other| other.word == word)
    }

    fn index_words(&mut self) {
        let writes = self.versions.len() + self.others.len();
        if self.words.is_none() && writes > FEW && self.steps > STEPS * writes {
            self.words = Some(Box::new(WordIndex::new(&self.versions, &self.others)));
        }
    }
}
