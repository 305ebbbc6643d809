//! All that is shown of one witness, as data: transactions, operations, times and reasons. Every
//! renderer (terminal, SVG, DOT, HTML) draws from this, so that they all say the same.

mod build;
mod cited;
mod lasting;
mod mirrored_facts;
mod mirrored_story;
mod moments;
mod parts;
mod phrase;
mod rows;
mod schedule;
mod snapshot_story;
mod sources;
mod story;
mod timed_facts;
mod timed_story;
mod timeline;
mod times;

use isolde_spec::{Anomaly, Promise};

pub use lasting::Lasting;
pub use parts::{Blamed, Fact, Link, Part, PartOp, Role, StuckOrder};
pub use rows::{Basis, Row, Timeline, What};
pub(crate) use times::Times;

/// One witness, ready to be shown.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// What it is called on the command line: `snapshot-isolation-1`, `snapshot-isolation-by-timestamps-1`.
    pub id: String,
    /// The promise that it breaks.
    pub asked: Promise,
    /// What it is.
    pub anomaly: Anomaly,
    /// The name, with the orders that it needs: "LongFork (needs session order)".
    pub title: String,
    /// What the anomaly means, in a line.
    pub meaning: String,
    /// What happened, in one or two sentences with the real keys, values and transactions.
    pub story: String,
    /// What is promised, in a sentence.
    pub promise: &'static str,
    /// Where this breaks it, in a sentence.
    pub breach: String,
    /// The transactions: first those of the cycle in its order, then those beside it.
    pub parts: Vec<Part>,
    /// What binds them: first the cycle in its order, then the reasons, then the context.
    pub links: Vec<Link>,
    /// What happened when, in the sessions.
    pub timeline: Timeline,
    /// How long locks and snapshots lasted, if it was judged by client intervals.
    pub lasting: Vec<Lasting>,
    /// How far single operations can be put in order, if that is what fails.
    pub stuck: Option<StuckOrder>,
    /// What the server's timestamps or client intervals show: the rule, what should have been read and what was.
    pub facts: Vec<Fact>,
    /// Which transaction's timestamps do not fit, or which one its mechanisms failed, if it was judged by those.
    pub blamed: Option<Blamed>,
    /// How many transactions were left out, because they are too many to look at.
    pub left_out: usize,
    /// How many dependencies of the cycle were left out with them.
    pub steps_left_out: usize,
    /// After how many transactions of the history it is visible.
    pub position: usize,
}

impl Exhibit {
    /// What was promised, for a title: whether session order counts is said elsewhere.
    pub(crate) fn promised(&self) -> Promise {
        Promise { session_order: true, ..self.asked }
    }
}
