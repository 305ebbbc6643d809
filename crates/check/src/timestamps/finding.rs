//! What is wrong by timestamps, and what stays in doubt, as numbers; words come later.

use isolde_history::{Key, OpId, TxnId};
use isolde_spec::{Anomaly, Axiom};

use crate::keys::findings::Doubt;

/// Something that is wrong by timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimedFinding {
    pub(crate) anomaly: Anomaly,
    pub(crate) axiom: Axiom,
    /// The transaction that broke the rule.
    pub(crate) txn: TxnId,
    /// Its operation: the read, or the write that conflicts.
    pub(crate) op: Option<OpId>,
    /// The other operation: what was read, the write it conflicts with, the own write that was missed.
    pub(crate) other: Option<OpId>,
    /// The transaction that stands against it.
    pub(crate) opponent: Option<TxnId>,
    /// The key, which a predicate read does not say.
    pub(crate) key: Option<Key>,
}

impl TimedFinding {
    pub(crate) fn new(anomaly: Anomaly, axiom: Axiom, txn: TxnId) -> TimedFinding {
        TimedFinding { anomaly, axiom, txn, op: None, other: None, opponent: None, key: None }
    }

    /// What findings are sorted by: nothing depends on which thread found them.
    pub(crate) fn place(&self) -> (usize, TxnId, Option<OpId>, Option<OpId>, Option<TxnId>) {
        (self.anomaly.rank(), self.txn, self.op, self.other, self.opponent)
    }
}

/// What keeps an answer by timestamps from being certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimedDoubt {
    /// What keeps every answer from being certain.
    Of(Doubt),
    /// Two transactions with one commit timestamp, one of which wrote what the other read or wrote.
    Tie(TxnId, TxnId, Key),
    /// A transaction of unknown outcome was read, and no timestamp says when it started.
    NoStart(TxnId),
    /// Commit points of this transaction and others were not all tried.
    NotTried(TxnId),
    /// Too many transactions may have committed between the same two timestamps, this one among them.
    NoRoom(TxnId),
    /// The recorder's version order of a key is not the order of commit timestamps.
    GivenOrder(Key),
}

/// What was found.
#[derive(Default, Debug)]
pub(crate) struct TimedFindings {
    pub(crate) findings: Vec<TimedFinding>,
    pub(crate) doubts: Vec<TimedDoubt>,
    /// Of how many keys some predicate reads say nothing.
    pub(crate) unsaid: u64,
}

impl TimedFindings {
    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        self.doubts.push(TimedDoubt::Of(doubt));
    }

    pub(crate) fn append(&mut self, mut other: TimedFindings) {
        self.findings.append(&mut other.findings);
        self.doubts.append(&mut other.doubts);
        self.unsaid += other.unsaid;
    }
}
