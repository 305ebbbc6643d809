//! What checks of a driver work with.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use isolde_history::OpKind;

use super::super::session::DriverSession;
use super::super::talk::Talk;
use super::super::{Driver, Session as _};
use super::found::Found;
use super::words::InWords;
use crate::failure::Failure;
use crate::path::Path;
use crate::request::{Answer, Request};
use crate::target::{Contents, Ended, Table, Target};

/// How long a step of a session is watched before it is said to wait for another one.
const WAITS: Duration = Duration::from_millis(300);

/// By which accesses values get into rows and out again; the first that the driver has.
const WAYS: [(OpKind, OpKind); 3] = [
    (OpKind::Write, OpKind::Read),
    (OpKind::Append, OpKind::ListRead),
    (OpKind::InsertIfAbsent, OpKind::Read),
];

/// A driver under test.
pub(super) struct Bench {
    pub(super) driver: Driver,
    tables: AtomicU32,
}

impl Bench {
    pub(super) fn new(driver: Driver) -> Bench {
        Bench { driver, tables: AtomicU32::new(0) }
    }

    /// A number that no table has had.
    pub(super) fn number(&self) -> u32 {
        self.tables.fetch_add(1, Ordering::Relaxed)
    }

    /// Skips the check unless the driver can do these.
    pub(super) fn needs(&self, kinds: &[OpKind]) -> Result<(), Found> {
        let can = |kind: &OpKind| self.driver.about.kinds.contains(kind);
        match kinds.iter().all(can) {
            true => Ok(()),
            false => Err(Found::Skipped("the driver does not claim it".to_owned())),
        }
    }

    /// How to put values and to get them.
    pub(super) fn way(&self) -> Result<(OpKind, OpKind), Found> {
        let can = |kind: OpKind| self.driver.about.kinds.contains(&kind);
        let found = WAYS.into_iter().find(|(put, get)| can(*put) && can(*get));
        found.ok_or_else(|| Found::Skipped("it cannot both read and write".to_owned()))
    }

    /// A fresh table of ten rows, for the way that is taken.
    pub(super) fn table(&self) -> Result<u32, Found> {
        let (put, _) = self.way()?;
        let contents = if put == OpKind::Append { Contents::Lists } else { Contents::Registers };
        self.make(contents, put == OpKind::Write)
    }

    /// A fresh table of ten rows.
    pub(super) fn make(&self, contents: Contents, filled: bool) -> Result<u32, Found> {
        let number = self.number();
        self.driver.create(&Table { number, contents, rows: 10, filled }).map_err(wrong)?;
        Ok(number)
    }

    /// What a row of that table holds before the first write.
    pub(super) fn initial(&self) -> Result<Vec<i64>, Found> {
        Ok(if self.way()?.0 == OpKind::Write { vec![0] } else { Vec::new() })
    }

    /// A process without a session.
    pub(super) fn talk(&self) -> Result<Talk, Found> {
        self.driver.talk().map_err(wrong)
    }

    /// A session at the strongest level.
    pub(super) fn session(&self) -> Result<CheckClient, Found> {
        let level = self.driver.about.offers.last().map_or("", |offer| offer.name);
        self.session_at(level)
    }

    pub(super) fn session_at(&self, level: &str) -> Result<CheckClient, Found> {
        let mut talk = self.talk()?;
        self.driver.open_at(&mut talk, level).map_err(wrong)?;
        Ok(CheckClient { session: DriverSession::new(talk), way: self.way()? })
    }

    /// What a session of its own reads in a row.
    pub(super) fn look(&self, table: u32, row: u32) -> Result<Vec<i64>, Found> {
        let mut client = self.session()?;
        client.begin()?;
        let seen = client.get(table, row)?;
        client.commit()?;
        Ok(seen)
    }
}

/// A failure where there should be none.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` calls")]
pub(super) fn wrong(failure: Failure) -> Found {
    Found::Wrong(failure.to_string())
}

/// Complains unless two things are the same.
#[expect(clippy::needless_pass_by_value, reason = "both are made for the comparison")]
pub(super) fn same<T: PartialEq + InWords>(what: &str, found: T, expected: T) -> Result<(), Found> {
    if found == expected {
        return Ok(());
    }
    Err(Found::Wrong(format!("{what}: {} instead of {}", found.words(), expected.words())))
}

/// A session whose failures are what the check found.
pub(super) struct CheckClient {
    pub(super) session: DriverSession,
    way: (OpKind, OpKind),
}

impl CheckClient {
    pub(super) fn begin(&mut self) -> Result<(), Found> {
        self.session.begin().map_err(wrong)
    }

    pub(super) fn run(&mut self, request: &Request) -> Result<Answer, Found> {
        self.session.run(request).map_err(wrong)
    }

    /// Writes, in the way that the driver has, and expects it to be done.
    pub(super) fn put(&mut self, table: u32, row: u32, value: i64) -> Result<(), Found> {
        let answer = self.run(&request(self.way.0, table, row, value))?;
        same("the answer to a write", answer, Answer::Done(true))
    }

    /// The value of a register or the elements of a list; nothing if there is no row.
    pub(super) fn get(&mut self, table: u32, row: u32) -> Result<Vec<i64>, Found> {
        Ok(numbers(self.run(&request(self.way.1, table, row, 0))?))
    }

    pub(super) fn commit(&mut self) -> Result<(), Found> {
        let ended = self.session.commit().map_err(wrong)?;
        same("the answer to 'commit'", ended, Ended::Committed)
    }

    pub(super) fn rollback(&mut self) -> Result<(), Found> {
        self.session.rollback().map_err(wrong)
    }
}

fn numbers(answer: Answer) -> Vec<i64> {
    match answer {
        Answer::Value(value) => value.into_iter().collect(),
        Answer::List(list) => list.unwrap_or_default(),
        Answer::Done(_) => Vec::new(),
    }
}

pub(super) fn request(kind: OpKind, table: u32, row: u32, value: i64) -> Request {
    Request { table, row, kind, path: Path::PrimaryKey, value, expected: 0 }
}

/// How a transaction of an [`Actor`] ended.
#[derive(Debug)]
pub(super) struct Fate {
    /// What it read.
    pub(super) read: Vec<i64>,
    /// Whether it was committed, or why not.
    pub(super) end: Result<Ended, Failure>,
}

/// A transaction on a thread of its own, since it may have to wait: reads a row, overwrites it, commits.
pub(super) struct Actor {
    steps: std::sync::mpsc::Sender<()>,
    done: Receiver<()>,
    thread: thread::JoinHandle<Fate>,
}

/// The steps of an actor: begin, read, write, commit.
pub(super) const STEPS: usize = 4;

impl Actor {
    pub(super) fn new(client: CheckClient, table: u32, value: i64, reads: bool) -> Actor {
        let ((steps, todo), (tell, done)) = (channel::<()>(), channel());
        let thread = thread::spawn(move || {
            let CheckClient { mut session, way } = client;
            let mut fate = Fate { read: Vec::new(), end: Ok(Ended::RolledBack) };
            for step in 0..STEPS {
                // The sender of the steps is gone if the check has failed.
                if todo.recv().is_err() || fate.end.is_err() {
                    break;
                }
                fate.end = match step {
                    0 => session.begin().map(|()| Ended::RolledBack),
                    1 if !reads => Ok(Ended::RolledBack),
                    1 => session.run(&request(way.1, table, 0, 0)).map(|answer| {
                        fate.read = numbers(answer);
                        Ended::RolledBack
                    }),
                    2 => session.run(&request(way.0, table, 0, value)).map(|_| Ended::RolledBack),
                    _ => session.commit(),
                };
                if let Err(failure) = &fate.end
                    && failure.after == crate::failure::After::Open
                {
                    let _ = session.rollback();
                }
                let _ = tell.send(());
            }
            fate
        });
        Actor { steps, done, thread }
    }

    /// Takes a step, and waits until it is taken or seems to wait for another session.
    pub(super) fn step(&self) {
        if self.steps.send(()).is_ok() {
            match self.done.recv_timeout(WAITS) {
                Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Waits for the end of it: at most as long as its answers may take.
    pub(super) fn fate(self) -> Result<Fate, Found> {
        self.thread.join().map_err(|_| Found::Wrong("the session failed".to_owned()))
    }
}
