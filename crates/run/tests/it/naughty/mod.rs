//! A database in memory that runs one transaction at a time, and misbehaves where a test says so:
//! what real servers do once in a million transactions.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use isolde_history::{OpKind, Timestamp};
use isolde_spec::Level;
use isolde_target::{
    After, Answer, Ended, Failure, Offer, Path, Request, Session, Table, Target, Timestamps,
};

/// What goes wrong, and at which statement or commit, counted over all sessions from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The statement fails and the server ends the transaction.
    StatementAborts(u64),
    /// The statement fails, and the transaction stays open.
    StatementFails(u64),
    /// The connection goes with the statement.
    StatementLost(u64),
    /// COMMIT is refused.
    CommitAborts(u64),
    /// COMMIT answers ROLLBACK.
    CommitRollsBack(u64),
    /// The connection goes with COMMIT, which was done.
    CommitLostDone(u64),
    /// The connection goes with COMMIT, which was not done.
    CommitLostUndone(u64),
    /// From this statement on the server is gone for good.
    ServerDies(u64),
    /// Every statement fails with what is no conflict.
    NothingWorks,
    /// No row is there any more: writes find nothing.
    RowsVanish,
    /// The client library panics.
    Panic(u64),
    /// The statement never comes back.
    Hangs(u64),
    /// No table is ever made.
    CreateHangs,
}

#[derive(Default)]
struct State {
    rows: HashMap<(u32, u32), Vec<i64>>,
    /// The values before the running transaction.
    before: Option<HashMap<(u32, u32), Vec<i64>>>,
    statements: u64,
    commits: u64,
    connects: u64,
    dropped: u64,
    dead: bool,
}

#[derive(Clone)]
pub(crate) struct Naughty {
    state: Arc<(Mutex<State>, Condvar)>,
    faults: Arc<Vec<Fault>>,
    /// How long each statement takes.
    pause: Duration,
}

pub(crate) const OFFERS: &[Offer] =
    &[Offer { name: "serial", promises: Level::StrictSerializable, remark: "" }];

impl Naughty {
    pub(crate) fn new(faults: &[Fault]) -> Naughty {
        let (state, faults) = (Arc::default(), Arc::new(faults.to_vec()));
        Naughty { state, faults, pause: Duration::ZERO }
    }

    pub(crate) fn slow(mut self, pause: Duration) -> Naughty {
        self.pause = pause;
        self
    }

    pub(crate) fn target(&self) -> Arc<dyn Target> {
        Arc::new(self.clone())
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.state.0.lock().unwrap().dropped
    }

    pub(crate) fn connects(&self) -> u64 {
        self.state.0.lock().unwrap().connects
    }
}

impl Target for Naughty {
    fn name(&self) -> &str {
        "naughty"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn offers(&self) -> &'static [Offer] {
        OFFERS
    }

    fn paths(&self, _: OpKind) -> &'static [(Path, u32)] {
        &[(Path::PrimaryKey, 1)]
    }

    fn create(&self, table: &Table) -> Result<(), Failure> {
        if self.has(Fault::CreateHangs) {
            hang();
        }
        let mut state = self.state.0.lock().unwrap();
        for row in (0..table.rows).filter(|_| table.filled) {
            state.rows.insert((table.number, row), vec![0]);
        }
        Ok(())
    }

    fn drop_table(&self, number: u32) -> Result<(), Failure> {
        let mut state = self.state.0.lock().unwrap();
        state.rows.retain(|(table, _), _| *table != number);
        state.dropped += 1;
        Ok(())
    }

    fn connect(&self, _: &Offer) -> Result<Box<dyn Session>, Failure> {
        let mut state = self.state.0.lock().unwrap();
        state.connects += 1;
        if state.dead {
            return Err(Failure::new(After::Lost, "refused", "connection refused"));
        }
        let timestamps = Timestamps::default();
        Ok(Box::new(Client { db: self.clone(), running: false, timestamps }))
    }
}

/// Never comes back. A thread that is unparked by chance is parked again.
fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

struct Client {
    db: Naughty,
    running: bool,
    /// By the number of commits so far. Of a commit that is lost, only the start is told.
    timestamps: Timestamps,
}

impl Client {
    fn end(&mut self, commit: bool) {
        let (state, free) = &*self.db.state;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = state.before.take()
            && !commit
        {
            state.rows = before;
        }
        self.running = false;
        free.notify_one();
    }

    fn fail(&mut self, after: After, code: &str) -> Failure {
        if after != After::Open {
            self.end(false);
        }
        Failure::conflict(after, code, "on purpose")
    }
}

/// A lost connection is a transaction undone.
impl Drop for Client {
    fn drop(&mut self) {
        if self.running {
            self.end(false);
        }
    }
}

impl Session for Client {
    fn begin(&mut self) -> Result<(), Failure> {
        let (state, free) = &*self.db.state;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.before.is_some() {
            state = free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.before = Some(state.rows.clone());
        let start = Some(Timestamp::plain(state.commits.cast_signed()));
        self.timestamps = Timestamps { start, commit: None };
        self.running = true;
        Ok(())
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        std::thread::sleep(self.db.pause);
        let db = self.db.clone();
        let mut state = db.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.statements += 1;
        let n = state.statements;
        if db.has(Fault::ServerDies(n)) {
            state.dead = true;
        }
        if db.has(Fault::Hangs(n)) {
            drop(state);
            hang();
        }
        if db.has(Fault::Panic(n)) {
            drop(state);
            panic!("on purpose");
        }
        if state.dead {
            drop(state);
            return Err(self.fail(After::Lost, "gone"));
        }
        if db.has(Fault::NothingWorks) {
            return Err(Failure::new(After::Open, "42501", "permission denied"));
        }
        let key = (request.table, request.row);
        let old = state.rows.get(&key).cloned();
        let answer = match request.kind {
            OpKind::Read => Answer::Value(old.and_then(|v| v.last().copied())),
            OpKind::ListRead => Answer::List(old),
            OpKind::Append => {
                state.rows.entry(key).or_default().push(request.value);
                Answer::Done(true)
            }
            OpKind::Cas => Answer::Done(old.as_deref() == Some(&[request.expected])),
            OpKind::InsertIfAbsent => Answer::Done(old.is_none()),
            _ => Answer::Done(!db.has(Fault::RowsVanish)),
        };
        let sets = matches!(request.kind, OpKind::Cas | OpKind::InsertIfAbsent | OpKind::Write);
        if sets && answer == Answer::Done(true) {
            state.rows.insert(key, vec![request.value]);
        }
        drop(state);
        match () {
            () if db.has(Fault::StatementAborts(n)) => Err(self.fail(After::Aborted, "aborts")),
            () if db.has(Fault::StatementFails(n)) => Err(self.fail(After::Open, "fails")),
            () if db.has(Fault::StatementLost(n)) => Err(self.fail(After::Lost, "lost")),
            () => Ok(answer),
        }
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        let db = self.db.clone();
        let mut state = db.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.commits += 1;
        let n = state.commits;
        drop(state);
        if db.has(Fault::CommitAborts(n)) {
            return Err(self.fail(After::Aborted, "40001"));
        }
        if db.has(Fault::CommitRollsBack(n)) {
            self.end(false);
            return Ok(Ended::RolledBack);
        }
        if db.has(Fault::CommitLostUndone(n)) {
            return Err(self.fail(After::Lost, "lost"));
        }
        self.end(true);
        if db.has(Fault::CommitLostDone(n)) {
            return Err(Failure::conflict(After::Lost, "lost", "on purpose"));
        }
        self.timestamps.commit = Some(Timestamp::plain(n.cast_signed()));
        Ok(Ended::Committed)
    }

    fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.end(false);
        Ok(())
    }
}
