//! All that is shown of one witness, as data: who, what, when and why. Every renderer (terminal, SVG,
//! DOT, HTML) draws from this, so that they all say the same.

mod build;
mod cited;
mod phrase;
mod schedule;
mod sources;
mod story;
mod timeline;
mod times;

use isolde_history::{OpId, Outcome, TxnId};
use isolde_spec::{Anomaly, Edges, Level};

pub use timeline::{Basis, Row, Timeline, What};
pub(crate) use times::Times;

/// One witness, ready to be shown.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// What it is called on the command line: `snapshot-isolation-1`.
    pub id: String,
    /// The level that it breaks.
    pub level: Level,
    /// What it is.
    pub anomaly: Anomaly,
    /// The name, with the orders that it needs: "LongFork (needs session order)".
    pub title: String,
    /// What the anomaly means, in a line.
    pub meaning: String,
    /// What happened, in one or two sentences with the real keys, values and transactions.
    pub story: String,
    /// What the level promises, in a sentence.
    pub promise: &'static str,
    /// Where this breaks it, in a sentence.
    pub breach: String,
    /// The transactions: first those of the cycle in its order, then those beside it.
    pub parts: Vec<Part>,
    /// What binds them: first the cycle in its order, then the reasons, then the context.
    pub links: Vec<Link>,
    /// What happened when, in the sessions.
    pub timeline: Timeline,
    /// How far single operations can be put in order, if that is what fails.
    pub stuck: Option<StuckOrder>,
    /// How many transactions were left out, because nobody could look at them all.
    pub left_out: usize,
    /// How many dependencies of the cycle were left out with them.
    pub steps_left_out: usize,
    /// After how many transactions of the history it is visible.
    pub position: usize,
}

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
    /// What it did, in its order.
    pub ops: Vec<PartOp>,
    /// How many of its operations were left out, because nobody could look at them all.
    pub left_out: usize,
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
    /// It shows why a dependency of the cycle must be that nobody saw.
    Reason,
    /// It only says where a value came from.
    Context,
}

/// One transaction comes before another one.
#[derive(Clone, Debug)]
pub struct Link {
    /// The first transaction: its number in [`Exhibit::parts`].
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
    /// Whether nobody saw it: no other order explains what was read.
    pub inferred: bool,
    /// The dependency in words: "T3 overwrote what T2 read of x".
    pub sentence: String,
    /// Why it must be, if nobody saw it: a sentence, then the steps of the reason.
    pub because: Vec<String>,
}

/// How far single operations can be put in order.
#[derive(Clone, Debug)]
pub struct StuckOrder {
    /// The longest order that explains every operation in it: numbers in [`Exhibit::parts`].
    pub order: Vec<usize>,
    /// The one that cannot come next.
    pub next: usize,
    /// Why it cannot.
    pub why: String,
}
