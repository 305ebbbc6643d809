//! Signals. During a run: once to end it and check what was recorded, twice to stop at once. During a
//! check: once to end it and say what is known.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use isolde_job::{EndedBy, Stop};
use isolde_spec::Verdict;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{EXIT_VIOLATED, exit_of_signal};

/// How long a check that is asked to end may take to say itself what it knows.
const PATIENCE: Duration = Duration::from_millis(400);
/// Signals this close together are one: `timeout` signals a process and then its group.
const SAME: Duration = Duration::from_millis(500);

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

    /// The exit code of a command that a signal ended, unless it found a violation.
    pub(crate) fn exit_code(&self, code: u8) -> u8 {
        match self.stop.ended_by() {
            Some(by) if code != EXIT_VIOLATED => by.exit_code,
            _ => code,
        }
    }

    /// From now on the first Ctrl-C (or SIGTERM, SIGHUP) ends the run, and the second one everything;
    /// while a check is going on, the first one ends the check. Servers that were started for the run go
    /// away with the process, whichever way it ends.
    pub(crate) fn listen(&self) -> Result<()> {
        let own = self.clone();
        each_signal(move |by| {
            if own.is_for_the_check(by) {
                return;
            }
            if own.state.pressed.fetch_add(1, Ordering::SeqCst) > 0 {
                anstream::eprintln!(
                    "\nstopped; tables isolde_... may be left on a server of yours: isolde clean URL"
                );
                return own.end(by.exit_code);
            }
            own.stop.end_run_by(by);
            anstream::eprintln!("\nending the run; once more to stop at once");
        })
    }

    /// From now on Ctrl-C ends a check that is going on, and everything else at once.
    pub(crate) fn listen_for_checks(&self) -> Result<()> {
        let own = self.clone();
        each_signal(move |by| {
            if !own.is_for_the_check(by) {
                own.end(by.exit_code);
            }
        })
    }

    /// From now on the first Ctrl-C ends a watch, which is its ordinary end, and the second one everything.
    pub(crate) fn listen_for_watch(&self) -> Result<()> {
        let own = self.clone();
        each_signal(move |by| {
            if own.state.pressed.fetch_add(1, Ordering::SeqCst) > 0 {
                return own.end(by.exit_code);
            }
            own.stop.end_run_by(by);
        })
    }

    /// `main` may have ended already.
    fn end(&self, code: u8) {
        let _ = self.exit.send(code);
    }

    /// Whether a signal was meant for a check, and then ends the check.
    fn is_for_the_check(&self, by: EndedBy) -> bool {
        if self.state.checking.load(Ordering::SeqCst) {
            self.end_check(by);
            return true;
        }
        // The check has ended, and the results are being printed: only a second signal cuts that short.
        self.stop.check_ended() && self.state.again.fetch_add(1, Ordering::SeqCst) == 0
    }

    /// Asks the check to end. It does so by itself, and then says what it knows, unless it is in a step
    /// that asks too seldom: then what was decided so far is said here. A second signal does not wait.
    fn end_check(&self, by: EndedBy) {
        if !self.stop.check_ended() {
            self.stop.end_check_by(by);
            thread::sleep(PATIENCE);
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
        self.end(if violated { EXIT_VIOLATED } else { by.exit_code });
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

/// Calls a function for each signal, on a thread of its own.
fn each_signal(mut act: impl FnMut(EndedBy) + Send + 'static) -> Result<()> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted).context("cannot listen for signals")?;
    let listen = move || {
        let mut last: Option<Instant> = None;
        for signal in signals.forever() {
            let now = Instant::now();
            if last.is_none_or(|last| now.duration_since(last) >= SAME) {
                last = Some(now);
                act(ended_by(signal));
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)
        .map(drop)
        .context("cannot start a thread")
}

/// Whether this process was started with that signal ignored, as `nohup` does. Linux tells it.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

fn ended_by(signal: i32) -> EndedBy {
    let name = match signal {
        SIGTERM => "SIGTERM",
        SIGHUP => "SIGHUP",
        _ => "Ctrl-C",
    };
    EndedBy { name, exit_code: exit_of_signal(signal) }
}
