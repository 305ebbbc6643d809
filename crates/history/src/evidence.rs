//! Evidence beside the values: when things happened, by the client's clock and by the server's.

/// The client's interval: before the request was sent, after the answer was received.
///
/// Either side may be missing: a completion without its invocation has no beginning, a lost
/// connection has no end. The unit is the history's [`Clock`](crate::Clock).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Before the request was sent.
    pub begin: Option<i64>,
    /// After the answer was received; `None` if none ever came.
    pub end: Option<i64>,
}

impl Interval {
    /// An interval with both sides.
    pub const fn new(begin: i64, end: i64) -> Interval {
        Interval { begin: Some(begin), end: Some(end) }
    }

    /// Whether neither side is known.
    pub const fn is_empty(self) -> bool {
        self.begin.is_none() && self.end.is_none()
    }
}

/// A database timestamp: physical time and a logical counter, compared in that order. Plain 64-bit
/// timestamps have a logical part of zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Timestamp {
    /// The physical part, or the whole timestamp.
    pub physical: i64,
    /// The logical part of a hybrid timestamp.
    pub logical: i64,
}

impl Timestamp {
    /// A plain 64-bit timestamp.
    pub const fn plain(physical: i64) -> Timestamp {
        Timestamp { physical, logical: 0 }
    }
}

/// A snapshot in PostgreSQL's sense: which transactions were visible.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Every transaction below it had ended.
    pub xmin: i64,
    /// No transaction from it on had started.
    pub xmax: i64,
    /// The transactions between the two that were still running.
    pub in_progress: Vec<i64>,
}

impl Snapshot {
    /// Whether the snapshot shows the effects of the transaction with that server identifier,
    /// provided that it committed.
    ///
    /// ```
    /// let s = isolde_history::Snapshot { xmin: 100, xmax: 105, in_progress: vec![102] };
    /// assert!(s.shows(99) && s.shows(101) && !s.shows(102) && !s.shows(105));
    /// ```
    pub fn shows(&self, xid: i64) -> bool {
        xid < self.xmin || (xid < self.xmax && !self.in_progress.contains(&xid))
    }

    /// How many numbers of transactions the snapshot shows, be they given to committed ones or not. A server takes
    /// every snapshot under one lock, so of two snapshots the later one shows all that the earlier one shows: this is
    /// its place among all of them, until the server is started again.
    ///
    /// ```
    /// let s = isolde_history::Snapshot { xmin: 100, xmax: 105, in_progress: vec![100, 102] };
    /// assert_eq!(s.shown(), 103);
    /// ```
    pub fn shown(&self) -> i64 {
        let end = self.xmax.max(self.xmin);
        let running = self.in_progress.iter().copied();
        let mut running: Vec<i64> = running.filter(|id| (self.xmin..end).contains(id)).collect();
        running.sort_unstable();
        running.dedup();
        end.saturating_sub(running.len() as i64)
    }
}

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    /// The server confirmed the commit.
    #[default]
    Committed = 0,
    /// The server or the client rolled it back, or the connection was lost before COMMIT was sent.
    Aborted = 1,
    /// The answer to COMMIT was lost: it may have committed, even much later.
    Unknown = 2,
}

impl Outcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Outcome; 3] = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown];

    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Committed => "committed",
            Outcome::Aborted => "aborted",
            Outcome::Unknown => "unknown",
        }
    }

    /// The outcome of that [`name`](Outcome::name).
    pub fn from_name(name: &[u8]) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.name().as_bytes() == name)
    }
}

/// The strength of the lock that a statement takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockMode {
    /// A plain read.
    None,
    /// PostgreSQL's FOR KEY SHARE.
    KeyShare,
    /// FOR SHARE, LOCK IN SHARE MODE.
    Share,
    /// PostgreSQL's FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// FOR UPDATE, and every plain write.
    Exclusive,
}

impl LockMode {
    /// Every mode, weakest first.
    pub const ALL: [LockMode; 5] = [
        LockMode::None,
        LockMode::KeyShare,
        LockMode::Share,
        LockMode::NoKeyUpdate,
        LockMode::Exclusive,
    ];

    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            LockMode::None => "none",
            LockMode::KeyShare => "key-share",
            LockMode::Share => "share",
            LockMode::NoKeyUpdate => "no-key-update",
            LockMode::Exclusive => "exclusive",
        }
    }

    /// The mode of that [`name`](LockMode::name).
    pub fn from_name(name: &str) -> Option<LockMode> {
        LockMode::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// Where in a transaction the server ended it by itself: undid what it had done and let go of its
/// locks. A client that still has to say ROLLBACK comes after that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EndedAt {
    /// At BEGIN: it never was.
    Begin,
    /// At the statement of that number, counted from 0 within the transaction.
    Statement(u32),
    /// At COMMIT, which was refused.
    Commit,
}

/// What kind of error ended a transaction or a statement, whatever the server calls it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ErrorClass {
    /// Another transaction was in the way, and waiting would not have helped: serialization
    /// failures, write conflicts, snapshots that are too old.
    Serialization,
    /// Each waited for the other.
    Deadlock,
    /// A lock was not to be had in time.
    LockTimeout,
    /// The statement took too long.
    StatementTimeout,
    /// A constraint would have been violated.
    Constraint,
    /// No answer came, or the server hung up.
    ConnectionLost,
    /// Anything else.
    #[default]
    Other,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [ErrorClass; 7] = [
        ErrorClass::Serialization,
        ErrorClass::Deadlock,
        ErrorClass::LockTimeout,
        ErrorClass::StatementTimeout,
        ErrorClass::Constraint,
        ErrorClass::ConnectionLost,
        ErrorClass::Other,
    ];

    /// The name used in files, reports and the protocol of drivers.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorClass::Serialization => "serialization",
            ErrorClass::Deadlock => "deadlock",
            ErrorClass::LockTimeout => "lock-timeout",
            ErrorClass::StatementTimeout => "statement-timeout",
            ErrorClass::Constraint => "constraint",
            ErrorClass::ConnectionLost => "connection-lost",
            ErrorClass::Other => "other",
        }
    }

    /// The class of that [`name`](ErrorClass::name).
    pub fn from_name(name: &str) -> Option<ErrorClass> {
        ErrorClass::ALL.into_iter().find(|c| c.name() == name)
    }
}
