//! From what happened to the timestamps that the history says.

use isolde_history::Timestamp;

use super::running::{Act, Running};
use super::span::STEPS;
use super::timestamps::{TimestampStyle, Timestamps};
use crate::random::Random;

/// Turns spans into timestamps.
pub(crate) struct Stamper {
    style: TimestampStyle,
    readers_commit: bool,
    /// By how many steps the clock of each session is ahead of the clock that is furthest behind.
    ahead: Vec<i64>,
    /// By how many steps a clock that is right is ahead of that one.
    right: i64,
    random: Random,
}

/// Numbers of random streams beyond those of any session, and other than those of the clock.
const CLOCKS: u64 = u64::MAX - 3;
const READERS: u64 = u64::MAX - 4;

impl Stamper {
    pub(crate) fn new(timestamps: &Timestamps, sessions: u32, seed: u64) -> Stamper {
        let drift = u64::from(timestamps.drift);
        let mut clocks = Random::stream(seed, CLOCKS);
        let ahead = (0..sessions).map(|_| clocks.below(2 * drift + 1) as i64 * STEPS);
        Stamper {
            style: timestamps.style,
            readers_commit: timestamps.readers_commit,
            ahead: ahead.collect(),
            right: drift as i64 * STEPS,
            random: Random::stream(seed, READERS),
        }
    }

    /// The start and the commit timestamp of a transaction that committed.
    pub(crate) fn committed(
        &mut self,
        session: u32,
        txn: &Running,
    ) -> (Timestamp, Option<Timestamp>) {
        let (start, commit) = (self.start(session, txn), self.at(session, txn, txn.span.commit));
        let reads = |act: &Act| matches!(act, Act::Read { .. } | Act::ListRead { .. });
        if txn.span.planted || !txn.acts.iter().all(reads) {
            return (start, Some(commit));
        }
        // A transaction that wrote nothing needs no commit timestamp. Some databases give it one all the
        // same, some give it its snapshot once more.
        match self.random.below(3) {
            0 if !self.readers_commit => (start, None),
            0 | 1 => (start, Some(start)),
            _ => (start, Some(commit)),
        }
    }

    /// The start timestamp.
    pub(crate) fn start(&self, session: u32, txn: &Running) -> Timestamp {
        self.at(session, txn, txn.span.start)
    }

    fn at(&self, session: u32, txn: &Running, steps: i64) -> Timestamp {
        // What a recipe says would be undone by a clock that is wrong as well.
        let own = self.ahead.get(session as usize).filter(|_| !txn.span.planted);
        self.style.timestamp(steps + own.copied().unwrap_or(self.right))
    }
}
