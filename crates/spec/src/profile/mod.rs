//! How a server keeps one of its isolation levels: which mechanisms it uses, and what they do at which statement.
//!
//! A client that knows only when it sent a statement and when the answer came can still hold a server to its own
//! mechanisms. What these are is data: one [`Profile`] for each server and level, compiled in or read from a file.

mod builtin;
mod error;
mod parse;
mod spelling;
mod words;

#[cfg(test)]
mod tests;

use isolde_history::LockMode;

use crate::level::{By, Level, Promise};

pub use error::{ProfileError, ProfileProblem, UnknownProfile};

/// The mechanisms of one isolation level of one server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// The server, as the header of a history names it.
    pub server: String,
    /// The server's own name of the level.
    pub level: String,
    /// The level that its mechanisms amount to.
    pub promises: Level,
    /// How it is known that the server works like that.
    pub known_by: KnownBy,
    /// What plain reads see.
    pub reads: PlainReads,
    /// What reads that lock their rows see.
    pub locking_reads: LockingReads,
    /// Which statement takes the snapshot of a transaction, if it has one.
    pub snapshot_at: SnapshotAt,
    /// What is locked, if anything is.
    pub locks: LockScope,
    /// Which locks statements take that do not say so.
    pub modes: LockModes,
    /// Whether a statement that locks rows locks the range of keys that it looked at, too, so that nothing is inserted there.
    pub range_locks: bool,
    /// Whether a rollback to a savepoint lets go of the locks that were taken since.
    pub savepoints_release_locks: bool,
    /// Whether of two transactions that wrote a row only one may commit, unless one of them began after the other had
    /// ended: first updater wins, or first committer wins.
    pub first_updater_wins: bool,
    /// Whether an update that changes nothing may leave no version: then the transaction sees what it saw before.
    pub idle_updates_vanish: bool,
    /// How serialization anomalies are prevented.
    pub certifier: Certifier,
    /// Errors after which the server itself has ended the transaction; `*` is any. For traces that do not say so.
    pub ending_errors: Vec<String>,
}

/// How it is known that a server works as its profile says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnownBy {
    /// By runs against the server, without a false alarm.
    Runs,
    /// By its documentation alone.
    Documentation,
}

/// What reads see that lock nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainReads {
    /// What was committed when the statement took its snapshot.
    StatementSnapshot,
    /// What was committed when the transaction took its snapshot.
    TransactionSnapshot,
    /// The newest version, under a lock on it.
    Locked,
    /// Also what was not committed: nothing is held against them.
    Uncommitted,
}

/// What reads see that lock their rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockingReads {
    /// The newest committed version once the lock is there.
    Newest,
    /// The snapshot, which is the newest version, too: otherwise the server refuses.
    Snapshot,
}

/// When a transaction takes its snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotAt {
    /// At BEGIN.
    Begin,
    /// At its first statement, whatever that does, unless it is about savepoints.
    FirstStatement,
    /// At its first plain read.
    FirstRead,
    /// At its first plain read at the latest: a statement before that may have taken it.
    ByFirstRead,
}

/// What a lock is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockScope {
    /// There are no locks that a client could notice.
    None,
    /// Rows.
    Rows,
    /// The whole database: there is one writer at a time.
    Database,
    /// The whole database, from BEGIN on, for readers, too.
    WholeTransactions,
}

/// Which locks statements take that do not ask for one by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockModes {
    /// A plain read.
    pub read: LockMode,
    /// An update that leaves the key as it is.
    pub update: LockMode,
    /// An insert.
    pub insert: LockMode,
    /// A delete.
    pub delete: LockMode,
}

/// How serialization anomalies are prevented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certifier {
    /// They are not.
    None,
    /// Somehow: no cycle of dependencies commits.
    Acyclic,
    /// PostgreSQL's serializable snapshot isolation: certain pairs of anti-dependencies do not commit, and so no cycle does.
    Ssi,
    /// Backward validation: nothing that a transaction read was overwritten before it committed.
    BackwardValidation,
    /// Dependencies go from older to newer transactions.
    TimestampOrder,
}

impl Profile {
    /// The name of the server and of its level.
    pub fn name(&self) -> String {
        format!("{} {}", self.server, self.level)
    }

    /// What its mechanisms amount to, as it is asked of client intervals.
    pub fn promise(&self) -> Promise {
        Promise { level: self.promises, session_order: false, by: By::Intervals }
    }

    /// Whether a history of that server at that level is one of this profile's. Case does not matter, nor whether
    /// words are put together by spaces, hyphens or underscores.
    pub fn is_of(&self, server: &str, level: &str) -> bool {
        spelling::server(&self.server) == spelling::server(server)
            && spelling::level(&self.level) == spelling::level(level)
    }
}
