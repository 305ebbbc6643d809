//! A connection to SQLite as a session.

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Error, ErrorCode, Statement};

use crate::embedded::sqlite::statements::{Step, statements};
use crate::failure::{After, Failure};
use crate::offer::Offer;
use crate::request::{Answer, Request};
use crate::target::{Ended, Session};
use isolde_history::{ErrorClass, OpKind};

/// A session.
pub(super) struct SqliteSession {
    connection: Connection,
    prefix: String,
    begin: &'static str,
}

/// How a transaction begins at an offer.
pub(super) fn begin(offer: &Offer) -> Option<&'static str> {
    match offer.name {
        "deferred" => Some("BEGIN"),
        "immediate" => Some("BEGIN IMMEDIATE"),
        _ => None,
    }
}

impl SqliteSession {
    /// A session on a connection of its own.
    pub(super) fn new(
        connection: Connection,
        prefix: String,
        begin: &'static str,
    ) -> SqliteSession {
        // Each table has about thirty statements; forgetting them costs more than keeping them.
        connection.set_prepared_statement_cache_capacity(512);
        SqliteSession { connection, prefix, begin }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    /// What a failure means, now that SQLite may have ended the transaction by itself.
    fn failed(&self, error: Error) -> Failure {
        let mut failure = failure(error);
        if self.connection.is_autocommit() {
            failure.after = After::Aborted;
        }
        failure
    }

    /// The statements of an access one after another, until one does something.
    fn steps(&self, request: &Request) -> rusqlite::Result<Answer> {
        let name = format!("{}_{}", self.prefix, request.table);
        for (step, sql) in statements(&name, request.kind, request.path) {
            let mut statement = self.connection.prepare_cached(&sql)?;
            bind(&mut statement, request)?;
            match step {
                Step::Query => return query(&mut statement, request.kind),
                Step::Change if statement.raw_execute()? > 0 => return Ok(Answer::Done(true)),
                Step::Returning if gives_a_row(&mut statement)? => return Ok(Answer::Done(true)),
                Step::Insert => return insert(&mut statement),
                Step::Change | Step::Returning => {}
            }
        }
        Ok(Answer::Done(false))
    }
}

impl Session for SqliteSession {
    fn begin(&mut self) -> Result<(), Failure> {
        // No transaction is left behind by a BEGIN that fails: the connection is in autocommit.
        self.execute(self.begin).map_err(|error| self.failed(error))
    }

    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        self.steps(request).map_err(|error| self.failed(error))
    }

    fn commit(&mut self) -> Result<Ended, Failure> {
        match self.execute("COMMIT") {
            Ok(()) => Ok(Ended::Committed),
            Err(error) => {
                let mut failure = failure(error);
                // A COMMIT that found the file busy can be tried again or rolled back; after
                // anything else the file may hold it or not.
                let open = failure.expected && !self.connection.is_autocommit();
                failure.after = if open { After::Open } else { After::Lost };
                Err(failure)
            }
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.execute("ROLLBACK").map_err(|error| Failure { after: After::Lost, ..failure(error) })
    }
}

/// A failure of a statement, with the transaction still there.
#[allow(clippy::needless_pass_by_value, reason = "made for map_err")]
pub(super) fn failure(error: Error) -> Failure {
    let message = error.to_string();
    let of_sqlite = match &error {
        Error::SqlInputError { error, .. } => Some(error),
        other => other.sqlite_error(),
    };
    let Some(code) = of_sqlite.map(|e| (e.code, e.extended_code)) else {
        return Failure::new(After::Open, "rusqlite", message);
    };
    match code {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, extended) => {
            let class = match extended {
                rusqlite::ffi::SQLITE_BUSY_SNAPSHOT => ErrorClass::Serialization,
                _ => ErrorClass::LockTimeout,
            };
            Failure::conflict(After::Open, busy(extended), message).with_class(class)
        }
        (ErrorCode::InternalMalfunction, _) => {
            Failure::new(After::Open, "SQLITE_INTERNAL", message)
        }
        (ErrorCode::OutOfMemory, _) => Failure::new(After::Open, "SQLITE_NOMEM", message),
        (ErrorCode::OperationInterrupted, _) => {
            let failure = Failure::new(After::Open, "SQLITE_INTERRUPT", message);
            failure.with_class(ErrorClass::StatementTimeout)
        }
        (ErrorCode::ConstraintViolation, extended) => {
            let failure = Failure::new(After::Open, extended.to_string(), message);
            failure.with_class(ErrorClass::Constraint)
        }
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, extended) => {
            Failure::new(After::Open, extended.to_string(), message).corrupt()
        }
        (_, extended) => Failure::new(After::Open, extended.to_string(), message),
    }
}

/// SQLite's names, which people know better than its numbers.
fn busy(extended: i32) -> String {
    match extended {
        rusqlite::ffi::SQLITE_BUSY => "SQLITE_BUSY".into(),
        rusqlite::ffi::SQLITE_BUSY_SNAPSHOT => "SQLITE_BUSY_SNAPSHOT".into(),
        rusqlite::ffi::SQLITE_LOCKED => "SQLITE_LOCKED".into(),
        other => other.to_string(),
    }
}

fn bind(statement: &mut Statement<'_>, request: &Request) -> rusqlite::Result<()> {
    let row = i64::from(request.row);
    for (name, value) in [(":row", row), (":value", request.value), (":expected", request.expected)]
    {
        if let Some(index) = statement.parameter_index(name)? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

fn query(statement: &mut CachedStatement<'_>, kind: OpKind) -> rusqlite::Result<Answer> {
    let mut rows = statement.raw_query();
    let row = rows.next()?;
    let Some(row) = row else {
        return Ok(if kind == OpKind::ListRead { Answer::List(None) } else { Answer::Value(None) });
    };
    if kind == OpKind::Read {
        return row.get(0).map(|value| Answer::Value(Some(value)));
    }
    // The column has the affinity of a text, so that a list of one integer is a text as well.
    let text = match row.get_ref(0)? {
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => return Err(Error::InvalidColumnType(0, "val".into(), other.data_type())),
    };
    let elements: Result<Vec<i64>, _> = text.split(',').map(str::parse).collect();
    let elements =
        elements.map_err(|_| Error::InvalidColumnType(0, text, rusqlite::types::Type::Text))?;
    Ok(Answer::List(Some(elements)))
}

fn gives_a_row(statement: &mut CachedStatement<'_>) -> rusqlite::Result<bool> {
    let mut rows = statement.raw_query();
    let mut any = false;
    // To the end: SQLite makes the changes at the first step, but ends the statement at the last.
    while rows.next()?.is_some() {
        any = true;
    }
    Ok(any)
}

fn insert(statement: &mut CachedStatement<'_>) -> rusqlite::Result<Answer> {
    match statement.raw_execute() {
        Ok(_) => Ok(Answer::Done(true)),
        // The statement is undone, the transaction is not.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(Answer::Done(false))
        }
        Err(error) => Err(error),
    }
}
