//! Transactions that follow no pattern.

use super::maker::Maker;
use super::weights::StatementKind;
use crate::tree::{Query, Statement};

/// A transaction on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) statements: Vec<Statement>,
    pub(super) rolls_back: bool,
}

impl Maker<'_> {
    /// Transactions of any statements.
    pub(super) fn free_transactions(&mut self) -> Vec<Draft> {
        let single = self.percent(self.weights.single);
        let many = if single { 1 } else { self.within(self.sizes.transactions).max(1) };
        (0..many).map(|_| self.free_transaction()).collect()
    }

    fn free_transaction(&mut self) -> Draft {
        let wanted = usize::try_from(self.within(self.sizes.statements)).unwrap_or(1).max(1);
        let weights = self.weights;
        let reads = self.percent(weights.only_reads);
        let kinds = if reads { &weights.reads } else { &weights.statements };
        let mut draft = Draft::default();
        // A statement that cannot be made leaves its place empty.
        for _ in 0..wanted {
            if draft.statements.len() >= wanted {
                break;
            }
            let Some(kind) = self.weighted(kinds) else { break };
            let statement = self.statement(kind);
            let follows = statement.as_ref().and_then(|statement| self.same_predicate(statement));
            draft.statements.extend(statement);
            draft.statements.extend(follows.filter(|_| !reads));
        }
        if draft.statements.is_empty() {
            let table = self.table();
            draft.statements.push(Statement::Select(self.plain(table)));
        }
        if self.percent(weights.savepoint) {
            self.add_savepoint(&mut draft);
        }
        draft.rolls_back = self.percent(weights.rollback);
        draft
    }

    /// A statement; nothing if it cannot be made here.
    pub(super) fn statement(&mut self, kind: StatementKind) -> Option<Statement> {
        self.forget_aliases();
        self.avoid = None;
        let table = self.table();
        Some(match kind {
            StatementKind::Plain => Statement::Select(self.plain(table)),
            StatementKind::Query => Statement::Select(self.top_query()?),
            StatementKind::LockingRead if self.dialect.locks.is_none() => {
                Statement::Select(self.plain(table))
            }
            StatementKind::LockingRead => Statement::Select(self.locking_query()?),
            StatementKind::InsertValues => self.insert_values(table)?,
            StatementKind::InsertSelect => match self.insert_select(table) {
                Some(statement) => statement,
                None => self.insert_values(table)?,
            },
            StatementKind::Update => {
                let condition = self.written_rows(table, self.dialect.update_reads_target);
                self.update(table, condition)
            }
            StatementKind::Delete => {
                let condition = self.written_rows(table, self.dialect.reads_target);
                self.delete(table, condition)
            }
        })
    }

    /// What writes the rows that a plain SELECT returned, by the same condition.
    fn same_predicate(&mut self, statement: &Statement) -> Option<Statement> {
        let Statement::Select(query @ Query { lock: None, .. }) = statement else { return None };
        let (table, condition) = query.plain()?;
        if !self.percent(self.weights.same_predicate) {
            return None;
        }
        let condition = condition.cloned();
        // A condition of its own would not be the same.
        let deletes = self.schema.children(table).is_empty() && self.percent(30);
        Some(match deletes {
            true => Statement::Delete { table, condition },
            false => self.update(table, condition),
        })
    }

    /// A savepoint somewhere, and what becomes of it.
    fn add_savepoint(&mut self, draft: &mut Draft) {
        let name = "s0".to_owned();
        let from = self.below(draft.statements.len());
        let to = from + 1 + self.below(draft.statements.len() - from);
        let end = match self.percent(70) {
            true => Statement::RollbackTo(name.clone()),
            false => Statement::Release(name.clone()),
        };
        draft.statements.insert(to, end);
        draft.statements.insert(from, Statement::Savepoint(name));
    }
}
