//! How to run.

use std::time::Duration;

use crate::faults::Fault;
use crate::paths::PathChoice;

/// When to stop: whichever comes first.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Limits {
    /// After so many transactions, whatever becomes of them (retries not counted).
    pub txns: Option<u64>,
    /// After so many commits.
    pub commits: Option<u64>,
    /// After so much time.
    pub duration: Option<Duration>,
}

/// How to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// When to stop.
    pub limits: Limits,
    /// How many transactions to start a second, over all sessions; as many as possible if not given.
    pub rate: Option<f64>,
    /// How often a transaction is tried again after an abort. Every attempt writes fresh values and
    /// is recorded.
    pub retries: u32,
    /// How long a session tries to connect again before it gives up.
    pub patience: Duration,
    /// How long no attempt may end, or nothing else come back from the database, before it is said to
    /// hang and is left behind. Statements of servers time out before that; it is engines in this
    /// process that can hang.
    pub hang_after: Duration,
    /// Which access paths to take.
    pub paths: PathChoice,
    /// What goes wrong on purpose.
    pub faults: Vec<Fault>,
    /// The number of the first table. Runs on the same target need different ones: what an earlier
    /// run left behind would look as if it came out of thin air.
    pub first_table: u32,
    /// Whether to record when each statement was sent and answered, beside the transaction.
    pub statement_times: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            limits: Limits::default(),
            rate: None,
            retries: 0,
            patience: Duration::from_secs(5),
            hang_after: Duration::from_secs(60),
            paths: PathChoice::Random,
            faults: Vec::new(),
            first_table: 0,
            statement_times: true,
        }
    }
}
