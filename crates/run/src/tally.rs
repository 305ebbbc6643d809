//! What has happened so far, counted while it happens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hashbrown::HashMap;
use isolde_history::Outcome;
use isolde_target::Failure;

/// The counts of a run at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    /// How long it has been running.
    pub elapsed: Duration,
    /// Transactions begun, retries not counted.
    pub txns: u64,
    /// Attempts that committed.
    pub committed: u64,
    /// Attempts that were aborted.
    pub aborted: u64,
    /// Attempts whose outcome is unknown.
    pub unknown: u64,
    /// Attempts whose COMMIT got no answer, and of which the server could tell later what became of them. They
    /// are counted as what they became.
    pub resolved: u64,
    /// Lost connections.
    pub lost: u64,
    /// How long no attempt has ended, while some session is inside the database: a server's statements
    /// time out, an engine in this process may hang for ever.
    pub silence: Duration,
}

impl Progress {
    /// Which share of the attempts was aborted, from 0 to 1.
    pub fn abort_rate(&self) -> f64 {
        let attempts = self.committed + self.aborted + self.unknown;
        if attempts == 0 { 0.0 } else { self.aborted as f64 / attempts as f64 }
    }

    /// Commits a second.
    pub fn commits_per_second(&self) -> f64 {
        self.committed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// A kind of failure, and how often it occurred.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// The server's code.
    pub code: String,
    /// How often.
    pub count: u64,
    /// What the first one said.
    pub message: String,
    /// Whether it belongs to the normal course of concurrent transactions.
    pub expected: bool,
}

/// How many different kinds of failure are told apart.
const MAX_TROUBLES: usize = 64;

/// What all sessions count together.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) txns: AtomicU64,
    pub(crate) committed: AtomicU64,
    aborted: AtomicU64,
    unknown: AtomicU64,
    resolved: AtomicU64,
    lost: AtomicU64,
    /// Set when the run shall end.
    over: AtomicBool,
    troubles: Mutex<HashMap<String, Trouble>>,
}

impl Tally {
    pub(crate) fn count(&self, outcome: Outcome) {
        let counter = match outcome {
            Outcome::Committed => &self.committed,
            Outcome::Aborted => &self.aborted,
            Outcome::Unknown => &self.unknown,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn resolve(&self) {
        self.resolved.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn trouble(&self, failure: &Failure) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trouble) = troubles.get_mut(&failure.code) {
            trouble.count += 1;
        } else if troubles.len() < MAX_TROUBLES {
            let trouble = Trouble {
                code: failure.code.clone(),
                count: 1,
                message: failure.message.clone(),
                expected: failure.expected,
            };
            troubles.insert(failure.code.clone(), trouble);
        }
    }

    /// The kinds of failure, the most frequent first.
    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        let troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Trouble> = troubles.values().cloned().collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.code.cmp(&b.code)));
        all
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn progress(&self, elapsed: Duration) -> Progress {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Progress {
            elapsed,
            txns: get(&self.txns),
            committed: get(&self.committed),
            aborted: get(&self.aborted),
            unknown: get(&self.unknown),
            resolved: get(&self.resolved),
            lost: get(&self.lost),
            silence: Duration::ZERO,
        }
    }
}
