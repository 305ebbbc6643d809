//! Statements.

use super::nodes::{Expression, Query};
use super::words::{Lock, Patience};
use crate::case::{Does, ReadLock};

/// A statement of a transaction.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// It reads.
    Select(Query),
    /// It inserts rows.
    InsertValues {
        /// Into that table.
        table: usize,
        /// Their version key.
        version: i64,
        /// A value for each column.
        rows: Vec<Vec<Expression>>,
    },
    /// It inserts what a query returns: a value for each column.
    InsertSelect {
        /// Into that table.
        table: usize,
        /// Their version key.
        version: i64,
        /// The rows.
        query: Query,
    },
    /// It updates rows.
    Update {
        /// Of that table.
        table: usize,
        /// The version key that they get.
        version: i64,
        /// Columns and their new values, without the version key.
        set: Vec<(String, Expression)>,
        /// Which rows.
        condition: Option<Expression>,
    },
    /// It deletes rows.
    Delete {
        /// Of that table.
        table: usize,
        /// Which rows.
        condition: Option<Expression>,
    },
    /// It sets a savepoint.
    Savepoint(String),
    /// It undoes what came after a savepoint.
    RollbackTo(String),
    /// It forgets a savepoint.
    Release(String),
}

impl Statement {
    /// The locks that it takes on what it reads.
    pub fn read_lock(&self) -> ReadLock {
        let Statement::Select(query) = self else { return ReadLock::None };
        match query.lock {
            None => ReadLock::None,
            Some((_, Patience::Skip | Patience::Fail)) => ReadLock::IfFree,
            Some((Lock::Share, Patience::Wait)) => ReadLock::Share,
            Some((Lock::Update, Patience::Wait)) => ReadLock::Update,
        }
    }

    /// Whether the order of its rows is determined.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Statement::Select(query) if query.ordered)
    }

    /// What it does, where `print` writes a condition as it stands in the statement.
    pub fn does(&self, print: impl Fn(&Expression) -> String) -> Does {
        let written = |condition: &Option<Expression>| condition.as_ref().map(&print);
        match self {
            Statement::Select(query) => {
                let plain = query.plain();
                let plain = plain.map(|(table, condition)| (table, condition.map(&print)));
                Does::Select { plain }
            }
            Statement::InsertValues { table, version, .. }
            | Statement::InsertSelect { table, version, .. } => {
                Does::Insert { table: *table, version: *version }
            }
            Statement::Update { table, version, condition, .. } => {
                let condition = written(condition);
                Does::Update { table: *table, version: *version, condition }
            }
            Statement::Delete { table, condition } => {
                Does::Delete { table: *table, condition: written(condition) }
            }
            Statement::Savepoint(name) => Does::Savepoint(name.clone()),
            Statement::RollbackTo(name) => Does::RollbackTo(name.clone()),
            Statement::Release(name) => Does::Release(name.clone()),
        }
    }
}
