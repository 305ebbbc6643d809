//! Ctrl-C. During a run: once to end it and check what was recorded, twice to stop at once. During a
//! check: once to end it and say what is known.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use isolde_job::Stop;
use isolde_spec::Verdict;

use crate::exit::{EXIT_INTERRUPTED, EXIT_VIOLATED};

/// How long a check that is asked to end may take to say itself what it knows.
const PATIENCE: Duration = Duration::from_millis(400);

/// What signals bring about. Clones are the same.
#[derive(Clone)]
pub(crate) struct Interrupts {
    stop: Stop,
    state: Arc<State>,
    /// Ends `main`, and with it the process.
    exit: Sender<u8>,
}

#[derive(Default)]
struct State {
    /// How often a signal was meant for the run.
    pressed: AtomicU8,
    /// How often there was a signal after a check that was stopped.
    again: AtomicU8,
    /// Whether a check is going on.
    checking: AtomicBool,
    /// What the check that is going on has decided so far.
    known: Mutex<Vec<(String, Option<bool>)>>,
}

impl Interrupts {
    /// Until one of the `listen` functions is called, signals end the process.
    pub(crate) fn new(exit: Sender<u8>) -> Interrupts {
        Interrupts { stop: Stop::new(), state: Arc::default(), exit }
    }

    /// What ends the job of this command.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// From now on the first Ctrl-C (or SIGTERM, SIGHUP) ends the run, and the second one everything;
    /// while a check is going on, the first one ends the check. Servers that were started for the run go
    /// away with the process, whichever way it ends.
    pub(crate) fn listen(&self) -> Result<()> {
        let own = self.clone();
        ctrlc::set_handler(move || {
            if own.is_for_the_check() {
                return;
            }
            if own.state.pressed.fetch_add(1, Ordering::SeqCst) > 0 {
                anstream::eprintln!(
                    "\nstopped; a server of yours may be left with tables isolde_..."
                );
                return own.end(EXIT_INTERRUPTED);
            }
            own.stop.end_run();
            anstream::eprintln!("\nending the run; once more to stop at once");
        })
        .context("cannot listen for Ctrl-C")
    }

    /// From now on Ctrl-C ends a check that is going on, and everything else at once.
    pub(crate) fn listen_for_checks(&self) -> Result<()> {
        let own = self.clone();
        ctrlc::set_handler(move || {
            if !own.is_for_the_check() {
                own.end(EXIT_INTERRUPTED);
            }
        })
        .context("cannot listen for Ctrl-C")
    }

    /// `main` may have ended already.
    fn end(&self, code: u8) {
        let _ = self.exit.send(code);
    }

    /// Whether a signal was meant for a check, and then ends the check. Some programs send a signal to
    /// the process and to its group, so that it comes twice: what the first one brought about is not
    /// disturbed.
    fn is_for_the_check(&self) -> bool {
        if self.state.checking.load(Ordering::SeqCst) {
            self.end_check();
            return true;
        }
        // The check has ended, and what is known is being said; whoever presses on does not want to know.
        self.stop.check_ended() && self.state.again.fetch_add(1, Ordering::SeqCst) == 0
    }

    /// Asks the check to end. It does so by itself, and then says what it knows, unless it is in a step
    /// that asks too seldom: then what was decided so far is said here. A second signal does not wait.
    fn end_check(&self) {
        if !self.stop.check_ended() {
            self.stop.end_check();
            std::thread::sleep(PATIENCE);
        }
        if !self.state.checking.load(Ordering::SeqCst) {
            return;
        }
        let known = self.state.known.lock().unwrap_or_else(PoisonError::into_inner);
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
        self.end(if violated { EXIT_VIOLATED } else { EXIT_INTERRUPTED });
    }

    /// A check begins.
    pub(crate) fn check_begins(&self) {
        self.state.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.state.checking.store(true, Ordering::SeqCst);
    }

    /// Something was decided.
    pub(crate) fn decided(&self, verdict: &Verdict) {
        let known = (verdict.promise.level.to_string(), verdict.holds());
        self.state.known.lock().unwrap_or_else(PoisonError::into_inner).push(known);
    }

    /// The check is over.
    pub(crate) fn check_ends(&self) {
        self.state.checking.store(false, Ordering::SeqCst);
    }
}
