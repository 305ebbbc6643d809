//! The brute-force twin of promises by snapshots: the definitions taken literally, for tiny histories.
//!
//! `shows` is a table: which snapshot shows which transaction. Transactions of unknown outcome are left
//! out or counted; those without a number commit at every place in the row of snapshots: a promise is
//! kept if some choice breaks no rule.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the twin")]

mod case;
pub mod random;
mod rc;
mod si;

use std::collections::BTreeSet;

use isolde_history::History;
use isolde_spec::{Level, Promise};

use case::Case;

/// What the twin says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Twin {
    /// Whether the promise was kept; `None` where evidence or transactions are missing.
    pub holds: Option<bool>,
    /// What is broken if all transactions of unknown outcome are left out (by statements: those that
    /// need not have committed).
    pub broken: BTreeSet<Broken>,
    /// By statements: whether another choice of those that committed breaks no rule.
    pub lenient: bool,
}

/// A broken rule. Transactions and operations by their positions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Broken {
    /// Two snapshots contradict each other.
    Apart,
    /// A snapshot shows its own transaction.
    Own(usize),
    /// A snapshot misses what its session did or saw before.
    Session(usize),
    /// A snapshot misses what had ended before it was taken.
    Fresh(usize),
    /// A read, or an operation that was refused, does not fit.
    Read(usize),
    /// Two writers of a key that do not see each other.
    Conflict(usize, usize, u32),
}

/// What the definitions say of a history, or nothing where its evidence is not enough.
pub fn decide(history: &History, promise: Promise, clock_skew: i64) -> Twin {
    let case = Case::new(history, promise, clock_skew);
    if case.shares_a_number() {
        return Twin { holds: None, broken: BTreeSet::new(), lenient: false };
    }
    match promise.level {
        Level::SnapshotIsolation => case.snapshot_isolation(),
        _ => case.read_committed(),
    }
}
