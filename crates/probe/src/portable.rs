//! A console for databases that do not understand SQL: a few simple statements, said in the words of
//! ordinary sessions.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use isolde_history::OpKind;
use isolde_target::{
    After, Answer, Column, Console, Consoles, Contents, Datum, Ended, Failure, Offer, Path,
    Request, ResultSet, Said, Session, Table, Target, Waits,
};

use crate::simple::{self, Simple};

/// Any target, as one that understands a little SQL.
pub struct Portable<'t> {
    target: &'t dyn Target,
    /// The next number of a table; none is used twice.
    table: AtomicU32,
    /// The next number of a room or a console.
    number: AtomicU64,
    rooms: Mutex<HashMap<String, Shared>>,
    /// Consoles hold a part of it: whether any console is still there.
    alive: Arc<()>,
}

/// What the consoles of a room share.
type Shared = Arc<Mutex<Place>>;

/// What is in a room.
#[derive(Default)]
struct Place {
    /// The rows of the setup.
    rows: BTreeMap<u32, i64>,
    /// The table that has them, once it is made.
    table: Option<u32>,
}

impl<'t> Portable<'t> {
    /// A target, as one that understands a little SQL.
    pub fn new(target: &'t dyn Target) -> Portable<'t> {
        Portable {
            target,
            table: AtomicU32::new(0),
            number: AtomicU64::new(0),
            rooms: Mutex::default(),
            alive: Arc::new(()),
        }
    }

    fn place(&self, room: &str) -> Shared {
        lock(&self.rooms).entry(room.to_owned()).or_default().clone()
    }

    /// Whether a session is left that never ended. An engine with one writer would make us wait for it
    /// as long.
    fn is_stuck(&self) -> bool {
        Arc::strong_count(&self.alive) > 1
    }

    /// Makes the table of a room, with the rows that the setup asked for.
    fn fill(&self, offer: &Offer, place: &mut Place) -> Result<(), Failure> {
        let Some((last, _)) = place.rows.last_key_value() else { return Ok(()) };
        let number = self.table.fetch_add(1, Ordering::Relaxed);
        let contents = Contents::Registers;
        self.target.create(&Table { number, contents, rows: last + 1, filled: true })?;
        place.table = Some(number);
        let mut session = self.target.connect(offer)?;
        session.begin()?;
        for (row, value) in &place.rows {
            session.run(&request(number, *row, OpKind::Write, *value))?;
        }
        match session.commit()? {
            Ended::Committed => Ok(()),
            Ended::RolledBack => Err(rolled_back()),
        }
    }

    fn empty(&self, place: &mut Place) -> Result<(), Failure> {
        if self.is_stuck() {
            let message = "a session of an earlier case never ended";
            return Err(Failure::new(After::Lost, "stuck", message));
        }
        place.rows.clear();
        place.table.take().map_or(Ok(()), |number| self.target.drop_table(number))
    }
}

impl Drop for Portable<'_> {
    fn drop(&mut self) {
        if *self.table.get_mut() > 0 && !self.is_stuck() {
            // What cannot be removed stays; the outcomes are known by then.
            let _ = self.target.clean();
        }
    }
}

impl Consoles for Portable<'_> {
    fn make_room(&self) -> Result<String, Failure> {
        Ok(self.number.fetch_add(1, Ordering::Relaxed).to_string())
    }

    fn empty_room(&self, room: &str) -> Result<(), Failure> {
        self.empty(&mut lock(&self.place(room)))
    }

    fn remove_room(&self, room: &str) -> Result<(), Failure> {
        let place = lock(&self.rooms).remove(room);
        place.map_or(Ok(()), |place| self.empty(&mut lock(&place)))
    }

    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure> {
        let place = self.place(room);
        // The first console after the setup has the table made: consoles know no target.
        if lock(&place).table.is_none() {
            self.fill(offer, &mut lock(&place))?;
        }
        Ok(Box::new(Few {
            session: self.target.connect(offer)?,
            state: State::Idle,
            place,
            number: self.number.fetch_add(1, Ordering::Relaxed),
            _alive: self.alive.clone(),
        }))
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        Ok(None)
    }

    fn refusal(&self, setup: &[String], steps: &[&str]) -> Option<String> {
        let can = |kind: OpKind| !self.target.paths(kind).is_empty();
        if !can(OpKind::Read) || !can(OpKind::Write) {
            return Some("it has no registers to read and write".to_owned());
        }
        simple::refusal(setup, steps)
    }

    fn one_at_a_time(&self) -> bool {
        true
    }
}

/// Where a console is.
enum State {
    /// In no transaction.
    Idle,
    /// In one.
    Open,
    /// In one that failed and was rolled back: what is left of it is answered by this.
    Failed(Failure),
    /// The session is of no more use.
    Lost(Failure),
}

/// A console that understands a few statements.
struct Few {
    // Dropped first: as long as it lasts, the console counts as there.
    session: Box<dyn Session>,
    state: State,
    place: Shared,
    number: u64,
    _alive: Arc<()>,
}

impl Console for Few {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        let Some(simple) = simple::parse(statement) else {
            let message = format!("'{statement}' is not understood here");
            return Err(Failure::new(After::Open, "unsupported", message));
        };
        match (&self.state, simple) {
            (_, Simple::Create) | (State::Idle, Simple::Commit | Simple::Rollback) => {
                Ok(Said::Done)
            }
            (_, Simple::Insert(rows)) => {
                let count = rows.len() as u64;
                lock(&self.place).rows.extend(rows);
                Ok(Said::Changed(count))
            }
            (State::Failed(_), end @ (Simple::Commit | Simple::Rollback)) => {
                self.state = State::Idle;
                Ok(if end == Simple::Commit { Said::RolledBack } else { Said::Done })
            }
            (State::Failed(failure) | State::Lost(failure), _) => Err(failure.clone()),
            (State::Idle, Simple::Begin) => self.begin(),
            (State::Idle, simple) => self.alone(&simple),
            (State::Open, Simple::Begin) => {
                let message = "there is a transaction already";
                Err(Failure::new(After::Open, "transaction", message))
            }
            (State::Open, Simple::Commit) => self.commit(),
            (State::Open, Simple::Rollback) => {
                self.state = State::Idle;
                let ended = self.session.rollback();
                ended.map(|()| Said::Done).map_err(|failure| self.lost(failure))
            }
            (State::Open, simple) => self.access(&simple).map_err(|failure| self.fail(failure)),
        }
    }

    fn number(&self) -> u64 {
        self.number
    }
}

impl Few {
    fn begin(&mut self) -> Result<Said, Failure> {
        match self.session.begin() {
            Ok(()) => self.state = State::Open,
            Err(failure) => return Err(self.fail(failure)),
        }
        Ok(Said::Done)
    }

    fn commit(&mut self) -> Result<Said, Failure> {
        self.state = State::Idle;
        match self.session.commit() {
            Ok(Ended::Committed) => Ok(Said::Done),
            Ok(Ended::RolledBack) => Ok(Said::RolledBack),
            Err(failure) => {
                let failure = self.fail(failure);
                // The transaction is over, whatever became of it; the session may go on.
                if matches!(self.state, State::Failed(_)) {
                    self.state = State::Idle;
                }
                Err(failure)
            }
        }
    }

    /// A statement outside of transactions is one of its own.
    fn alone(&mut self, simple: &Simple) -> Result<Said, Failure> {
        let said = self.begin().and_then(|_| self.access(simple).map_err(|f| self.fail(f)));
        if matches!(self.state, State::Failed(_)) {
            self.state = State::Idle;
        }
        let said = said?;
        match self.commit()? {
            Said::RolledBack => Err(rolled_back()),
            _ => Ok(said),
        }
    }

    /// What is left to do after a failure; the failure as it is then.
    fn fail(&mut self, failure: Failure) -> Failure {
        if failure.after == After::Lost {
            return self.lost(failure);
        }
        if failure.after == After::Open
            && let Err(worse) = self.session.rollback()
        {
            return self.lost(worse);
        }
        let failure = Failure { after: After::Aborted, ..failure };
        self.state = State::Failed(failure.clone());
        failure
    }

    fn lost(&mut self, failure: Failure) -> Failure {
        self.state = State::Lost(failure.clone());
        failure
    }

    /// Does what a statement asks of rows.
    fn access(&mut self, simple: &Simple) -> Result<Said, Failure> {
        let (table, all) = {
            let place = lock(&self.place);
            let all: Vec<u32> = place.rows.keys().copied().collect();
            (place.table.unwrap_or_default(), all)
        };
        let mut columns = vec![Column::integers("id"), Column::integers("value")];
        let mut rows = Vec::new();
        match simple {
            Simple::Update(row, value) => {
                let write = request(table, *row, OpKind::Write, *value);
                let done = self.session.run(&write)? == Answer::Done(true);
                return Ok(Said::Changed(u64::from(done)));
            }
            Simple::Value(row) => {
                rows.extend(
                    self.read(table, *row)?.map(|value| vec![Datum::Integer(value.into())]),
                );
                columns.remove(0);
            }
            Simple::Rows(wanted) => self.read_all(table, wanted, &mut rows)?,
            _ => self.read_all(table, &all, &mut rows)?,
        }
        Ok(Said::Rows(ResultSet { columns, rows }))
    }

    fn read_all(
        &mut self,
        table: u32,
        wanted: &[u32],
        rows: &mut Vec<Vec<Datum>>,
    ) -> Result<(), Failure> {
        for row in wanted {
            if let Some(value) = self.read(table, *row)? {
                rows.push(vec![Datum::Integer((*row).into()), Datum::Integer(value.into())]);
            }
        }
        Ok(())
    }

    fn read(&mut self, table: u32, row: u32) -> Result<Option<i64>, Failure> {
        let read = request(table, row, OpKind::Read, 0);
        match self.session.run(&read)? {
            Answer::Value(value) => Ok(value),
            other => Err(Failure::impossible(&read, &format!("{other:?}"))),
        }
    }
}

fn request(table: u32, row: u32, kind: OpKind, value: i64) -> Request {
    Request { table, row, kind, path: Path::PrimaryKey, value, expected: 0 }
}

fn rolled_back() -> Failure {
    Failure::conflict(After::Aborted, "rolled-back", "the database rolled back")
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
