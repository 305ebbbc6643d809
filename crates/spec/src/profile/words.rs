//! The words of profiles: what the variants of each choice are called in a file.

use isolde_history::LockMode;

use super::{Certifier, KnownBy, LockScope, LockingReads, PlainReads, SnapshotAt};
use crate::level::Level;

/// A choice among a few words.
pub(super) trait Word: Copy + 'static {
    /// All of them, with what they mean.
    fn words() -> Vec<(&'static str, Self)>;
}

impl Word for KnownBy {
    fn words() -> Vec<(&'static str, KnownBy)> {
        vec![("runs", KnownBy::Runs), ("documentation", KnownBy::Documentation)]
    }
}

impl Word for PlainReads {
    fn words() -> Vec<(&'static str, PlainReads)> {
        vec![
            ("statement-snapshot", PlainReads::StatementSnapshot),
            ("transaction-snapshot", PlainReads::TransactionSnapshot),
            ("locked", PlainReads::Locked),
            ("uncommitted", PlainReads::Uncommitted),
        ]
    }
}

impl Word for LockingReads {
    fn words() -> Vec<(&'static str, LockingReads)> {
        vec![("newest", LockingReads::Newest), ("snapshot", LockingReads::Snapshot)]
    }
}

impl Word for SnapshotAt {
    fn words() -> Vec<(&'static str, SnapshotAt)> {
        vec![
            ("begin", SnapshotAt::Begin),
            ("first-statement", SnapshotAt::FirstStatement),
            ("first-read", SnapshotAt::FirstRead),
            ("by-first-read", SnapshotAt::ByFirstRead),
        ]
    }
}

impl Word for LockScope {
    fn words() -> Vec<(&'static str, LockScope)> {
        vec![
            ("none", LockScope::None),
            ("rows", LockScope::Rows),
            ("database", LockScope::Database),
            ("whole-transactions", LockScope::WholeTransactions),
        ]
    }
}

impl Word for Certifier {
    fn words() -> Vec<(&'static str, Certifier)> {
        vec![
            ("none", Certifier::None),
            ("acyclic", Certifier::Acyclic),
            ("ssi", Certifier::Ssi),
            ("backward-validation", Certifier::BackwardValidation),
            ("timestamp-order", Certifier::TimestampOrder),
        ]
    }
}

impl Word for LockMode {
    fn words() -> Vec<(&'static str, LockMode)> {
        LockMode::ALL.into_iter().map(|mode| (mode.name(), mode)).collect()
    }
}

impl Word for Level {
    fn words() -> Vec<(&'static str, Level)> {
        Level::ALL.into_iter().map(|level| (level.name(), level)).collect()
    }
}
