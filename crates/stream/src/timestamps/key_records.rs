//! What is in memory of single accesses to a key: versions, reads, and writes that left no version.

use isolde_check::timestamps::rules::Place;
use isolde_history::Timestamp;
use isolde_spec::Anomaly;

use crate::bodies::TxnRef;
use crate::content::Word;

/// A version of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) commit: Timestamp,
    /// The start of its writer; in commit order it does not matter, and is before all.
    pub(crate) start: Timestamp,
    /// The value; of a list, all elements up to and with this version's.
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
}

/// A read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) at: Timestamp,
    pub(crate) inclusive: bool,
    /// Whether it saw anything but the word.
    pub(crate) not: bool,
    pub(crate) wrong: bool,
    /// Whether its verdict is final.
    pub(crate) is_final: bool,
    /// Whether its verdict has changed before.
    pub(crate) flipped: bool,
    /// Whether it stays unknown if it is right.
    pub(crate) doubt: bool,
    /// What it was told to be.
    pub(crate) told: Option<Anomaly>,
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
    /// The operation, in its batch.
    pub(crate) op: u32,
}

/// A write that left no version: overwritten, rolled back, or of unknown outcome.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Other {
    pub(crate) word: Word,
    pub(crate) txn: TxnRef,
    pub(crate) unknown: bool,
    /// Whether it was rolled back, and not overwritten.
    pub(crate) undone: bool,
}

/// What a transaction wrote to a key.
#[derive(Clone, Copy)]
pub(super) struct Wrote<'w> {
    pub(super) txn: TxnRef,
    /// The word; of a list, its elements.
    pub(super) words: &'w [Word],
    /// When it committed; if it left no version, after all.
    pub(super) commit: Timestamp,
    /// Whether its outcome is unknown.
    pub(super) unknown: bool,
}

impl Reader {
    /// A read that nothing has been said of: where it stands, what it saw or did not see, and which operation it is.
    #[inline]
    pub(crate) fn new(
        (at, inclusive): (Timestamp, bool),
        (word, not): (Word, bool),
        (txn, op): (TxnRef, u32),
    ) -> Reader {
        let (wrong, is_final, flipped, doubt, told) = (false, false, false, false, None);
        Reader { at, inclusive, not, wrong, is_final, flipped, doubt, told, word, txn, op }
    }

    pub(crate) fn place(&self) -> Place<Timestamp> {
        Place { at: self.at, inclusive: self.inclusive }
    }

    pub(crate) fn order(&self) -> (Timestamp, bool, TxnRef, u32) {
        (self.at, self.inclusive, self.txn, self.op)
    }

    pub(crate) fn accepts(&self, word: Word) -> bool {
        (word == self.word) != self.not
    }
}
