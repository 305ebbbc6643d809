//! What a stream tells.

use std::fmt;
use std::sync::Arc;

use isolde_history::History;
use isolde_spec::{Anomaly, Axiom, Verdict, Witness};

use crate::timestamps::FindingId;

/// Something that a stream tells, numbered from 1 without gaps.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    /// The number.
    pub number: u64,
    /// When it was told, in the milliseconds that the stream was told last.
    pub at: i64,
    /// What it says.
    pub what: Told,
}

/// What an event says.
#[derive(Clone, Debug)]
pub enum Told {
    /// A violation.
    Violation(Box<Finding>),
    /// A verdict that was final has changed, because a transaction came later than it should have.
    Correction(Box<Correction>),
    /// A violation that was told has got another name, or another opponent, before it was final; or the writer of what
    /// was read has become known, which no promise and no timeout could have made sure of.
    Renamed(Box<Finding>),
    /// A transaction came later than its source had promised, or by client intervals when others had been decided that it
    /// may have to do with.
    Late {
        /// Its name.
        txn: String,
        /// Whether others had been decided.
        decided: bool,
    },
    /// Something is wrong with the stream itself.
    Trouble(Trouble),
}

/// What is wrong with a stream.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// A line could not be read, or transactions are missing: from now on a read without a writer says nothing.
    #[error(
        "the stream is incomplete: {0}; a read whose writer is not there is unknown from now on"
    )]
    Incomplete(String),
    /// Two transactions have the same session and sequence number and are not the same.
    #[error(
        "{0} has the number of another transaction of its session, and other contents: it is left out, and so the \
         end is unknown unless a violation is found"
    )]
    SameNumber(String),
    /// A transaction has a number so old that its session is not remembered as far back.
    #[error(
        "{0} has a number so old that what had it before is not remembered: it is left out as one that came twice, but \
         it may be another one, and so the end is unknown unless a violation is found"
    )]
    OldNumber(String),
    /// A committed transaction lacks a timestamp, or a snapshot, that the promise needs.
    #[error(
        "{0} committed without the timestamp or snapshot that the promise needs: nothing is known of what it saw"
    )]
    Unstamped(String),
    /// What a transaction needs has been given up, because the disk may hold no more.
    #[error("{0} came so late that what it needs is not kept any more (--keep)")]
    TooLate(String),
    /// What a transaction needs is more than may be in memory at once.
    #[error("{0} came so late that what it needs does not fit into memory (--memory)")]
    TooMuch(String),
    /// A verdict stays open.
    #[error("{0}")]
    Open(String),
}

/// A violation, with a small history of its own that shows it.
#[derive(Clone)]
pub struct Finding {
    /// What it is known by, unless it is a commit that was lost.
    pub(crate) id: Option<FindingId>,
    /// What it is called.
    pub anomaly: Anomaly,
    /// The rule of timestamps or snapshots that was broken; none where the server itself says that something is wrong.
    pub axiom: Option<Axiom>,
    /// The transaction that broke it, by session and label or number.
    pub txn: String,
    /// The key, if the rule is about one.
    pub key: Option<String>,
    /// The transactions that show it.
    pub history: Arc<History>,
    /// The verdict on this small history; its one witness is the violation.
    pub verdict: Verdict,
}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { anomaly, axiom, txn, key, .. } = self;
        let axiom = axiom.map_or("none", Axiom::name);
        write!(f, "{anomaly:?} ({axiom}) of {txn} on {key:?}")
    }
}

impl Finding {
    /// The witness, in terms of the small history.
    pub fn witness(&self) -> Option<&Witness> {
        self.verdict.witnesses().first()
    }
}

/// A final verdict that changed.
#[derive(Clone, Debug)]
pub struct Correction {
    /// Whether the violation is there now, or is withdrawn.
    pub adds: bool,
    /// The violation.
    pub finding: Finding,
    /// Why it changed.
    pub cause: Cause,
}

/// Why a final verdict has changed.
#[derive(Clone, Debug)]
pub enum Cause {
    /// This transaction came late.
    Late(String),
    /// Something else, as the rest of a sentence.
    Because(String),
}

impl Cause {
    /// Something else than a late transaction.
    pub(crate) fn because(why: &str) -> Cause {
        Cause::Because(why.to_owned())
    }

    /// The transaction that came late, if one did.
    pub fn late(&self) -> Option<&str> {
        match self {
            Cause::Late(txn) => Some(txn),
            Cause::Because(_) => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Late(txn) => write!(f, "{txn} came late"),
            Cause::Because(why) => f.write_str(why),
        }
    }
}
