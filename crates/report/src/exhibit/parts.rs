//! What an exhibit is made of: transactions, their operations, and what binds them.

use isolde_history::{OpId, Outcome, Timestamp, TxnId};
use isolde_spec::Edges;

use super::rows::Basis;

/// A transaction of an exhibit.
#[derive(Clone, Debug)]
pub struct Part {
    /// Which one it is.
    pub txn: TxnId,
    /// Its name: "T12".
    pub name: String,
    /// The name of its session.
    pub session: String,
    /// Whether it is no part of the cycle, but needed to see it.
    pub support: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// When it began and ended, as its client saw it.
    pub begin: Option<i64>,
    /// When it ended.
    pub end: Option<i64>,
    /// When it started, as the server says.
    pub start_ts: Option<Timestamp>,
    /// When it committed, as the server says.
    pub commit_ts: Option<Timestamp>,
    /// What it did, in its order.
    pub ops: Vec<PartOp>,
    /// How many of its operations were left out, because they are too many to look at.
    pub left_out: usize,
}

impl Part {
    /// When it began and ended, by the clock of a time line.
    pub fn span(&self, basis: Basis) -> (Option<Timestamp>, Option<Timestamp>) {
        match basis {
            Basis::Timestamps => (self.start_ts, self.commit_ts),
            _ => (self.begin.map(Timestamp::plain), self.end.map(Timestamp::plain)),
        }
    }
}

/// An operation of a transaction.
#[derive(Clone, Debug)]
pub struct PartOp {
    /// Which one it is.
    pub op: OpId,
    /// The operation in the notation: "r(x,1)".
    pub text: String,
    /// The key, if it has one.
    pub key: Option<String>,
    /// Whether it is among those that show the anomaly; the others may be folded.
    pub cited: bool,
}

/// What a link is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is a dependency of the cycle.
    Cycle,
    /// It shows why an inferred dependency of the cycle must be.
    Reason,
    /// It only says where a value came from.
    Context,
}

/// One transaction comes before another one.
#[derive(Clone, Debug)]
pub struct Link {
    /// The first transaction: its number in [`Exhibit::parts`](super::Exhibit::parts).
    pub from: usize,
    /// The second.
    pub to: usize,
    /// One of `so`, `rt`, `wr`, `ww`, `rw`.
    pub kind: Edges,
    /// The key that both touched.
    pub key: Option<String>,
    /// The operation of the first transaction: its number in [`Part::ops`].
    pub from_op: Option<usize>,
    /// The operation of the second.
    pub to_op: Option<usize>,
    /// What it is there for.
    pub role: Role,
    /// Whether it was inferred: no other order explains the reads.
    pub inferred: bool,
    /// The dependency in words: "T3 overwrote what T2 read of x".
    pub sentence: String,
    /// Why it must be, if it was inferred: a sentence, then the steps of the reason.
    pub because: Vec<String>,
}

/// Something worth knowing of a witness, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about: "expected".
    pub name: &'static str,
    /// What is known.
    pub text: String,
}

/// The transaction whose timestamps do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blamed {
    /// Its number in [`Exhibit::parts`](super::Exhibit::parts).
    pub part: usize,
    /// The transaction that stands against it, if both are at odds alike.
    pub other: Option<usize>,
    /// What is wrong, in a few words.
    pub words: String,
}

/// How far single operations can be put in order.
#[derive(Clone, Debug)]
pub struct StuckOrder {
    /// The longest order that explains every operation in it: numbers in [`Exhibit::parts`](super::Exhibit::parts).
    pub order: Vec<usize>,
    /// The one that cannot come next.
    pub next: usize,
    /// Why it cannot.
    pub why: String,
}
