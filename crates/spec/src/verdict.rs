//! What can be said about a history and a promise.

use isolde_history::{Key, OpId, TxnId};

use crate::anomaly::Anomaly;
use crate::edge::Edges;
use crate::level::{Level, Promise};
use crate::mirrored::Mirrored;
use crate::timed::Timed;

/// The answer to one question, never a bare yes or no.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was asked.
    pub promise: Promise,
    /// What the answer is.
    pub answer: Answer,
    /// Every violation that was found, counted by anomaly, the most basic first.
    pub counts: Vec<Counted>,
    /// What is worth knowing beside the answer: which reads are ambiguous, which intervals were not
    /// used.
    pub notes: Vec<String>,
    /// What ran, and on what.
    pub procedure: Procedure,
}

/// What ran, on which evidence, with its figures.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Procedure {
    /// Its name.
    pub name: &'static str,
    /// How the version order was known, and what else was used.
    pub evidence: Vec<String>,
    /// Why this procedure and no other.
    pub why: String,
    /// What it counted, by name.
    pub figures: Vec<(&'static str, u64)>,
    /// What it counted without leaving out any, by name, and where in the history each of them is: after
    /// how many transactions, ascending. Cycles are searched for only until there are enough of them;
    /// the transactions that are in cycles are all known.
    pub places: Vec<(&'static str, Vec<u32>)>,
}

/// Whether a promise was kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Some order of the transactions explains everything that was seen.
    Holds,
    /// Nothing contradicts it, as far as client intervals can tell: of so many dependencies so many are certain. The others
    /// may be anything.
    NoViolation {
        /// How many are certain.
        decided: u64,
        /// Of how many.
        of: u64,
        /// Whether that is as large a share as was asked for.
        enough: bool,
    },
    /// None does, and these show it, the most basic first.
    Violated(Vec<Witness>),
    /// It cannot be decided, for this reason.
    Unknown(String),
}

/// How often an anomaly was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// How often: every instance of a local anomaly, every pair of updates of which one was lost.
    pub count: u64,
    /// Whether there may be more: other cycles are counted as far as they were searched for, since
    /// they can be exponentially many.
    pub at_least: bool,
    /// After how many transactions of the history each of them is visible, ascending, as far as that is
    /// known.
    pub positions: Vec<u32>,
}

/// A piece of the history that proves a violation and can be checked by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// What it is.
    pub anomaly: Anomaly,
    /// Which of session order and real time it needs.
    pub needs: Edges,
    /// The transactions of a cycle, each with its dependency on the next; the last leads back to the
    /// first. Empty for local anomalies.
    pub steps: Vec<Step>,
    /// The operations to look at, for local anomalies.
    pub ops: Vec<OpId>,
    /// The transactions of the cycle, or of the operations to look at.
    pub txns: Vec<TxnId>,
    /// Other transactions that are needed to see it: the writer of a version that two others read and
    /// overwrote, the reader of a list that shows an order, the reader that proves that a transaction
    /// of unknown outcome committed.
    pub support: Vec<TxnId>,
    /// Why inferred steps must be: one entry for each that has a reason of its own.
    pub forced: Vec<Forced>,
    /// How far single operations can be put in order, if that is what fails.
    pub stuck: Option<Stuck>,
    /// What the server's timestamps show, if the promise is judged by them.
    pub timed: Option<Timed>,
    /// What client intervals show, if the promise is judged by them.
    pub mirrored: Option<Mirrored>,
}

/// Why an inferred step must be: a reader read one of two versions and had seen the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Forced {
    /// The number of the step.
    pub step: usize,
    /// The read that forces it.
    pub read: OpId,
    /// What shows that one comes before the other: for an overwritten version (`ww`), how its writer
    /// had been seen by the reader; for a missed one (`rw`), why it is newer than what was read.
    pub path: Vec<Step>,
}

/// How far single operations can be put in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// The longest order that explains every operation in it.
    pub prefix: Vec<OpId>,
    /// The operation that cannot come next, nor can any other before it.
    pub op: OpId,
    /// Why it cannot: what the object held, and what the operation saw.
    pub why: String,
}

impl Witness {
    /// Nothing but a name yet.
    pub fn of(anomaly: Anomaly) -> Witness {
        Witness {
            anomaly,
            needs: Edges::NONE,
            steps: Vec::new(),
            ops: Vec::new(),
            txns: Vec::new(),
            support: Vec::new(),
            forced: Vec::new(),
            stuck: None,
            timed: None,
            mirrored: None,
        }
    }

    /// Which variant of its anomaly it is: by what the operations show alone, or one that needs
    /// session order, or one that needs real time.
    pub fn variant(&self) -> &'static str {
        if self.needs.contains(Edges::RT) {
            "real-time"
        } else if self.needs.contains(Edges::SO) {
            "session"
        } else {
            "item"
        }
    }

    /// The weakest level that forbids it: what needs real time, only levels that speak of it forbid.
    pub fn forbidden_from(&self) -> Level {
        let level = self.anomaly.entry().forbidden_from;
        let forbids = |l: &Level| l.implies(level) && l.needs_real_time();
        let timed = self.needs.contains(Edges::RT);
        if timed { Level::ALL.into_iter().find(forbids).unwrap_or(level) } else { level }
    }

    /// How many transactions into the history it is first visible.
    pub fn position(&self) -> usize {
        self.involved().map(|txn| txn.index() + 1).max().unwrap_or(0)
    }

    /// All transactions involved.
    pub fn involved(&self) -> impl Iterator<Item = TxnId> + '_ {
        self.txns.iter().chain(&self.support).copied()
    }
}

/// One dependency of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The transaction that comes first.
    pub from: TxnId,
    /// The transaction that comes after it.
    pub to: TxnId,
    /// Of which kind the dependency is.
    pub kind: Edges,
    /// What shows it.
    pub because: Because,
}

/// What shows a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Because {
    /// The key that both touched; `None` for session order and real time.
    pub key: Option<Key>,
    /// The operation of the first transaction.
    pub from_op: Option<OpId>,
    /// The operation of the second transaction.
    pub to_op: Option<OpId>,
    /// It was not observed: no other order of the writes explains the reads.
    pub inferred: bool,
}

impl Verdict {
    /// The witnesses that were kept, if the promise was broken.
    pub fn witnesses(&self) -> &[Witness] {
        match &self.answer {
            Answer::Violated(witnesses) => witnesses,
            Answer::Holds | Answer::NoViolation { .. } | Answer::Unknown(_) => &[],
        }
    }

    /// Whether nothing can be said: it is unknown, or too little was decided.
    pub fn is_open(&self) -> bool {
        matches!(self.answer, Answer::Unknown(_) | Answer::NoViolation { enough: false, .. })
    }

    /// Whether the promise was kept, as far as anyone knows.
    pub fn holds(&self) -> Option<bool> {
        match self.answer {
            Answer::Holds => Some(true),
            Answer::Violated(_) => Some(false),
            // That nothing was found does not say that nothing is there.
            Answer::NoViolation { .. } | Answer::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_forbidden_by_levels_that_speak_of_what_it_needs() {
        let from = |anomaly: Anomaly, needs: Edges| {
            let witness = Witness { needs, ..Witness::of(anomaly) };
            (witness.variant(), witness.forbidden_from())
        };
        assert_eq!(from(Anomaly::GSingle, Edges::NONE), ("item", Level::SnapshotIsolation));
        assert_eq!(from(Anomaly::GSingle, Edges::SO), ("session", Level::SnapshotIsolation));
        let both = Edges::SO | Edges::RT;
        assert_eq!(from(Anomaly::GSingle, both), ("real-time", Level::StrongSnapshotIsolation));
        assert_eq!(from(Anomaly::WriteSkew, both), ("real-time", Level::StrictSerializable));
    }
}
