//! One client of MariaDB, MySQL or TiDB.

use std::collections::HashMap;

use isolde_history::OpKind;
use mysql::prelude::Queryable;
use mysql::{Conn, Error, Params, Statement, Value};

use super::dialect::WAYS;
use super::failure;
use super::flavour::Flavour;
use crate::failure::{After, Failure};
use crate::path::Path;
use crate::request::{Answer, Request};
use crate::sql::{self, Cell, Outcome, Way};
use crate::target::{Ended, Session};

/// A way to do an access on one table, prepared: each statement with its order of parameters.
struct MySqlReady {
    way: &'static Way,
    steps: Vec<(Statement, Vec<usize>)>,
}

/// A connection that runs transactions at one level.
pub(super) struct MySqlSession {
    conn: Conn,
    flavour: Flavour,
    /// What tables are called, but for their numbers.
    prefix: String,
    ready: HashMap<(u32, OpKind, Path), MySqlReady>,
    /// The server said that it had ended the transaction. START TRANSACTION would commit one that
    /// is still there, so it is rolled back for certain before the next.
    ended_by_server: bool,
}

impl MySqlSession {
    /// A session on a connection that is at its level.
    pub(super) fn new(conn: Conn, flavour: Flavour, prefix: String) -> MySqlSession {
        MySqlSession { conn, flavour, prefix, ready: HashMap::new(), ended_by_server: false }
    }

    fn prepare(&mut self, request: &Request) -> Result<MySqlReady, Failure> {
        let Some(way) = sql::find(&WAYS, request.kind, request.path) else {
            let what = format!("{:?} by {}", request.kind, request.path.name());
            return Err(Failure::new(After::Open, "unsupported", format!("cannot do {what}")));
        };
        self.forget_others(request.table).map_err(|e| self.failed(&e))?;
        let table = format!("{}{}", self.prefix, request.table);
        let mut steps = Vec::new();
        for text in way.steps {
            let (text, order) = sql::question_marks(&text.replace("{t}", &table));
            let statement = self.conn.prep(text).map_err(|e| self.failed(&e))?;
            steps.push((statement, order));
        }
        Ok(MySqlReady { way, steps })
    }

    /// Forgets the statements of other tables: a session goes on from table to table, and a server
    /// holds a limited number of statements over all sessions.
    fn forget_others(&mut self, table: u32) -> Result<(), Error> {
        let MySqlSession { ready, conn, .. } = self;
        let others = ready.extract_if(|(t, _, _), _| *t != table);
        others.flat_map(|(_, old)| old.steps).try_for_each(|(statement, _)| conn.close(statement))
    }

    fn failed(&mut self, error: &Error) -> Failure {
        let failure = self.flavour.judged(failure::in_transaction(error));
        self.ended_by_server |= failure.after == After::Aborted;
        failure
    }

    fn steps(&mut self, ready: &MySqlReady, request: &Request) -> Result<Outcome, Error> {
        let mut outcome = Outcome::default();
        for (number, (statement, order)) in ready.steps.iter().enumerate() {
            if number > 0 && ready.way.until_done && outcome.rows > 0 {
                break;
            }
            let values = order.iter().map(|n| Value::Int(sql::parameter(request, *n)));
            let parameters = Params::Positional(values.collect());
            // All rows, though there is at most one: an error may come behind it (a deadlock at
            // the end of a range), and asking for the first row only would hide it.
            let rows: Vec<Value> = self.conn.exec(statement, parameters)?;
            let count = self.conn.affected_rows().max(rows.len() as u64);
            outcome = Outcome { cell: rows.into_iter().next().and_then(cell), rows: count };
        }
        Ok(outcome)
    }
}

fn cell(value: Value) -> Option<Cell> {
    match value {
        Value::NULL => None,
        Value::Int(number) => Some(Cell::Integer(number)),
        Value::UInt(number) => i64::try_from(number).ok().map(Cell::Integer),
        Value::Bytes(bytes) => Some(Cell::Text(String::from_utf8_lossy(&bytes).into_owned())),
        other => Some(Cell::Text(format!("{other:?}"))),
    }
}

impl Session for MySqlSession {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.ended_by_server {
            self.rollback()?;
        }
        self.conn.query_drop("START TRANSACTION").map_err(|e| self.failed(&e))
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let key = (request.table, request.kind, request.path);
        let ready = match self.ready.remove(&key) {
            Some(ready) => ready,
            None => self.prepare(request)?,
        };
        let outcome = self.steps(&ready, request);
        self.ready.insert(key, ready);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // The row was there; the transaction goes on.
            Err(error) if request.kind == OpKind::InsertIfAbsent => match failure::code(&error) {
                Some(1062) => return Ok(Answer::Done(false)),
                _ => return Err(self.failed(&error)),
            },
            Err(error) => return Err(self.failed(&error)),
        };
        let found = format!("{outcome:?}");
        sql::answer(request.kind, outcome).ok_or_else(|| Failure::impossible(request, &found))
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        match self.conn.query_drop("COMMIT") {
            Ok(()) => Ok(Ended::Committed),
            Err(error) => {
                let failure = failure::at_commit(&error);
                self.ended_by_server |= failure.after == After::Aborted;
                // A node may have found the conflict long before it was asked.
                let ended = failure.ended && self.flavour != Flavour::Galera;
                Err(Failure { ended, ..failure })
            }
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.conn.query_drop("ROLLBACK").map_err(|e| self.failed(&e))?;
        self.ended_by_server = false;
        Ok(())
    }
}
