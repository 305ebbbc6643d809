//! One monotonic clock for all sessions of a run.

use std::time::{Duration, Instant};

/// Nanoseconds since the run began. All sessions ask the same clock, so that intervals of different
/// sessions compare without any skew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock(Instant);

impl RunClock {
    pub(crate) fn start() -> RunClock {
        RunClock(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Now, in nanoseconds; the 64 bits last for 292 years.
    pub(crate) fn now(self) -> i64 {
        self.0.elapsed().as_nanos() as i64
    }
}
