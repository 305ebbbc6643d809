//! Which transactions count: the committed ones, and those that somebody saw.

use isolde_history::{History, Outcome};

/// What is known of a transaction's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Play {
    /// It committed.
    In,
    /// Its outcome is unknown, but a transaction that counts has read from it.
    Proved,
    /// It was rolled back.
    Out,
    /// Its outcome is unknown, and nobody is known to have read from it: it may be left out.
    Open,
}

impl Play {
    /// Whether the transaction counts.
    #[inline]
    pub(crate) const fn counts(self) -> bool {
        matches!(self, Play::In | Play::Proved)
    }
}

/// Before anything is known of who read from whom.
pub(crate) fn at_first(history: &History) -> Vec<Play> {
    let play = |outcome: &Outcome| match outcome {
        Outcome::Committed => Play::In,
        Outcome::Aborted => Play::Out,
        Outcome::Unknown => Play::Open,
    };
    history.txn_outcomes().iter().map(play).collect()
}
