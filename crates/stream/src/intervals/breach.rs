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
    Own {
        op: u32,
        /// Whether it is wrong whatever others wrote.
        alone: bool,
    },
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

/// Where transactions and operations are in another history.
pub(crate) trait Moving {
    /// A transaction.
    fn txn(&self, txn: TxnRef) -> Option<TxnRef>;
    /// An operation of a transaction.
    fn op(&self, txn: TxnRef, op: u32) -> Option<u32>;
}

impl Breach {
    /// All transactions that it is about, with the operations to look at.
    pub(crate) fn cited(&self) -> Vec<(TxnRef, u32)> {
        let own = self.txn;
        match &self.what {
            Broken::Read { op, possible, .. } => {
                let writes = possible.iter().flatten().copied();
                [(own, *op)].into_iter().chain(writes).collect()
            }
            Broken::Own { op, .. } => vec![(own, *op)],
            Broken::Torn { op, others, .. } => {
                others.iter().chain([op]).map(|op| (own, *op)).collect()
            }
            Broken::Locks { op, other, other_op, .. }
            | Broken::Range { op, other, other_op, .. }
            | Broken::BothWrote { op, other, other_op, .. } => {
                vec![(own, *op), (*other, *other_op)]
            }
            Broken::Cycle(steps) => steps.iter().flat_map(ends).collect(),
            Broken::Refused { from, to, dependency } => ends(&(*from, *to, *dependency)).into(),
            Broken::Dangerous { first, pivot, last, ops, .. } => {
                vec![(*first, ops[0].0), (*pivot, ops[0].1), (*pivot, ops[1].0), (*last, ops[1].1)]
            }
        }
    }

    /// Whether transactions that are missing may explain it: it rests on what was read, which also says when a snapshot was
    /// taken, or on which version follows which.
    pub(crate) fn needs_all(&self) -> bool {
        match self.what {
            Broken::Locks { .. } | Broken::Range { .. } => false,
            Broken::Own { alone, .. } => !alone,
            _ => true,
        }
    }

    /// The same in another history. Nothing if something that it is about is not there.
    pub(crate) fn moved(&self, to: &impl Moving) -> Option<Breach> {
        let own = self.txn;
        let txn = |txn: &TxnRef| to.txn(*txn);
        let op = |txn: &TxnRef, op: &u32| to.op(*txn, *op);
        let ops = |(from, into): (&TxnRef, &TxnRef), ops: &(u32, u32)| {
            Some((op(from, &ops.0)?, op(into, &ops.1)?))
        };
        let step = |(from, into, dependency): &(TxnRef, TxnRef, Dependency)| {
            let ops = ops((from, into), &dependency.ops)?;
            Some((txn(from)?, txn(into)?, Dependency { ops, ..*dependency }))
        };
        let what = match &self.what {
            Broken::Read { row, op: read, snapshot, possible } => {
                let write =
                    |(writer, write): &(TxnRef, u32)| Some((txn(writer)?, op(writer, write)?));
                // Of a version whose writer is not kept any more nothing can be shown.
                let possible = possible.iter().filter_map(|seen| match seen {
                    Some(seen) => write(seen).map(Some),
                    None => Some(None),
                });
                let (row, op, snapshot) = (*row, op(&own, read)?, *snapshot);
                Broken::Read { row, op, snapshot, possible: possible.collect() }
            }
            Broken::Own { op: read, alone } => Broken::Own { op: op(&own, read)?, alone: *alone },
            Broken::Torn { op: read, others, snapshot } => {
                let others = others.iter().map(|other| op(&own, other)).collect::<Option<_>>()?;
                Broken::Torn { op: op(&own, read)?, others, snapshot: *snapshot }
            }
            Broken::Locks { .. } | Broken::Range { .. } | Broken::BothWrote { .. } => {
                self.moved_pair(to)?
            }
            Broken::Cycle(steps) => Broken::Cycle(steps.iter().map(step).collect::<Option<_>>()?),
            Broken::Refused { from, to: into, dependency } => {
                let (from, to, dependency) = step(&(*from, *into, *dependency))?;
                Broken::Refused { from, to, dependency }
            }
            Broken::Dangerous { first, pivot, last, rows, ops: both } => Broken::Dangerous {
                first: txn(first)?,
                pivot: txn(pivot)?,
                last: txn(last)?,
                rows: *rows,
                ops: [ops((first, pivot), &both[0])?, ops((pivot, last), &both[1])?],
            },
        };
        Some(Breach { txn: txn(&own)?, what })
    }

    /// What two transactions did.
    fn moved_pair(&self, to: &impl Moving) -> Option<Broken> {
        let own = |op: &u32| to.op(self.txn, *op);
        let with = |other: &TxnRef, op: &u32| Some((to.txn(*other)?, to.op(*other, *op)?));
        let mut what = self.what.clone();
        match &mut what {
            Broken::Locks { op, other, other_op, .. }
            | Broken::Range { op, other, other_op, .. }
            | Broken::BothWrote { op, other, other_op, .. } => {
                *op = own(op)?;
                (*other, *other_op) = with(other, other_op)?;
            }
            _ => return None,
        }
        Some(what)
    }
}

/// The two operations of a dependency, each with its transaction.
fn ends((from, to, dependency): &(TxnRef, TxnRef, Dependency)) -> [(TxnRef, u32); 2] {
    [(*from, dependency.ops.0), (*to, dependency.ops.1)]
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
