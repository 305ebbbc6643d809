//! A transaction as its client saw it: what it read, what it wrote, what it certainly held locked, and when.

use isolde_history::LockMode;

use super::content::{Content, Observed};
use super::ranges::KeyHold;
use super::span::Span;
use crate::bodies::TxnRef;
use crate::content::{NameId, Word};

/// A transaction, ready to be held against the mechanisms of its server.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// Where it is in the stream.
    pub(crate) txn: TxnRef,
    /// Its place among all that are decided.
    pub(crate) turn: Turn,
    pub(crate) fate: Fate,
    /// When its COMMIT took effect, if it did.
    pub(crate) commit: Span,
    /// When it took its snapshot, if it has one for all of its reads.
    pub(crate) snapshot: Option<Span>,
    /// Whether it said that it would not write, or did not.
    pub(crate) read_only: bool,
    pub(crate) reads: Vec<Read>,
    /// Its predicate reads that lock nothing.
    pub(crate) looks: Vec<Looked>,
    /// One for each row that it wrote: the last write that stands.
    pub(crate) writes: Vec<Write>,
    pub(crate) holds: Vec<Hold>,
    /// The ranges of keys that it had locked, and the rows that it inserted, if ranges are locked at all.
    pub(crate) ranges: Vec<KeyHold>,
    pub(crate) inserted: Vec<KeyHold>,
}

/// Transactions are decided in this order, whatever the order is in which they come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Turn {
    /// When the client had the answer to COMMIT or ROLLBACK.
    pub(crate) ended: i64,
    pub(crate) began: i64,
    pub(crate) session: NameId,
    /// Its place in its session, if all times are equal.
    pub(crate) position: u32,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Committed,
    /// It may have committed, at any time after COMMIT was sent.
    Unknown,
    Aborted,
}

/// A read of a row.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) row: NameId,
    /// The operation within its batch.
    pub(crate) op: u32,
    pub(crate) sees: Sees,
    pub(crate) observed: Observed,
    /// Whether it is that of a row that a predicate read did not return.
    pub(crate) is_missing: bool,
    /// What the transaction itself had written there before.
    pub(crate) own: Option<OwnWrite>,
}

/// What a transaction has left in a row so far.
#[derive(Clone, Debug)]
pub(crate) struct OwnWrite {
    pub(crate) content: Content,
    /// From when on it certainly had the row locked, if it locks rows.
    pub(crate) locked: i64,
    /// Whether that began with an insert.
    pub(crate) inserted: bool,
}

/// A predicate read.
#[derive(Clone, Debug)]
pub(crate) struct Looked {
    pub(crate) op: u32,
    pub(crate) predicate: Word,
    pub(crate) sees: Sees,
    /// The rows that it returned, with what was seen if that is known.
    pub(crate) rows: Vec<(NameId, Option<Observed>)>,
}

/// Which version a read sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sees {
    /// That of the transaction's snapshot.
    Snapshot,
    /// The newest at one instant of this time.
    At(Span),
    /// That of the snapshot of a statement, by its number, which was taken at one instant of this time. So all that such a
    /// statement returned was there at one instant.
    Statement(u32, Span),
    /// The newest once the transaction has its lock on the row, which it had at this time.
    Newest(i64),
}

/// What a transaction left in a row.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) row: NameId,
    pub(crate) op: u32,
    pub(crate) content: Content,
    /// From when on it certainly had the row locked, if it locks rows.
    pub(crate) locked: i64,
    /// Whether it inserted a row that was not there.
    pub(crate) inserts: bool,
}

/// A lock that a transaction certainly held from one time to another.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) row: NameId,
    pub(crate) op: u32,
    pub(crate) mode: LockMode,
    /// The answer to the statement that took it had come.
    pub(crate) from: i64,
    /// What let go of it had not been sent.
    pub(crate) until: i64,
}

impl Hold {
    /// Whether this and another one of the same row certainly were there at the same time.
    pub(crate) fn overlaps(&self, other: &Hold) -> bool {
        self.from.max(other.from) < self.until.min(other.until)
    }
}

/// The row that stands for the whole database, where that is what is locked. No key has this name: the second word of a
/// name is odd or 0.
pub(crate) const DATABASE: NameId = NameId(0, 2);
