//! The handle by which a job is ended from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a job: its runs, its check, or both. Clones are handles of the same job; two jobs have two.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<Flags>);

#[derive(Default, Debug)]
struct Flags {
    run: AtomicBool,
    check: AtomicBool,
}

impl Stop {
    /// A handle that nothing has been done with.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Ends the run that is going on; what was recorded is still checked. No other run begins.
    pub fn end_run(&self) {
        self.0.run.store(true, Ordering::SeqCst);
    }

    /// Ends the check that is going on: what is not decided by now is unknown. No other one begins.
    pub fn end_check(&self) {
        self.0.check.store(true, Ordering::SeqCst);
    }

    /// Whether the run is to end.
    pub fn run_ended(&self) -> bool {
        self.0.run.load(Ordering::SeqCst)
    }

    /// Whether the check is to end.
    pub fn check_ended(&self) -> bool {
        self.0.check.load(Ordering::SeqCst)
    }

    /// What a run asks.
    pub fn run_flag(&self) -> &AtomicBool {
        &self.0.run
    }

    /// What a check asks.
    pub(crate) fn check_flag(&self) -> &AtomicBool {
        &self.0.check
    }
}
