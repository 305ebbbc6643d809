//! What client intervals show of a violation, by the mechanisms of the server.

use isolde_history::{Key, OpId, TxnId};

use crate::timed::Seen;

/// A mechanism of a server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mechanism {
    /// A read sees a version that was there when its snapshot was taken, or when it had its lock.
    ConsistentRead,
    /// Two locks that exclude each other are not held at the same time.
    MutualExclusion,
    /// Of two transactions that write a row one had committed before the other took its snapshot.
    FirstUpdaterWins,
    /// What would not be serializable does not commit.
    Certifier,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Mechanism; 4] = [
        Mechanism::ConsistentRead,
        Mechanism::MutualExclusion,
        Mechanism::FirstUpdaterWins,
        Mechanism::Certifier,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::ConsistentRead => "consistent read",
            Mechanism::MutualExclusion => "mutual exclusion",
            Mechanism::FirstUpdaterWins => "first updater wins",
            Mechanism::Certifier => "serialization certifier",
        }
    }
}

/// What is certain of a transaction between two times of the client's clock. A side that is not known is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The transaction.
    pub txn: TxnId,
    /// The operation that it is about, if it is about one.
    pub op: Option<OpId>,
    /// What it says.
    pub what: StretchOf,
    /// From this time on,
    pub from: Option<i64>,
    /// until that one.
    pub until: Option<i64>,
}

/// What a stretch of time says of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StretchOf {
    /// Its snapshot was taken at one instant of it.
    Snapshot,
    /// Its COMMIT took effect at one instant of it.
    Commit,
    /// It certainly held a lock on the row all the time.
    Held,
    /// It certainly held a lock on a range of keys, which the row is in.
    Range,
    /// It had taken its snapshot, and had not committed.
    Open,
}

impl StretchOf {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            StretchOf::Snapshot => "snapshot",
            StretchOf::Commit => "commit",
            StretchOf::Held => "locked",
            StretchOf::Range => "range locked",
            StretchOf::Open => "open",
        }
    }
}

/// What client intervals show of a violation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirrored {
    /// The mechanism that did not do what it promises.
    pub mechanism: Mechanism,
    /// The transaction with which that showed.
    pub txn: TxnId,
    /// The other one, if there is one that stands against it.
    pub opponent: Option<TxnId>,
    /// Of a predicate read the row that it is about.
    pub row: Option<Key>,
    /// What a read can have seen. Empty if it is about no read.
    pub possible: Vec<Seen>,
    /// What it saw.
    pub read: Option<Seen>,
    /// What is certain of the transactions, and when.
    pub stretches: Vec<Stretch>,
    /// Whether it shows by dependencies alone, without the clock and without locks. Otherwise it says nothing about what
    /// the values would allow.
    pub semantic: bool,
}
