//! A database of our own that knows which versions each statement looked at and wrote.
//!
//! Rows are integers. A statement that finds an uncommitted version of another session in its way fails at once and can be
//! sent again later; with one snapshot a transaction, a version that was committed since fails it for good.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use isolde_history::ErrorClass;
use isolde_target::{
    After, Column, Console, Consoles, Datum, Failure, Offer, ResultSet, Said, Waits,
};

/// A row: its table and its key.
pub(crate) type Place = (String, i64);

/// What a statement did, by its own word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// Every row of each table that it looked at, with the statement that wrote the version that it saw: none of the first
    /// one. A row that it could not see is among them with the delete that it saw, or as unborn.
    pub(crate) looked: Vec<(Place, SeenVersion)>,
    /// What it wrote over.
    pub(crate) overwrote: Vec<(Place, SeenVersion)>,
}

/// A version: the tag of the statement that wrote it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SeenVersion {
    /// It was there at first.
    First,
    /// A statement wrote it, or deleted the row.
    By(String),
    /// The row was not there yet.
    Unborn,
}

#[derive(Clone)]
struct Version {
    values: Option<Vec<i64>>,
    by: SeenVersion,
    txn: u64,
    commit: Option<u64>,
}

#[derive(Default)]
struct State {
    columns: BTreeMap<String, Vec<String>>,
    rows: BTreeMap<Place, Vec<Version>>,
    clock: u64,
    txns: u64,
    truths: BTreeMap<String, Truth>,
}

/// The database.
#[derive(Clone)]
pub(crate) struct Engine {
    state: Arc<Mutex<State>>,
    /// Whether a transaction has one snapshot; else each statement has one.
    pub(crate) one_snapshot: bool,
}

impl Engine {
    pub(crate) fn new(one_snapshot: bool) -> Engine {
        Engine { state: Arc::default(), one_snapshot }
    }

    /// What each statement did when it was last done in a transaction, by its tag.
    pub(crate) fn truths(&self) -> BTreeMap<String, Truth> {
        self.state.lock().unwrap().truths.clone()
    }
}

impl Consoles for Engine {
    fn make_room(&self) -> Result<String, Failure> {
        Ok("room".to_owned())
    }

    fn empty_room(&self, _: &str) -> Result<(), Failure> {
        *self.state.lock().unwrap() = State::default();
        Ok(())
    }

    fn remove_room(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    fn console(&self, _: &Offer, _: &str) -> Result<Box<dyn Console>, Failure> {
        Ok(Box::new(Session { engine: self.clone(), txn: None }))
    }

    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure> {
        Ok(None)
    }
}

struct Session {
    engine: Engine,
    /// Its number and its snapshot.
    txn: Option<(u64, u64)>,
}

impl Console for Session {
    fn run(&mut self, statement: &str) -> Result<Said, Failure> {
        let (sql, tag) = match statement.split_once("/*") {
            Some((sql, tag)) => (sql, tag.trim_end_matches("*/").trim().to_owned()),
            None => (statement, String::new()),
        };
        let engine = self.engine.clone();
        let mut state = engine.state.lock().unwrap();
        let words: Vec<&str> = sql.split_whitespace().collect();
        match words[0].to_lowercase().as_str() {
            "begin" => {
                state.txns += 1;
                self.txn = Some((state.txns, state.clock));
                return Ok(Said::Done);
            }
            "commit" => {
                self.txn.take().into_iter().for_each(|(txn, _)| state.commit(txn));
                return Ok(Said::Done);
            }
            "rollback" => {
                self.txn.take().into_iter().for_each(|(txn, _)| state.roll_back(txn));
                return Ok(Said::Done);
            }
            "create" => {
                let columns = sql.split_once('(').unwrap().1.trim_end_matches(')');
                let names =
                    columns.split(',').map(|c| c.split_whitespace().next().unwrap().to_owned());
                state.columns.insert(words[2].to_owned(), names.collect());
                return Ok(Said::Done);
            }
            "drop" => {
                let table = words[2];
                state.columns.remove(table);
                state.rows.retain(|(of, _), _| of != table);
                return Ok(Said::Done);
            }
            // The tables are reset: nothing of the rows that were there is left, dead ones neither.
            "delete" if self.txn.is_none() && tag.is_empty() => {
                state.rows.retain(|(of, _), _| of != words[2]);
                return Ok(Said::Done);
            }
            _ => {}
        }
        let alone = self.txn.is_none();
        let (txn, snapshot) = self.txn.unwrap_or_else(|| {
            state.txns += 1;
            (state.txns, state.clock)
        });
        let snapshot = if engine.one_snapshot { snapshot } else { state.clock };
        let mut work = Work {
            state: &mut state,
            txn,
            snapshot,
            newest_only: !engine.one_snapshot,
            tag,
            truth: Truth::default(),
        };
        let said = work.done(sql, &words);
        let (tag, truth) = (work.tag, work.truth);
        match (&said, alone) {
            (Ok(_), true) => state.commit(txn),
            (Err(_), true) => state.roll_back(txn),
            (Ok(_), false) => _ = state.truths.insert(tag, truth),
            (Err(failure), false) if failure.after == After::Aborted => {
                state.roll_back(txn);
                self.txn = None;
            }
            (Err(_), false) => {}
        }
        said
    }

    fn number(&self) -> u64 {
        0
    }
}

impl State {
    fn commit(&mut self, txn: u64) {
        self.clock += 1;
        for version in self.rows.values_mut().flatten().filter(|v| v.txn == txn) {
            version.commit.get_or_insert(self.clock);
        }
    }

    fn roll_back(&mut self, txn: u64) {
        self.rows.values_mut().for_each(|v| v.retain(|v| v.txn != txn || v.commit.is_some()));
        self.rows.retain(|_, versions| !versions.is_empty());
    }
}

/// A statement that is done.
struct Work<'s> {
    state: &'s mut State,
    txn: u64,
    snapshot: u64,
    newest_only: bool,
    tag: String,
    truth: Truth,
}

impl Work<'_> {
    fn done(&mut self, sql: &str, words: &[&str]) -> Result<Said, Failure> {
        let condition = sql
            .split_once(" WHERE ")
            .map(|(_, c)| c.split(" ORDER ").next().unwrap().trim().to_owned());
        match words[0].to_lowercase().as_str() {
            "select" => {
                let from = words.iter().position(|w| w.eq_ignore_ascii_case("from")).unwrap();
                let table = words[from + 1].to_owned();
                let found = self.matching(&table, condition.as_deref());
                let names = self.state.columns[&table].clone();
                let columns: Vec<Column> = names.iter().map(|n| Column::integers(n)).collect();
                let row = |values: &Vec<i64>| {
                    values.iter().map(|v| Datum::Integer(i128::from(*v))).collect::<Vec<Datum>>()
                };
                let rows: Vec<Vec<Datum>> = found.iter().map(|(_, values)| row(values)).collect();
                if words[1].eq_ignore_ascii_case("count(*)") {
                    let count = Datum::Integer(rows.len() as i128);
                    let columns = vec![Column::integers("count")];
                    return Ok(Said::Rows(ResultSet { columns, rows: vec![vec![count]] }));
                }
                Ok(Said::Rows(ResultSet { columns, rows }))
            }
            "insert" => {
                let values = sql.split_once(" VALUES ").unwrap().1;
                let mut changed = 0;
                for row in values.split("),(") {
                    let row = row.trim().trim_matches(|c| c == '(' || c == ')');
                    let row: Vec<i64> = row.split(',').map(|n| n.trim().parse().unwrap()).collect();
                    self.write((words[2].to_owned(), row[0]), Some(row))?;
                    changed += 1;
                }
                Ok(Said::Changed(changed))
            }
            "update" => {
                let table = words[1].to_owned();
                let set = sql.split_once(" SET ").unwrap().1.split(" WHERE ").next().unwrap();
                let columns = self.state.columns[&table].clone();
                let mut changed = 0;
                for (key, old) in self.matching(&table, condition.as_deref()) {
                    let mut new = old.clone();
                    for part in set.split(',') {
                        let (name, value) = part.split_once('=').unwrap();
                        let at = columns.iter().position(|c| c == name.trim()).unwrap();
                        new[at] = value_of(value.trim(), &columns, &old);
                    }
                    self.write((table.clone(), key), Some(new))?;
                    changed += 1;
                }
                Ok(Said::Changed(changed))
            }
            "delete" => {
                let table = words[2].to_owned();
                let found = self.matching(&table, condition.as_deref());
                for (key, _) in &found {
                    self.write((table.clone(), *key), None)?;
                }
                Ok(Said::Changed(found.len() as u64))
            }
            other => panic!("{other}"),
        }
    }

    /// The version of a row that it sees.
    fn seen(&self, place: &Place) -> Option<&Version> {
        let versions = self.state.rows.get(place)?;
        let sees = |v: &&Version| v.txn == self.txn || v.commit.is_some_and(|c| c <= self.snapshot);
        versions.iter().rev().find(sees)
    }

    /// The rows of a table for which a condition holds; all rows of the table are looked at.
    fn matching(&mut self, table: &str, condition: Option<&str>) -> Vec<(i64, Vec<i64>)> {
        let columns = self.state.columns[table].clone();
        let places: Vec<Place> =
            self.state.rows.keys().filter(|(of, _)| of == table).cloned().collect();
        let mut found = Vec::new();
        for place in places {
            let (by, values) = match self.seen(&place) {
                Some(version) => (version.by.clone(), version.values.clone()),
                None => (SeenVersion::Unborn, None),
            };
            self.truth.looked.push((place.clone(), by));
            if let Some(values) = values
                && condition.is_none_or(|c| holds(c, &columns, &values))
            {
                found.push((place.1, values));
            }
        }
        found
    }

    fn write(&mut self, place: Place, values: Option<Vec<i64>>) -> Result<(), Failure> {
        let last = self.state.rows.get(&place).and_then(|versions| versions.last());
        if let Some(last) = last.filter(|last| last.txn != self.txn) {
            if last.commit.is_none() {
                let busy = Failure::conflict(After::Open, "busy", "another session has written it");
                return Err(busy.with_class(ErrorClass::LockTimeout));
            }
            if !self.newest_only && last.commit > Some(self.snapshot) {
                return Err(Failure::conflict(After::Aborted, "40001", "it was written since"));
            }
        }
        let before = last.map_or(SeenVersion::Unborn, |last| last.by.clone());
        self.truth.overwrote.push((place.clone(), before));
        let by = match self.tag.is_empty() {
            true => SeenVersion::First,
            false => SeenVersion::By(self.tag.clone()),
        };
        let version = Version { values, by, txn: self.txn, commit: None };
        self.state.rows.entry(place).or_default().push(version);
        Ok(())
    }
}

fn value_of(text: &str, columns: &[String], row: &[i64]) -> i64 {
    let atom = |text: &str| match columns.iter().position(|c| c == text) {
        Some(at) => row[at],
        None => text.parse().unwrap(),
    };
    match text.split_once(" + ") {
        Some((one, other)) => atom(one.trim()) + atom(other.trim()),
        None => atom(text),
    }
}

fn holds(condition: &str, columns: &[String], row: &[i64]) -> bool {
    for (word, test) in [
        (" >= ", (|a, b| a >= b) as fn(i64, i64) -> bool),
        (" < ", |a, b| a < b),
        (" = ", |a, b| a == b),
    ] {
        if let Some((one, other)) = condition.split_once(word) {
            return test(value_of(one, columns, row), value_of(other, columns, row));
        }
    }
    panic!("{condition}")
}
