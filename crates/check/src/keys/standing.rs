//! What is known of a transaction's outcome.

use isolde_history::{History, Outcome};

/// What is known of a transaction's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Standing {
    /// It committed.
    Committed,
    /// Its outcome is unknown, but a transaction that counts has read from it.
    Proved,
    /// It was rolled back.
    RolledBack,
    /// Its outcome is unknown, and no transaction is known to have read from it: it may be left out.
    Unproved,
}

impl Standing {
    /// Whether the transaction counts.
    #[inline]
    pub(crate) const fn counts(self) -> bool {
        matches!(self, Standing::Committed | Standing::Proved)
    }
}

/// The standing of every transaction before anything is known of reads.
pub(crate) fn at_first(history: &History) -> Vec<Standing> {
    let standing = |outcome: &Outcome| match outcome {
        Outcome::Committed => Standing::Committed,
        Outcome::Aborted => Standing::RolledBack,
        Outcome::Unknown => Standing::Unproved,
    };
    history.txn_outcomes().iter().map(standing).collect()
}
