//! Ctrl-C. During a run: once to end it and check what was recorded, twice to stop at once. During a
//! check: once to end it and say what is known.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use isolde_spec::Verdict;

use crate::exit::{EXIT_INTERRUPTED, EXIT_VIOLATED};

/// Set when the user wants the run to end.
pub(crate) static STOP: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicU8 = AtomicU8::new(0);

/// Set when the user wants the check to end.
static CHECK_IS_OVER: AtomicBool = AtomicBool::new(false);
/// Whether a check is going on.
static CHECKING: AtomicBool = AtomicBool::new(false);
/// How often there was a signal after a check that was stopped.
static AGAIN: AtomicU8 = AtomicU8::new(0);
/// What the check that is going on has decided so far.
static KNOWN: Mutex<Vec<(String, Option<bool>)>> = Mutex::new(Vec::new());

/// How long a check that is asked to end may take to say itself what it knows.
const PATIENCE: Duration = Duration::from_millis(400);

/// From now on the first Ctrl-C (or SIGTERM, SIGHUP) sets [`STOP`], and the second one exits; while a
/// check is going on, the first one ends it. Servers that were started for the run go away with the
/// process, whichever way it ends.
pub(crate) fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if is_for_the_check() {
            return;
        }
        if PRESSED.fetch_add(1, Ordering::SeqCst) > 0 {
            anstream::eprintln!("\nstopped; a server of yours may be left with tables isolde_...");
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        }
        STOP.store(true, Ordering::SeqCst);
        anstream::eprintln!("\nending the run; once more to stop at once");
    })
    .context("cannot listen for Ctrl-C")
}

/// From now on Ctrl-C ends a check that is going on, and everything else at once.
pub(crate) fn listen_for_checks() -> Result<()> {
    ctrlc::set_handler(|| {
        if !is_for_the_check() {
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Whether a signal was meant for a check, and then ends the check. Some programs send a signal to the
/// process and to its group, so that it comes twice: what the first one brought about is not disturbed.
fn is_for_the_check() -> bool {
    if CHECKING.load(Ordering::SeqCst) {
        end_check();
        return true;
    }
    // The check has ended, and what is known is being said; whoever presses on does not want to know.
    check_stopped() && AGAIN.fetch_add(1, Ordering::SeqCst) == 0
}

/// Asks the check to end. It does so by itself, and then says what it knows, unless it is in a step that
/// asks too seldom: then what was decided so far is said here. A second signal does not wait.
fn end_check() {
    if !CHECK_IS_OVER.swap(true, Ordering::SeqCst) {
        std::thread::sleep(PATIENCE);
    }
    if !CHECKING.load(Ordering::SeqCst) {
        return;
    }
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    anstream::eprintln!("\nthe check was stopped; what is known so far:");
    for (level, holds) in known.iter() {
        let answer = match holds {
            Some(true) => "holds",
            Some(false) => "violated",
            None => "unknown",
        };
        anstream::eprintln!("{level}: {answer}");
    }
    let violated = known.iter().any(|(_, holds)| *holds == Some(false));
    let code = if violated { EXIT_VIOLATED } else { EXIT_INTERRUPTED };
    std::process::exit(i32::from(code));
}

/// Whether the user wants the run to end.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Set when the user wants the check to end.
pub(crate) fn check_is_over() -> &'static AtomicBool {
    &CHECK_IS_OVER
}

/// Whether the user wanted the check to end.
pub(crate) fn check_stopped() -> bool {
    CHECK_IS_OVER.load(Ordering::SeqCst)
}

/// A check that is going on, until this is dropped.
pub(crate) struct Checking(());

impl Checking {
    pub(crate) fn begin() -> Checking {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clear();
        CHECKING.store(true, Ordering::SeqCst);
        Checking(())
    }

    /// Something was decided.
    pub(crate) fn decided(verdict: &Verdict) {
        let known = (verdict.promise.level.to_string(), verdict.holds());
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).push(known);
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        CHECKING.store(false, Ordering::SeqCst);
    }
}
