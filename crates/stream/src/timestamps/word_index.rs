//! Who wrote a word to a key: found without looking at all writes, of which there may be very many.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;

use super::key_records::{Other, Version};
use crate::bodies::{BEFORE_ALL, TxnRef};
use crate::content::Word;

/// A write of a word, in the order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Writer {
    pub(crate) txn: TxnRef,
    pub(crate) fate: WriterFate,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum WriterFate {
    /// It is a version, committed then.
    Version(Timestamp),
    /// It was overwritten by its own transaction.
    Overwritten,
    /// It was rolled back.
    Undone,
    /// The outcome of its transaction is unknown.
    Unknown,
}

impl From<&Version> for Writer {
    fn from(version: &Version) -> Writer {
        Writer { txn: version.txn, fate: WriterFate::Version(version.commit) }
    }
}

impl From<&Other> for Writer {
    fn from(other: &Other) -> Writer {
        let fate = match (other.unknown, other.undone) {
            (true, _) => WriterFate::Unknown,
            (false, true) => WriterFate::Undone,
            (false, false) => WriterFate::Overwritten,
        };
        Writer { txn: other.txn, fate }
    }
}

/// The writers of all words that were written to a key.
#[derive(Default, Debug)]
pub(crate) struct WordIndex {
    versions: HashMap<Word, Commits>,
    /// Those that left no version.
    others: BTreeSet<(Word, Writer)>,
    /// Of these, those of unknown outcome once more.
    unknown: BTreeSet<(Word, Writer)>,
}

/// The versions of a word, by commit. Most words are written once.
#[derive(Debug)]
enum Commits {
    One((Timestamp, TxnRef)),
    Several(Vec<(Timestamp, TxnRef)>),
}

impl Commits {
    fn all(&self) -> &[(Timestamp, TxnRef)] {
        match self {
            Commits::One(one) => std::slice::from_ref(one),
            Commits::Several(several) => several,
        }
    }

    fn add(&mut self, commit: (Timestamp, TxnRef)) {
        let Err(at) = self.all().binary_search(&commit) else { return };
        match self {
            Commits::One(one) => {
                let mut both = vec![*one];
                both.insert(at, commit);
                *self = Commits::Several(both);
            }
            Commits::Several(several) => several.insert(at, commit),
        }
    }
}

impl WordIndex {
    pub(crate) fn new(versions: &[Version], others: &[Other]) -> WordIndex {
        let mut index = WordIndex::default();
        index.versions.reserve(versions.len());
        versions.iter().for_each(|version| index.add_version(version));
        others.iter().for_each(|other| index.add_other(other));
        index
    }

    pub(crate) fn add_version(&mut self, version: &Version) {
        let commit = (version.commit, version.txn);
        match self.versions.entry(version.word) {
            Entry::Occupied(mut commits) => commits.get_mut().add(commit),
            Entry::Vacant(none) => _ = none.insert(Commits::One(commit)),
        }
    }

    pub(crate) fn add_other(&mut self, other: &Other) {
        let entry = (other.word, Writer::from(other));
        self.others.insert(entry);
        if other.unknown {
            self.unknown.insert(entry);
        }
    }

    /// The writers of versions of a word that a place sees, the newest first.
    pub(crate) fn seen(
        &self,
        word: Word,
        place: Place<Timestamp>,
    ) -> impl Iterator<Item = (Timestamp, TxnRef)> {
        let commits = self.commits(word);
        let seen = commits.partition_point(|(commit, _)| place.sees(*commit));
        commits[..seen].iter().rev().copied()
    }

    /// The writers of versions of a word that a place does not see, the first to commit first.
    pub(crate) fn unseen(
        &self,
        word: Word,
        place: Place<Timestamp>,
    ) -> impl Iterator<Item = TxnRef> {
        let commits = self.commits(word);
        let seen = commits.partition_point(|(commit, _)| place.sees(*commit));
        commits[seen..].iter().map(|(_, txn)| *txn)
    }

    fn commits(&self, word: Word) -> &[(Timestamp, TxnRef)] {
        self.versions.get(&word).map(Commits::all).unwrap_or_default()
    }

    /// Whether a word was written at all.
    pub(crate) fn has(&self, word: Word) -> bool {
        self.versions.contains_key(&word) || self.others(word).next().is_some()
    }

    /// The writers of a word that left no version, in the order of arrival.
    pub(crate) fn others(&self, word: Word) -> impl Iterator<Item = Writer> {
        self.others.range(others_of(word)).map(|(_, writer)| *writer)
    }

    /// Those of unknown outcome.
    pub(crate) fn unknown(&self, word: Word) -> impl Iterator<Item = Writer> {
        self.unknown.range(others_of(word)).map(|(_, writer)| *writer)
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        let others = (self.others.len() + self.unknown.len()) * size_of::<(Word, Writer)>();
        self.versions.capacity() * (size_of::<(Word, Commits)>() + 1) + others * 3 / 2
    }
}

fn others_of(word: Word) -> RangeInclusive<(Word, Writer)> {
    let first = Writer { txn: TxnRef(0), fate: WriterFate::Version(BEFORE_ALL) };
    let last = Writer { txn: TxnRef(u64::MAX), fate: WriterFate::Unknown };
    (word, first)..=(word, last)
}
