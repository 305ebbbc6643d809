//! A whole run: connect, make tables, start the sessions, watch, end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use isolde_history::{InitialState, Sink, SinkError, Value, info};
use isolde_target::{After, CommitOrder, Failure, Offer, ReadsAt, Session, Target};
use isolde_workload::{Kind, Workload};

use crate::client::Client;
use crate::clock::RunClock;
use crate::confirmed::Confirmed;
use crate::faults::{self, Happened, Mischief};
use crate::gate::Gate;
use crate::kept_versions::ShownVersions;
use crate::note::Note;
use crate::options::Options;
use crate::paths::Paths;
use crate::recorder::Recorder;
use crate::shared::Shared;
use crate::shown;
use crate::tables::Tables;
use crate::tally::{Progress, Tally, Trouble};
use crate::tape::Tape;
use crate::threads::{TooManySessions, room_for};
use crate::version_orders::Writers;
use crate::within::{Stuck, within};

/// How many attempts may wait for the recorder; beyond it the sessions wait.
const WAITING: usize = 16 * 1024;
/// How often the watcher is told how far the run is.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// How long sessions may take to end by themselves when others hang.
const FAREWELL: Duration = Duration::from_millis(500);

/// A run that is over.
#[derive(Clone, PartialEq, Debug, Default)]
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
    /// Sessions that hang inside the database and were left behind, if some do.
    pub hung: Option<Hung>,
    /// What else the user should know.
    pub notices: Vec<String>,
    /// What the server showed of the versions of its rows, if it was asked to.
    pub versions: Option<ShownVersions>,
}

/// Sessions that never came back from the database. Their threads cannot be ended, and what they were
/// doing is missing in the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hung {
    /// How many sessions.
    pub sessions: u32,
    /// How long no attempt had ended.
    pub silence: Duration,
}

/// Why a run could not be made, or not be recorded.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunError {
    /// The first connections could not be made.
    #[error("cannot connect: {0}")]
    Connect(Failure),
    /// There are more sessions than threads to be had.
    #[error(transparent)]
    Threads(#[from] TooManySessions),
    /// The target cannot have these faults.
    #[error("{0}")]
    Fault(String),
    /// The first table could not be made.
    #[error("cannot make a table: {0}")]
    Table(Failure),
    /// The database did not come back from making the first table, or from the first connections.
    #[error("the database hangs: it has not answered for {} s", .0.as_secs_f64())]
    Hangs(Duration),
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
    /// Ends the run when it is set.
    pub stop: &'c AtomicBool,
    /// Called ten times a second with the counts.
    pub watch: &'c mut dyn FnMut(&Progress),
}

/// Runs a workload on a database and records every attempt.
///
/// The connections and the first table are made before the clock starts.
pub fn run(
    target: &Arc<dyn Target>,
    offer: &Offer,
    workload: &Workload,
    options: &Options,
    tape: &mut dyn Tape,
    controls: &mut Controls<'_>,
) -> Result<Ran, RunError> {
    faults::check(&**target, &options.faults).map_err(RunError::Fault)?;
    let sessions = workload.settings().sessions;
    room_for(sessions)?;
    let tables = Tables::new(Arc::clone(target), workload, options.first_table);
    let (connections, tables) = prepared(target, *offer, sessions, tables, options.hang_after)?;
    let shared = Arc::new(Shared {
        target: Arc::clone(target),
        offer: *offer,
        options: options.clone(),
        sessions,
        rows: workload.settings().rows(),
        paths: Paths::new(&**target, &options.paths),
        tables,
        tally: Tally::default(),
        // The clock starts when everything is ready: what is counted is the workload.
        clock: RunClock::start(),
        confirmed: Confirmed::default(),
        next_session: AtomicU32::new(sessions),
        remembers: workload.settings().kind == Kind::Cas,
        abandoned: AtomicBool::new(false),
    });
    let initial = if workload.starts_filled() { Value::from_u32(0) } else { Value::ABSENT };
    tape.meta().initial = InitialState::every(initial);
    claim(target.commit_order(offer), tape);
    let (ran, recorded) = play(&shared, workload, connections, tape, controls);
    match recorded {
        Ok(()) => Ok(ran),
        Err(error) => Err(RunError::Record { error, ran: Box::new(ran) }),
    }
}

/// Writes into the record what the database claims of the order of its commit timestamps.
fn claim(order: CommitOrder, tape: &mut dyn Sink) {
    let facts: &[_] = match order {
        CommitOrder::Unsaid => &[],
        CommitOrder::Serial(ReadsAt::Start) => &[(info::COMMIT_ORDER, info::SERIAL)],
        CommitOrder::Serial(ReadsAt::Commit) => {
            &[(info::COMMIT_ORDER, info::SERIAL), (info::READS_AT, info::AT_COMMIT)]
        }
    };
    for (name, value) in facts {
        let pool = tape.pool();
        let (name, value) = (pool.text(name), pool.text(value));
        tape.meta().set(name, value);
    }
}

/// The first table and the connections, made on a thread that can be left behind if the database hangs.
fn prepared(
    target: &Arc<dyn Target>,
    offer: Offer,
    sessions: u32,
    tables: Tables,
    most: Duration,
) -> Result<(Vec<Box<dyn Session>>, Tables), RunError> {
    let target = Arc::clone(target);
    let prepare = move || {
        tables.ensure(0).map_err(RunError::Table)?;
        let connect = |client| target.connect_client(&offer, client);
        let connections: Result<Vec<_>, _> = (0..sessions).map(connect).collect();
        Ok((connections.map_err(RunError::Connect)?, tables))
    };
    within(most, prepare).unwrap_or_else(|stuck| match stuck {
        Stuck::Hangs => Err(RunError::Hangs(most)),
        Stuck::Panicked(text) => Err(RunError::Connect(Failure::new(After::Lost, PANIC, text))),
    })
}

/// The threads of the sessions.
struct Clients {
    threads: Vec<JoinHandle<Result<(), Failure>>>,
    /// Why one could not be started; then none begins.
    refused: Option<Failure>,
}

impl Clients {
    fn start(
        shared: &Arc<Shared>,
        workload: &Workload,
        connections: Vec<Box<dyn Session>>,
        record: &SyncSender<Note>,
    ) -> Clients {
        // All sessions begin together: a fast engine would otherwise be through with a short run before
        // the last thread has started.
        let gate = Arc::new(Gate::default());
        let mut clients = Clients { threads: Vec::with_capacity(connections.len()), refused: None };
        for (connection, number) in connections.into_iter().zip(0..) {
            let script = workload.script(number);
            let shared = Arc::clone(shared);
            let client = Client::new(shared, number, script, record.clone(), connection);
            let gate = Arc::clone(&gate);
            let body = move || if gate.wait() { client.run() } else { Ok(()) };
            match thread::Builder::new().spawn(body) {
                Ok(thread) => clients.threads.push(thread),
                Err(error) => {
                    let refused = Failure::new(After::Lost, "thread", error.to_string());
                    clients.refused = Some(refused);
                    break;
                }
            }
        }
        gate.open(clients.refused.is_none());
        clients
    }

    fn are_through(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Why sessions gave up. Those that hang are left behind.
    fn gave_up(self) -> Vec<Failure> {
        let ended = self.threads.into_iter().filter(JoinHandle::is_finished);
        ended.filter_map(|thread| end_of(thread).err()).chain(self.refused).collect()
    }
}

/// Lets all sessions run to the end.
fn play(
    shared: &Arc<Shared>,
    workload: &Workload,
    connections: Vec<Box<dyn Session>>,
    tape: &mut dyn Tape,
    controls: &mut Controls<'_>,
) -> (Ran, Result<(), SinkError>) {
    let (sender, receiver) = sync_channel(WAITING);
    let recorder = Recorder::new(tape, shared);
    let clients = Clients::start(shared, workload, connections, &sender);
    let (mut ran, recorded) = thread::scope(|scope| {
        let mischief = Mischief {
            target: &*shared.target,
            faults: &shared.options.faults,
            seed: workload.settings().seed,
            sessions: shared.sessions,
            clock: shared.clock,
            tally: &shared.tally,
            record: sender,
        };
        let mischief = scope.spawn(move || mischief.play());
        let recorder = scope.spawn(move || {
            let done = recorder.run(&receiver, &shared.abandoned);
            if done.is_err() {
                // Nothing is worth doing that will not be recorded.
                shared.tally.end();
            }
            done
        });
        let (interrupted, hung) = watch(shared, &clients, controls);
        let gave_up = clients.gave_up();
        let progress = shared.tally.progress(shared.clock.elapsed());
        // No session is left for which a server should be away.
        shared.tally.end();
        let faults = mischief.join().unwrap_or_default();
        // What the others have recorded by now is still in the channel.
        shared.abandoned.store(hung.is_some(), Ordering::SeqCst);
        let recorded = recorder.join().unwrap_or_else(|_| Err(SinkError::Io(PANIC.to_owned())));
        let (troubles, tables) = (shared.tally.troubles(), shared.tables.count());
        let ended = Ran {
            progress,
            troubles,
            gave_up,
            interrupted,
            tables,
            faults,
            hung,
            ..Ran::default()
        };
        (ended, recorded)
    });
    if ran.hung.is_some() || ran.gave_up.iter().any(|failure| failure.code == PANIC) {
        // What that session was doing is missing in the record.
        tape.meta().complete = false;
    }
    let recorded = recorded.and_then(|writers| ask_the_server(shared, writers, &mut ran, tape));
    (ran, recorded)
}

/// Asks the server for what it shows when all sessions are gone, and writes it on the tape. Nothing is asked of a
/// server in which sessions hang.
fn ask_the_server(
    shared: &Arc<Shared>,
    writers: Writers,
    ran: &mut Ran,
    tape: &mut dyn Tape,
) -> Result<(), SinkError> {
    if ran.hung.is_none() {
        ran.notices = shown::tell(shared, writers, tape)?;
    }
    ran.versions = versions(shared, ran.hung.is_some(), tape)?;
    Ok(())
}

/// Reads the versions of the tables that are left and writes them all on the tape. An engine that hangs is not
/// asked.
fn versions(
    shared: &Arc<Shared>,
    hangs: bool,
    tape: &mut dyn Tape,
) -> Result<Option<ShownVersions>, SinkError> {
    let versions = &shared.tables.versions;
    let rest = Arc::clone(shared);
    let read = move || rest.tables.read_rest(rest.options.patience);
    if hangs || within(shared.options.hang_after, read).is_err() {
        versions.unread("the database hangs".to_owned());
    }
    versions.write(tape, shared.clock)
}

/// The code of a session that failed in a way that it should not.
const PANIC: &str = "panic";

fn end_of(thread: JoinHandle<Result<(), Failure>>) -> Result<(), Failure> {
    thread.join().unwrap_or_else(|panic| {
        Err(Failure::new(After::Lost, PANIC, crate::within::panic_text(&*panic)))
    })
}

/// Waits until all sessions have ended, or hang; tells them to end, when it is time. Whether the user
/// ended the run.
fn watch(shared: &Shared, clients: &Clients, controls: &mut Controls<'_>) -> (bool, Option<Hung>) {
    let most = shared.options.limits.duration;
    let mut watched = Duration::ZERO;
    let mut interrupted = false;
    // How many attempts had ended, and since when there has been no other one.
    let (mut ended, mut since) = (0, Duration::ZERO);
    while !clients.are_through() {
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
            let silence = elapsed - since;
            (controls.watch)(&Progress { silence, ..progress });
            watched = elapsed;
            if silence >= shared.options.hang_after {
                return (interrupted, left_behind(shared, clients, silence));
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
    (interrupted, None)
}

/// Ends a run of which nothing has been heard. Sessions that only waited for the others end by
/// themselves; those that do not are inside the database for good.
fn left_behind(shared: &Shared, clients: &Clients, silence: Duration) -> Option<Hung> {
    shared.tally.end();
    let began = shared.clock.elapsed();
    while !clients.are_through() && shared.clock.elapsed() < began + FAREWELL {
        thread::sleep(Duration::from_millis(2));
    }
    let hang = clients.threads.iter().filter(|thread| !thread.is_finished()).count();
    (hang > 0).then_some(Hung { sessions: hang as u32, silence })
}
