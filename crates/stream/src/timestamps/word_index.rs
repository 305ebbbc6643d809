//! Who wrote a word to a key: found without looking at all writes, of which there may be very many.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;

use super::key_records::{Other, Version};
use crate::bodies::{AFTER_ALL, BEFORE_ALL, TxnRef};
use crate::content::Word;

/// A write of a word, in the order of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Writer {
    pub(crate) txn: TxnRef,
    pub(crate) fate: Fate,
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Fate {
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
        Writer { txn: version.txn, fate: Fate::Version(version.commit) }
    }
}

impl From<&Other> for Writer {
    fn from(other: &Other) -> Writer {
        let fate = match (other.unknown, other.undone) {
            (true, _) => Fate::Unknown,
            (false, true) => Fate::Undone,
            (false, false) => Fate::Overwritten,
        };
        Writer { txn: other.txn, fate }
    }
}

/// The writers of all words that were written to a key.
#[derive(Default, Debug)]
pub(crate) struct WordIndex {
    /// By commit.
    versions: BTreeSet<(Word, Timestamp, TxnRef)>,
    /// Those that left no version.
    others: BTreeSet<(Word, Writer)>,
    /// Of these, those of unknown outcome once more.
    unknown: BTreeSet<(Word, Writer)>,
}

impl WordIndex {
    pub(crate) fn new(versions: &[Version], others: &[Other]) -> WordIndex {
        let mut index = WordIndex {
            versions: versions.iter().map(|v| (v.word, v.commit, v.txn)).collect(),
            ..WordIndex::default()
        };
        others.iter().for_each(|other| index.add_other(other));
        index
    }

    pub(crate) fn add_version(&mut self, version: &Version) {
        self.versions.insert((version.word, version.commit, version.txn));
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
        let until = self.versions.range(versions_of(word, BEFORE_ALL, place.at));
        let seen = until.rev().filter(move |(_, commit, _)| place.sees(*commit));
        seen.map(|(_, commit, txn)| (*commit, *txn))
    }

    /// The writers of versions of a word that a place does not see, the first to commit first.
    pub(crate) fn unseen(
        &self,
        word: Word,
        place: Place<Timestamp>,
    ) -> impl Iterator<Item = TxnRef> {
        let from = self.versions.range(versions_of(word, place.at, AFTER_ALL));
        from.filter(move |(_, commit, _)| !place.sees(*commit)).map(|(_, _, txn)| *txn)
    }

    /// Whether a word was written at all.
    pub(crate) fn has(&self, word: Word) -> bool {
        let mut versions = self.versions.range(versions_of(word, BEFORE_ALL, AFTER_ALL));
        versions.next().is_some() || self.others(word).next().is_some()
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
        (self.versions.len() * size_of::<(Word, Timestamp, TxnRef)>() + others) * 3 / 2
    }
}

fn versions_of(
    word: Word,
    from: Timestamp,
    to: Timestamp,
) -> RangeInclusive<(Word, Timestamp, TxnRef)> {
    (word, from, TxnRef(0))..=(word, to, TxnRef(u64::MAX))
}

fn others_of(word: Word) -> RangeInclusive<(Word, Writer)> {
    let first = Writer { txn: TxnRef(0), fate: Fate::Version(BEFORE_ALL) };
    let last = Writer { txn: TxnRef(u64::MAX), fate: Fate::Unknown };
    (word, first)..=(word, last)
}
