//! A whole run: connect, make tables, start the sessions, watch, end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use isolde_history::{InitialState, SinkError, Value};
use isolde_target::{After, Failure, Offer, Session, Target};
use isolde_workload::{Kind, Workload};

use crate::client::Client;

use crate::clock::RunClock;
use crate::faults::{self, Happened, Mischief};
use crate::gate::Gate;
use crate::options::Options;
use crate::paths::Paths;
use crate::recorder::Recorder;
use crate::shared::Shared;
use crate::tables::Tables;
use crate::tally::{Progress, Tally, Trouble};
use crate::tape::Tape;

/// How many attempts may wait for the recorder; beyond it the sessions wait.
const WAITING: usize = 16 * 1024;
/// How often whoever watches is told how far the run is.
const WATCH_EVERY: Duration = Duration::from_millis(100);

/// A run that is over.
#[derive(Clone, PartialEq, Debug)]
pub struct Ran {
    /// The final counts.
    pub progress: Progress,
    /// What went wrong, the most frequent first.
    pub troubles: Vec<Trouble>,
    /// Why sessions gave up before the end, if some did.
    pub gave_up: Vec<Failure>,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// How many tables it made.
    pub tables: u32,
    /// What went wrong on purpose.
    pub faults: Vec<Happened>,
}

/// Why a run could not be made, or not be recorded.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The first connections could not be made.
    #[error("cannot connect: {0}")]
    Connect(Failure),
    /// The target cannot have these faults.
    #[error("{0}")]
    Fault(String),
    /// The first table could not be made.
    #[error("cannot make a table: {0}")]
    Table(Failure),
    /// The record could not be written; what was saved before is still there.
    #[error("the record ended after {} transactions: {error}", ran.progress.txns)]
    Record {
        /// What the tape said.
        error: SinkError,
        /// The run until then.
        ran: Box<Ran>,
    },
}

/// How a run is watched and stopped.
pub struct Controls<'c> {
    /// Ends the run when somebody sets it.
    pub stop: &'c AtomicBool,
    /// Called ten times a second with the counts.
    pub watch: &'c mut dyn FnMut(&Progress),
}

/// Runs a workload on a database and records every attempt.
///
/// The connections and the first table are made before the clock starts.
pub fn run(
    target: &dyn Target,
    offer: &Offer,
    workload: &Workload,
    options: &Options,
    tape: &mut dyn Tape,
    controls: &mut Controls<'_>,
) -> Result<Ran, RunError> {
    faults::check(target, &options.faults).map_err(RunError::Fault)?;
    let sessions = workload.settings().sessions;
    let shared = Shared {
        target,
        offer,
        options,
        sessions,
        rows: workload.settings().keys,
        paths: Paths::new(target, &options.paths),
        tables: Tables::new(target, workload, options.first_table),
        tally: Tally::default(),
        clock: RunClock::start(),
        next_session: AtomicU32::new(sessions),
        remembers: workload.settings().kind == Kind::Cas,
    };
    shared.tables.ensure(0).map_err(RunError::Table)?;
    let connect = |client| target.connect_client(offer, client);
    let connections: Result<Vec<_>, _> = (0..sessions).map(connect).collect();
    let connections = connections.map_err(RunError::Connect)?;
    let initial = if workload.starts_filled() { Value::from_u32(0) } else { Value::ABSENT };
    tape.meta().initial = InitialState::every(initial);
    // The clock starts when everything is ready: what is counted is the workload.
    let shared = Shared { clock: RunClock::start(), ..shared };
    let (ran, recorded) = play(&shared, workload, connections, tape, controls);
    match recorded {
        Ok(()) => Ok(ran),
        Err(error) => Err(RunError::Record { error, ran: Box::new(ran) }),
    }
}

/// Lets all sessions run to the end.
fn play(
    shared: &Shared<'_>,
    workload: &Workload,
    connections: Vec<Box<dyn Session>>,
    tape: &mut dyn Tape,
    controls: &mut Controls<'_>,
) -> (Ran, Result<(), SinkError>) {
    let (sender, receiver) = sync_channel(WAITING);
    let recorder = Recorder::new(tape, shared);
    // All sessions begin together: a fast engine would otherwise be through with a short run before
    // the last thread has started.
    let gate = Gate::default();
    let (ran, recorded) = thread::scope(|scope| {
        let mut clients = Vec::with_capacity(connections.len());
        let mut refused = None;
        for (connection, number) in connections.into_iter().zip(0..) {
            let script = workload.script(number);
            let client = Client::new(shared, number, script, sender.clone(), connection);
            let gate = &gate;
            let body = move || if gate.wait() { client.run() } else { Ok(()) };
            match thread::Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => clients.push(thread),
                Err(error) => {
                    refused = Some(Failure::new(After::Lost, "thread", error.to_string()));
                }
            }
        }
        gate.open(refused.is_none());
        let mischief = Mischief {
            target: shared.target,
            faults: &shared.options.faults,
            seed: workload.settings().seed,
            sessions: shared.sessions,
            clock: shared.clock,
            tally: &shared.tally,
            record: sender,
        };
        let mischief = scope.spawn(move || mischief.play());
        let recorder = scope.spawn(move || {
            let done = recorder.run(&receiver);
            if done.is_err() {
                // Nothing is worth doing that nobody will know of.
                shared.tally.end();
            }
            done
        });
        let interrupted = watch(shared, &clients, controls);
        let gave_up = clients.into_iter().filter_map(|c| ended(c.join()).err());
        let gave_up = gave_up.chain(refused).collect();
        let progress = shared.tally.progress(shared.clock.elapsed());
        // Nobody is left for whom a server should be away.
        shared.tally.end();
        let faults = mischief.join().unwrap_or_default();
        let recorded = recorder.join().unwrap_or_else(|_| Err(SinkError::Io(PANIC.to_owned())));
        let (troubles, tables) = (shared.tally.troubles(), shared.tables.count());
        (Ran { progress, troubles, gave_up, interrupted, tables, faults }, recorded)
    });
    if ran.gave_up.iter().any(|failure| failure.code == PANIC) {
        // What that session was doing is missing in the record.
        tape.meta().complete = false;
    }
    (ran, recorded)
}

/// The code of a session that failed in a way that it should not.
const PANIC: &str = "panic";

fn ended(joined: thread::Result<Result<(), Failure>>) -> Result<(), Failure> {
    joined.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Failure::new(After::Lost, PANIC, text.unwrap_or_else(|| "no message".to_owned())))
    })
}

/// Waits until all sessions have ended; tells them to, when it is time. Whether the user did.
fn watch<T>(
    shared: &Shared<'_>,
    clients: &[ScopedJoinHandle<'_, T>],
    controls: &mut Controls<'_>,
) -> bool {
    let most = shared.options.limits.duration;
    let mut watched = Duration::ZERO;
    let mut interrupted = false;
    // How many attempts had ended, and since when there has been no other one.
    let (mut ended, mut since) = (0, Duration::ZERO);
    while !clients.iter().all(ScopedJoinHandle::is_finished) {
        let elapsed = shared.clock.elapsed();
        if controls.stop.load(Ordering::Relaxed) {
            interrupted = true;
        }
        if interrupted || most.is_some_and(|most| elapsed >= most) {
            shared.tally.end();
        }
        if elapsed >= watched + WATCH_EVERY {
            let progress = shared.tally.progress(elapsed);
            let now = progress.committed + progress.aborted + progress.unknown;
            // With a rate, sessions are silent because they wait for their turn.
            if now != ended || (shared.options.rate.is_some() && !shared.tally.is_over()) {
                (ended, since) = (now, elapsed);
            }
            (controls.watch)(&Progress { silence: elapsed - since, ..progress });
            watched = elapsed;
        }
        thread::sleep(Duration::from_millis(2));
    }
    interrupted
}
