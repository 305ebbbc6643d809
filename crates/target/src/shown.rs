//! What a server shows beside its answers: snapshots, its own identifiers of transactions, all versions of its
//! rows. Only servers that were opened with [`OpenOptions::show`](crate::OpenOptions) show any of it.

use isolde_history::{OpKind, Outcome, Snapshot};

use crate::timestamps::Timestamps;

/// What a server shall show beside its answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// Which transactions each snapshot shows (PostgreSQL).
    Snapshots,
    /// Every version of every row (MariaDB, etcd).
    Versions,
}

impl Show {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Show::Snapshots => "snapshots",
            Show::Versions => "versions",
        }
    }

    /// The databases that can, as the end of a sentence.
    pub(crate) const fn shown_by(self) -> &'static str {
        match self {
            Show::Snapshots => "PostgreSQL does",
            Show::Versions => "MariaDB with InnoDB does, and etcd",
        }
    }
}

/// A transaction as the server numbers it. A server that crashes gives a number again whose record it never
/// wrote to disk, so a number means something only between two starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ServerTxn {
    /// How often the server had been started again since it was opened.
    pub restart: u32,
    /// Its number.
    pub id: i64,
}

/// What a snapshot belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotOf {
    /// The whole transaction reads from it.
    Transaction,
    /// The access that was done last reads from it, and no other one.
    Statement,
}

/// A transaction whose COMMIT got no final answer.
#[derive(Clone, Copy, Debug)]
pub struct InDoubt<'w> {
    /// Its number, if the server had told it.
    pub txn: Option<ServerTxn>,
    /// What it had written when it asked for the commit, in that order.
    pub writes: &'w [Written],
}

/// What became of such a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResolvedOutcome {
    /// Its outcome, as far as the server can tell.
    pub outcome: Outcome,
    /// When it committed, where the server tells that of others.
    pub timestamps: Timestamps,
}

impl From<Outcome> for ResolvedOutcome {
    fn from(outcome: Outcome) -> ResolvedOutcome {
        ResolvedOutcome { outcome, timestamps: Timestamps::default() }
    }
}

/// What a transaction wrote. No other one wrote the same value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// The number of the table.
    pub table: u32,
    /// The row.
    pub row: u32,
    /// `Append`, or any other kind that writes.
    pub kind: OpKind,
    /// What was written or appended.
    pub value: i64,
}

/// All versions of the rows of one table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableVersions {
    /// The rows of which there is any version.
    pub rows: Vec<RowVersions>,
}

/// All versions that a row ever had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowVersions {
    /// The row.
    pub row: u32,
    /// The values, or the elements of a list; oldest first if they are in order.
    pub values: Vec<i64>,
    /// Why they are in no order, if the server does not show one.
    pub unordered: Option<String>,
}

/// A snapshot, and what it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenSnapshot {
    /// What it belongs to.
    pub of: SnapshotOf,
    /// Which transactions it shows, of those that began since the same start of the server.
    pub snapshot: Snapshot,
    /// How often the server had been started again since it was opened.
    pub restart: u32,
}
