//! The handle by which a job is ended from outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Ends a job: its runs, its check, or both. Clones are handles of the same job; two jobs have two.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<Flags>);

/// What ended a job, for its results to say: a signal, for instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndedBy {
    /// Its name.
    pub name: &'static str,
    /// The exit code of a command that it ended.
    pub exit_code: u8,
}

#[derive(Default, Debug)]
struct Flags {
    by: OnceLock<EndedBy>,
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

    /// The same, and the results say what ended it. What came first counts.
    pub fn end_run_by(&self, by: EndedBy) {
        let _ = self.0.by.set(by);
        self.end_run();
    }

    /// Ends the check, and the results say what ended it.
    pub fn end_check_by(&self, by: EndedBy) {
        let _ = self.0.by.set(by);
        self.end_check();
    }

    /// What ended the job, if that was said.
    pub fn ended_by(&self) -> Option<EndedBy> {
        self.0.by.get().copied()
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
