//! When transactions happened, as the server itself says, and what the order of their commits is worth.

use isolde_history::Timestamp;

/// What the server says of when a transaction started and committed. True ones: if the server's own
/// timestamps contradict each other or what was read, that is for a checker to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    /// When its snapshot was taken; nothing if it had none, or the server does not tell.
    pub start: Option<Timestamp>,
    /// When its versions were installed, or it ended.
    pub commit: Option<Timestamp>,
}

impl Timestamps {
    /// Plain 64-bit timestamps, one for the start and one for the commit.
    pub const fn plain(start: i64, commit: i64) -> Timestamps {
        let (start, commit) = (Timestamp::plain(start), Timestamp::plain(commit));
        Timestamps { start: Some(start), commit: Some(commit) }
    }
}

/// What a server claims of the order of its commit timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CommitOrder {
    /// Nothing.
    #[default]
    Unsaid,
    /// It is a serial order: a transaction that wrote behaves as if all of it ran at its commit timestamp.
    Serial(ReadsAt),
}

/// Where transactions that only read stand in a serial order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadsAt {
    /// At their start.
    #[default]
    Start,
    /// At their commit timestamp: the server has looked once more at all that they read.
    Commit,
}
