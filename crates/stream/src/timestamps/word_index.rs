//! Who wrote a word to a key: found without looking at all writes, of which there may be very many.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use isolde_history::{Timestamp, TxnId};

use super::key_records::{Other, Version};
use crate::bodies::{BEFORE_ALL, TxnRef};
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
    all: BTreeSet<(Word, Writer)>,
    /// Those of unknown outcome once more.
    unknown: BTreeSet<(Word, Writer)>,
}

impl WordIndex {
    pub(crate) fn new(versions: &[Version], others: &[Other]) -> WordIndex {
        let versions = versions.iter().map(|version| (version.word, version.into()));
        let others = others.iter().map(|other| (other.word, other.into()));
        let all: BTreeSet<(Word, Writer)> = versions.chain(others).collect();
        let unknown = all.iter().filter(|(_, writer)| writer.fate == Fate::Unknown);
        WordIndex { unknown: unknown.copied().collect(), all }
    }

    pub(crate) fn add(&mut self, word: Word, writer: Writer) {
        self.all.insert((word, writer));
        if writer.fate == Fate::Unknown {
            self.unknown.insert((word, writer));
        }
    }

    /// The writers of a word in batches from a number on, in the order of arrival.
    pub(crate) fn of(&self, word: Word, since: u32) -> impl Iterator<Item = Writer> {
        self.all.range(bounds(word, since)).map(|(_, writer)| *writer)
    }

    /// Those of unknown outcome.
    pub(crate) fn unknown(&self, word: Word) -> impl Iterator<Item = Writer> {
        self.unknown.range(bounds(word, 0)).map(|(_, writer)| *writer)
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        (self.all.len() + self.unknown.len()) * size_of::<(Word, Writer)>() * 3 / 2
    }
}

/// The first and the last writer that a word may have from a batch on.
fn bounds(word: Word, since: u32) -> RangeInclusive<(Word, Writer)> {
    let first = Writer { txn: TxnRef::new(since, TxnId(0)), fate: Fate::Version(BEFORE_ALL) };
    let last = Writer { txn: TxnRef(u64::MAX), fate: Fate::Unknown };
    (word, first)..=(word, last)
}
