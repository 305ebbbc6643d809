//! What tests against real servers share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use isolde_history::OpKind;
use isolde_target::{
    Answer, Contents, Ended, Failure, Offer, OpenOptions, Path, Request, Session, Table, Target,
    open,
};

/// Options with a time-out that tests can wait for.
pub(crate) fn options() -> OpenOptions {
    OpenOptions { timeout: Duration::from_secs(8), ..OpenOptions::default() }
}

/// A throwaway server; nothing if it is not installed here, which is said loudly. On CI that is a
/// failure: there, a test that did not run is no test.
pub(crate) fn server(kind: &str) -> Option<Box<dyn Target>> {
    server_with(kind, options())
}

/// The same, opened with other options.
pub(crate) fn server_with(kind: &str, options: OpenOptions) -> Option<Box<dyn Target>> {
    // Whoever waits for a lock has to be patient for longer than we take to call it blocked.
    let patient = |name: &str| (format!("{name}-lock-wait-timeout"), "6".to_owned());
    let settings = match kind {
        "mariadb" => vec![patient("innodb")],
        "mariadb-rocksdb" => vec![patient("innodb"), patient("rocksdb")],
        _ => Vec::new(),
    };
    match open(kind, &OpenOptions { settings, ..options }) {
        Ok(target) => Some(target),
        Err(error) if error.to_string().contains("install") => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
            eprintln!("\n*** SKIPPED: no {kind} here: {error} ***\n");
            None
        }
        Err(error) => panic!("{kind} does not start: {error}"),
    }
}

/// Whether a kind of server is installed, found out without starting one.
pub(crate) fn installed(kind: &str) -> bool {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Some(holder.local_addr().unwrap().port());
    let error = open(kind, &OpenOptions { port, ..options() }).err().unwrap().to_string();
    // Programs are looked for before the port is, and this one is taken.
    error.contains("cannot be used") || server(kind).is_some()
}

/// The first of the names that is an offer of the target.
pub(crate) fn offer(target: &dyn Target, name: &str) -> Offer {
    *target.offers().iter().find(|o| o.name == name).unwrap_or_else(|| panic!("no level {name}"))
}

/// A table of registers with all rows at 0.
pub(crate) fn registers(number: u32, rows: u32) -> Table {
    Table { number, contents: Contents::Registers, rows, filled: true }
}

/// An access by primary key.
pub(crate) fn request(kind: OpKind, row: u32, value: i64) -> Request {
    Request { table: 0, row, kind, path: Path::PrimaryKey, value, expected: 0 }
}

/// Reads a register by primary key.
pub(crate) fn read(session: &mut dyn Session, row: u32) -> Option<i64> {
    match session.run(&request(OpKind::Read, row, 0)).unwrap() {
        Answer::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

/// A request to write a register by primary key.
pub(crate) fn write(row: u32, value: i64) -> Request {
    request(OpKind::Write, row, value)
}

/// A transaction of its own.
pub(crate) fn alone(target: &dyn Target, level: &str, request: &Request) -> Answer {
    let mut session = target.connect(&offer(target, level)).unwrap();
    session.begin().unwrap();
    let answer = session.run(request).unwrap();
    session.commit().unwrap();
    answer
}

/// What a session can be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Run(Request),
    Commit,
    Rollback,
}

/// What became of a session's transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    /// The answers up to the first failure.
    pub(crate) answers: Vec<Answer>,
    /// The first failure.
    pub(crate) failure: Option<Failure>,
    /// Whether the commit was confirmed.
    pub(crate) committed: bool,
}

/// A session on a thread of its own, so that it may block.
pub(crate) struct Actor {
    steps: Option<Sender<Step>>,
    done: Receiver<()>,
    pending: usize,
    thread: thread::JoinHandle<Fate>,
}

impl Actor {
    /// Connects and begins a transaction.
    pub(crate) fn begin(target: &dyn Target, level: &str) -> Actor {
        let mut session = target.connect(&offer(target, level)).unwrap();
        let ((steps, todo), (tell, done)) = (channel::<Step>(), channel());
        let thread = thread::spawn(move || {
            let mut fate = Fate::default();
            session.begin().unwrap();
            for step in todo {
                // After a failure a client gives the transaction up, and so do we.
                if fate.failure.is_none() {
                    let failed = match step {
                        Step::Run(request) => {
                            session.run(&request).map(|answer| fate.answers.push(answer))
                        }
                        Step::Commit => {
                            session.commit().map(|e| fate.committed = e == Ended::Committed)
                        }
                        Step::Rollback => session.rollback(),
                    };
                    if let Err(failure) = failed {
                        let _ = session.rollback();
                        fate.failure = Some(failure);
                    }
                }
                tell.send(()).unwrap();
            }
            fate
        });
        Actor { steps: Some(steps), done, pending: 0, thread }
    }

    /// Tells it to take a step, and waits until it has or seems to be blocked: long enough that a busy
    /// machine does not look like a lock.
    pub(crate) fn step(&mut self, step: Step) {
        self.steps.as_ref().unwrap().send(step).unwrap();
        self.pending += 1;
        while self.pending > 0 {
            match self.done.recv_timeout(Duration::from_secs(1)) {
                Ok(()) => self.pending -= 1,
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => panic!("a session panicked"),
            }
        }
    }

    /// Runs an access.
    pub(crate) fn run(&mut self, request: Request) {
        self.step(Step::Run(request));
    }

    /// What became of it, once all its steps are done.
    pub(crate) fn fate(mut self) -> Fate {
        drop(self.steps.take());
        self.thread.join().unwrap()
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether there is such a process.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is dead; nobody has looked at it yet.
    !stat.is_empty() && !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z")
}

/// Waits until something is so; panics if it does not become so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    // A machine that has other things to do takes its time.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Numbers that need not be good.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }

    /// A path of those that are taken unless the user says otherwise.
    pub(crate) fn path(&mut self, target: &dyn Target, kind: OpKind) -> Path {
        let usual: Vec<Path> =
            target.paths(kind).iter().filter(|(_, weight)| *weight > 0).map(|(p, _)| *p).collect();
        usual[self.below(usual.len() as u64) as usize]
    }
}
