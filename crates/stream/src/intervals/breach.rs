//! What was found, as numbers: which transactions, rows and operations, and by which mechanism.

use isolde_spec::Edges;

use super::span::Span;
use super::topology::Link;
use crate::bodies::TxnRef;
use crate::content::NameId;

/// A promise of a mechanism that was broken.
#[derive(Clone, Debug)]
pub(crate) struct Breach {
    /// The transaction that was decided when it was found.
    pub(crate) txn: TxnRef,
    pub(crate) what: Broken,
}

/// What was broken.
#[derive(Clone, Debug)]
pub(crate) enum Broken {
    /// A read returned no version that it can have seen.
    Read {
        row: NameId,
        op: u32,
        /// When its snapshot was taken; nothing if it saw the newest version, under a lock.
        snapshot: Option<Span>,
        /// The writes of the versions that it can have seen; nothing is what was there at first.
        possible: Vec<Option<(TxnRef, u32)>>,
    },
    /// A read did not return what the transaction itself had written.
    Own { op: u32 },
    /// No snapshot explains a read together with those before it.
    Torn { op: u32, others: Vec<u32>, snapshot: Span },
    /// Two transactions held locks that exclude each other.
    Locks { op: u32, held: Span, other: TxnRef, other_op: u32, other_held: Span },
    /// A transaction inserted a row into a range of keys that another one had locked.
    Range {
        op: u32,
        held: Span,
        /// Whether it is the range that the transaction held, and not the new row.
        is_range: bool,
        other: TxnRef,
        other_op: u32,
        other_held: Span,
    },
    /// Two transactions wrote a row, and each began before the other had committed.
    BothWrote {
        op: u32,
        other: TxnRef,
        other_op: u32,
        /// From its snapshot to its commit, of each.
        span: Span,
        other_span: Span,
    },
    /// Certain dependencies in a cycle.
    Cycle(Vec<(TxnRef, TxnRef, Dependency)>),
    /// A dependency on a transaction that the certifier would certainly have refused.
    Refused { from: TxnRef, to: TxnRef, dependency: Dependency },
    /// Two anti-dependencies in a row that PostgreSQL's serializable level does not let commit.
    Dangerous {
        first: TxnRef,
        pivot: TxnRef,
        last: TxnRef,
        rows: [NameId; 2],
        ops: [(u32, u32); 2],
    },
}

/// A certain dependency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependency {
    pub(crate) kind: Edges,
    pub(crate) row: NameId,
    pub(crate) ops: (u32, u32),
}

impl From<Link> for Dependency {
    fn from(link: Link) -> Dependency {
        Dependency { kind: link.kind, row: link.row, ops: link.ops }
    }
}

/// How much could be decided.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Tally {
    /// Reads of rows that others wrote, and how many have one version that they can have seen.
    pub(crate) reads: Decided,
    /// Pairs of versions that follow each other, and how many have one possible order.
    pub(crate) pairs: Decided,
    /// Anti-dependencies that follow from reads, and how many are certain.
    pub(crate) anti: Decided,
    /// Reads and pairs whose intervals overlap.
    pub(crate) overlapped: u64,
    pub(crate) txns: u64,
    pub(crate) committed: u64,
}

/// So many of so many.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Decided {
    pub(crate) decided: u64,
    pub(crate) of: u64,
}

impl Decided {
    pub(crate) fn count(&mut self, is_decided: bool) {
        self.of += 1;
        self.decided += u64::from(is_decided);
    }
}

impl Tally {
    /// All of them together.
    pub(crate) fn all(&self) -> Decided {
        let each = [self.reads, self.pairs, self.anti];
        Decided {
            decided: each.iter().map(|one| one.decided).sum(),
            of: each.iter().map(|one| one.of).sum(),
        }
    }
}
