//! How far a check may go: time, a stop, memory, steps.
//!
//! One [`Limits`] bounds a whole check, however many promises are asked about. Every step that is not
//! linear asks it, and every large table is counted against its bytes. Where a limit is reached, the
//! answer is unknown and names the limit, how far the check came, and the option that raises it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// What bounds a check.
///
/// The checker has no clock: the caller that gives a time also says when it is over.
///
/// ```
/// use std::time::{Duration, Instant};
/// use isolde_check::{Checker, Limits, Options};
/// use isolde_history::notation::parse;
/// use isolde_spec::{Level, Promise};
///
/// let history = parse("a: w(x,1)\nb: r(x,1)").unwrap();
/// let end = Instant::now() + Duration::from_secs(10);
/// let late = || Instant::now() >= end;
/// let limits = Limits::default().with_time(&late).with_bytes(500 << 20);
/// let checker = Checker::with_limits(&history, Options::default(), limits);
/// assert_eq!(checker.check(Promise::of(Level::Serializable)).holds(), Some(true));
/// ```
pub struct Limits<'l> {
    late: Option<&'l (dyn Fn() -> bool + Sync)>,
    stop: Option<&'l AtomicBool>,
    bytes: usize,
    steps: u64,
    /// How many bytes are held now.
    held: Arc<AtomicUsize>,
    /// Whether time was over or a stop was asked for: neither ever ends.
    over: AtomicU8,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// That of steps.
    Steps,
    /// That of the memory of the whole check.
    Memory,
    /// That of the memory of one search.
    SearchMemory,
    /// That of time.
    Time,
    /// The check was asked to stop.
    Stopped,
}

const TIME_IS_OVER: u8 = 1;
const STOPPED: u8 = 2;

/// How many steps a search may take.
pub(crate) const STEPS: u64 = 50_000_000;

impl Default for Limits<'_> {
    fn default() -> Self {
        Limits {
            late: None,
            stop: None,
            bytes: usize::MAX,
            steps: STEPS,
            held: Arc::default(),
            over: AtomicU8::new(0),
        }
    }
}

impl fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits")
            .field("timed", &self.late.is_some())
            .field("stop", &self.stop)
            .field("bytes", &self.bytes)
            .field("steps", &self.steps)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl<'l> Limits<'l> {
    /// Ends the check when `late` says so.
    #[must_use]
    pub fn with_time(self, late: &'l (dyn Fn() -> bool + Sync)) -> Limits<'l> {
        Limits { late: Some(late), ..self }
    }

    /// Ends the check when the flag is set.
    #[must_use]
    pub fn with_stop(self, stop: &'l AtomicBool) -> Limits<'l> {
        Limits { stop: Some(stop), ..self }
    }

    /// How many bytes the check may hold, with the history.
    #[must_use]
    pub fn with_bytes(self, bytes: usize) -> Limits<'l> {
        Limits { bytes, ..self }
    }

    /// How many steps each search may take.
    #[must_use]
    pub fn with_steps(self, steps: u64) -> Limits<'l> {
        Limits { steps, ..self }
    }

    /// How many steps each search may take.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether the check may go on: no time is over, and it was not asked to stop.
    pub(crate) fn go_on(&self) -> Result<(), Limit> {
        match self.over.load(Ordering::Relaxed) {
            TIME_IS_OVER => return Err(Limit::Time),
            STOPPED => return Err(Limit::Stopped),
            _ => {}
        }
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            self.over.store(STOPPED, Ordering::Relaxed);
            return Err(Limit::Stopped);
        }
        if self.late.is_some_and(|late| late()) {
            self.over.store(TIME_IS_OVER, Ordering::Relaxed);
            return Err(Limit::Time);
        }
        Ok(())
    }

    /// Counts bytes that are about to be used, for as long as what comes back is kept.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Held, Limit> {
        let more = |held: usize| held.checked_add(bytes).filter(|all| *all <= self.bytes);
        let update = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        update.map(|_| Held { held: self.held.clone(), bytes }).map_err(|_| Limit::Memory)
    }

    /// How many bytes may be held in all.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    held: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Asks limits now and then: a clock costs more than a step.
pub(crate) struct Pace<'c, 'l> {
    limits: &'c Limits<'l>,
    left: u32,
}

/// How many small steps go by between two questions: some microseconds.
const STRIDE: u32 = 4096;

impl<'c, 'l> Pace<'c, 'l> {
    pub(crate) fn new(limits: &'c Limits<'l>) -> Pace<'c, 'l> {
        Pace { limits, left: STRIDE }
    }

    /// A small step was taken.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<(), Limit> {
        self.steps(1)
    }

    /// Some small steps were taken.
    #[inline]
    pub(crate) fn steps(&mut self, count: usize) -> Result<(), Limit> {
        match self.left.checked_sub(u32::try_from(count).unwrap_or(u32::MAX)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = STRIDE;
                self.limits.go_on()
            }
        }
    }
}

/// A check that was ended by a limit: which one, and how far it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    pub(crate) limit: Limit,
    /// What was under way: "forced edges were looked for: 3 of 20 keys".
    pub(crate) doing: String,
}

impl Ended {
    /// The reason of an answer that stays unknown. `bytes` is how many may be held.
    pub(crate) fn reason(&self, bytes: usize) -> String {
        let doing = &self.doing;
        match self.limit {
            Limit::Steps => {
                format!("the limit of steps was reached while {doing} (--order-steps allows more)")
            }
            Limit::Memory => format!(
                "{} MB of memory are not enough for {doing} (--memory allows more)",
                bytes >> 20
            ),
            Limit::SearchMemory => {
                format!(
                    "one search may not have the memory for {doing} (--order-memory allows more)"
                )
            }
            Limit::Time => {
                format!("the time was over while {doing} (--timeout allows more)")
            }
            Limit::Stopped => format!("the check was stopped while {doing}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_while_they_are_held() {
        let limits = Limits::default().with_bytes(100);
        let sixty = limits.hold(60).ok();
        assert!(sixty.is_some() && limits.hold(41).is_err());
        assert!(limits.hold(40).is_ok());
        drop(sixty);
        assert!(limits.hold(100).is_ok());
        assert_eq!(limits.hold(usize::MAX).err(), Some(Limit::Memory));
    }

    #[test]
    fn what_is_over_stays_over() {
        let stop = AtomicBool::new(true);
        let limits = Limits::default().with_stop(&stop);
        assert_eq!(limits.go_on(), Err(Limit::Stopped));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(limits.go_on(), Err(Limit::Stopped));
        let late = || true;
        assert_eq!(Limits::default().with_time(&late).go_on(), Err(Limit::Time));
        assert_eq!(Limits::default().go_on(), Ok(()));
    }

    #[test]
    fn a_pace_asks_in_the_end() {
        let late = || true;
        let limits = Limits::default().with_time(&late);
        let mut pace = Pace::new(&limits);
        assert!((0..2 * STRIDE).any(|_| pace.step().is_err()));
        assert!(Pace::new(&limits).steps(usize::MAX).is_err());
    }
}
