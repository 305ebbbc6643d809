//! Reads and writes of one key, as far as other transactions are concerned.

use isolde_history::{OpId, TxnId, Value};

use crate::keys::standing::Standing;
use crate::maybe_index::MaybeIndex;

/// A read whose value must have come from another transaction, or from the initial state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadFact {
    pub(crate) txn: TxnId,
    pub(crate) op: OpId,
    pub(crate) value: Value,
    /// What is known of the transaction's outcome.
    pub(crate) standing: Standing,
    /// The value is the last element of a list: `Some(true)` of an empty one, which is the initial
    /// state whatever that is called.
    pub(crate) empty_list: Option<bool>,
    /// The last of the reads that follow each other and saw the same.
    pub(crate) last: OpId,
    /// Whether a predicate read saw it by not returning the row.
    pub(crate) missing: bool,
}

/// A write, and whether any transaction but its own may ever see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteFact {
    pub(crate) txn: TxnId,
    pub(crate) op: OpId,
    pub(crate) value: Value,
    /// The last write of the key in the transaction, and not undone by a rollback to a savepoint.
    pub(crate) last: bool,
    /// Undone by a rollback to a savepoint, or with its transaction.
    pub(crate) undone: bool,
    /// Whether it is known that this write, and no other of the key in its transaction after it, was
    /// done.
    pub(crate) certain: bool,
    /// The read of the key that came before the transaction's first write of it.
    pub(crate) read_before: MaybeIndex,
    /// What is known of the transaction's outcome.
    pub(crate) standing: Standing,
    /// The next write of the same value.
    pub(crate) next_equal: MaybeIndex,
}

/// A list read, and how many of its elements are not the reader's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListRead {
    pub(crate) op: OpId,
    pub(crate) txn: TxnId,
    pub(crate) foreign: u32,
}

/// Where a read value came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The initial state.
    Initial,
    /// A write that others may see: an index of the key's writes.
    Write(u32),
    /// Nowhere that counts; a finding or a doubt says why.
    None,
}

impl ReadFact {
    /// Whether it may be a read of the initial state, which has this value.
    #[inline]
    pub(crate) fn is_of(&self, initial: Value) -> bool {
        self.empty_list.unwrap_or(self.value == initial)
    }
}

impl WriteFact {
    /// Whether it made a version of its key that all may see.
    #[inline]
    pub(crate) fn is_version(&self) -> bool {
        self.last && self.certain && self.standing.counts()
    }

    /// Whether it may have taken place, as far as any transaction but its own can tell.
    pub(crate) fn may_have_happened(&self) -> bool {
        !self.undone && self.standing != Standing::RolledBack
    }

    /// Whether a transaction may have read it and be right.
    pub(crate) fn may_be_seen(&self, reader: TxnId) -> bool {
        self.is_visible() && self.txn != reader
    }

    /// Whether other transactions may have read it and be right: it is the last write of its
    /// transaction, which committed or may have; or perhaps the last, where it is not known which
    /// writes were done.
    pub(crate) fn is_visible(&self) -> bool {
        (self.last || (!self.certain && !self.undone)) && self.standing != Standing::RolledBack
    }
}
