//! What the walk over all keys finds wrong, and what it leaves in doubt.

use isolde_history::{Key, OpId};
use isolde_spec::Anomaly;

/// A breach of the rules inside a transaction, or a read from where nothing may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalFinding {
    pub(crate) anomaly: Anomaly,
    /// The operations that show it; the second may be missing.
    ops: [OpId; 2],
}

const NO_OP: OpId = OpId(u32::MAX);

impl LocalFinding {
    pub(crate) fn new(anomaly: Anomaly, ops: &[OpId]) -> LocalFinding {
        let at = |i: usize| ops.get(i).copied().unwrap_or(NO_OP);
        LocalFinding { anomaly, ops: [at(0), at(1)] }
    }

    /// The operations that show it.
    pub(crate) fn ops(&self) -> &[OpId] {
        let count = self.ops.iter().filter(|op| **op != NO_OP).count();
        &self.ops[..count]
    }
}

/// Something that keeps a verdict from being certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The value was written more than once, or is also the initial one.
    AmbiguousRead(OpId),
    /// Elements of the list have the same value and cannot be told apart.
    EqualElements(OpId),
    /// No transaction of the history wrote it, but the history is not complete.
    UnknownWriter(OpId),
    /// A predicate read.
    Predicate(OpId),
    /// The value that the operation wrote or read is not known.
    Unlearned(OpId),
    /// It is not known whether the operation was done.
    Unsure(OpId),
    /// The key is used as a list and as something else.
    Mixed(OpId),
    /// The version order that the recorder gave names a value that several transactions wrote.
    AmbiguousOrder(Key),
    /// The version order that the recorder gave puts the initial state after others.
    InitialNotFirst(Key),
}

/// What was found, in the order of keys.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) findings: Vec<LocalFinding>,
    pub(crate) doubts: Vec<Doubt>,
    /// How many operations of transactions that may count answered that they did nothing.
    pub(crate) failed: u64,
    /// How many keys are written, and never returned by the reads of some predicate.
    pub(crate) unsaid: u64,
}

impl Findings {
    pub(crate) fn find(&mut self, anomaly: Anomaly, ops: &[OpId]) {
        self.findings.push(LocalFinding::new(anomaly, ops));
    }

    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        self.doubts.push(doubt);
    }

    pub(crate) fn append(&mut self, mut other: Findings) {
        self.findings.append(&mut other.findings);
        self.doubts.append(&mut other.doubts);
        self.failed += other.failed;
        self.unsaid += other.unsaid;
    }
}
