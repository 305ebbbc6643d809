//! What workloads that imitate applications have in common: kinds of transactions with weights, rows of
//! several tables in one key space, and rows that are inserted.

use isolde_history::OpKind;

use crate::pick::Picker;
use crate::plan::Step;
use crate::random::Random;

/// A kind of transaction of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxnType {
    /// What the application calls it.
    pub name: &'static str,
    /// How many of a hundred transactions are of it.
    pub weight: u32,
}

/// A kind of transaction, and what makes it, as a row of an application's table.
pub(crate) type Row<T> = (TxnType, T);

pub(crate) const fn row<T>(name: &'static str, weight: u32, action: T) -> Row<T> {
    (TxnType { name, weight }, action)
}

/// Picks rows of an application's table by their weights.
pub(crate) fn by_weight<T>(table: &[Row<T>]) -> Picker {
    Picker::weighted(table.iter().map(|(txn, _)| f64::from(txn.weight)).collect())
}

/// A table of the application within the one key space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    first: u64,
    rows: u64,
}

impl Region {
    /// Behind the tables that end there.
    pub(crate) const fn after(end: u64, rows: u64) -> Region {
        Region { first: end, rows }
    }

    /// Where the next table begins.
    pub(crate) const fn end(self) -> u64 {
        self.first + self.rows
    }

    /// The key of a row; what lies behind the last row begins again at the first.
    pub(crate) const fn row(self, at: u64) -> u32 {
        (self.first + at % self.rows) as u32
    }
}

/// The numbers that a session gives to the rows that it inserts. No other session gives the same ones,
/// and none has to be asked.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) session: u32,
    sessions: u32,
    next: u64,
}

impl Numbers {
    pub(crate) const fn new(session: u32, sessions: u32) -> Numbers {
        Numbers { session, sessions, next: 0 }
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.next += 1;
        self.nth(self.next - 1)
    }

    /// The next place among a few that all sessions write to in turn.
    pub(crate) fn place(&mut self, places: u64) -> u64 {
        self.next += 1;
        (self.next + u64::from(self.session)) % places
    }

    /// A number by how many of its own the session had before.
    pub(crate) fn nth(&self, before: u64) -> u64 {
        before * u64::from(self.sessions) + u64::from(self.session)
    }
}

/// The steps of a transaction that is being made.
pub(crate) struct Steps<'s> {
    pub(crate) random: &'s mut Random,
    pub(crate) steps: &'s mut Vec<Step>,
}

impl Steps<'_> {
    fn push(&mut self, kind: OpKind, row: u32) {
        let choice = self.random.bits() as u32;
        self.steps.push(Step { kind, row, choice });
    }

    pub(crate) fn read(&mut self, row: u32) {
        self.push(OpKind::Read, row);
    }

    /// A blind write: an insert, or the change of a row that was read before.
    pub(crate) fn write(&mut self, row: u32) {
        self.push(OpKind::Write, row);
    }

    /// A read and a write.
    pub(crate) fn update(&mut self, row: u32) {
        self.read(row);
        self.write(row);
    }

    /// A number from the first to the last, both included.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.random.below(last - first + 1)
    }
}
