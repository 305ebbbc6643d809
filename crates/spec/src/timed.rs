//! What the server's timestamps or snapshots show of a violation.

use isolde_history::{OpId, Timestamp, TxnId, Value};

/// The rule of a promise by timestamps, or by snapshots, that was broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axiom {
    /// A transaction sees what its session did before it.
    Session,
    /// A transaction reads what it wrote or read before.
    Int,
    /// A transaction reads the newest version that is visible at its place.
    Ext,
    /// Two transactions that wrote one key do not overlap.
    NoConflict,
    /// Timestamps say when a transaction started and committed, and no two writers of a key committed
    /// at the same time.
    Stamps,
    /// A snapshot shows what had been committed, as far as the clients know, before it was taken.
    Fresh,
    /// Snapshots do not contradict themselves, nor each other.
    Snapshots,
}

impl Axiom {
    /// The name in reports, as the literature has it.
    pub const fn name(self) -> &'static str {
        match self {
            Axiom::Session => "SESSION",
            Axiom::Int => "INT",
            Axiom::Ext => "EXT",
            Axiom::NoConflict => "NOCONFLICT",
            Axiom::Stamps => "timestamps",
            Axiom::Fresh => "FRESH",
            Axiom::Snapshots => "snapshots",
        }
    }
}

/// A version of a key: what a transaction should have read, or did read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The value; of a list its last element, or absent.
    pub value: Value,
    /// All elements, if the key holds a list.
    pub list: Option<Vec<Value>>,
    /// The write, unless it is the initial state or no write is known.
    pub write: Option<OpId>,
    /// Whether it is the initial state.
    pub initial: bool,
}

/// A commit timestamp that the history does not have and that was worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The transaction, whose outcome is unknown.
    pub txn: TxnId,
    /// It committed after this time, if there is such a bound,
    pub after: Option<Timestamp>,
    /// and not after that one.
    pub until: Option<Timestamp>,
}

/// What timestamps or snapshots show of a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The rule that was broken.
    pub axiom: Axiom,
    /// The transaction that broke it.
    pub txn: TxnId,
    /// Where it stands in the order of timestamps, if that matters here.
    pub place: Option<Timestamp>,
    /// What it should have read. Several, if two versions have the same commit timestamp.
    pub expected: Vec<Seen>,
    /// What it read.
    pub read: Option<Seen>,
    /// The transaction that stands against it: the other writer, the earlier one of its session.
    pub opponent: Option<TxnId>,
    /// Of two snapshots that contradict each other: a transaction that only this one's shows, and one that
    /// only the opponent's shows.
    pub apart: Option<(TxnId, TxnId)>,
    /// Commit timestamps that had to be assumed.
    pub assumed: Vec<Assumed>,
}
