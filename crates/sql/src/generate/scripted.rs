//! Transactions that follow a pattern.

use super::maker::{Maker, RowAt};
use super::patterns::{PATTERNS, PatternStep};
use super::queries::plain_query;
use super::transactions::Draft;
use super::weights::StatementKind;
use crate::tree::{Expression, Lock, Patience, Statement};

/// What a transaction does next.
#[derive(Clone, Debug)]
enum Event {
    Begin,
    Does(Box<Statement>),
    End { rolls_back: bool },
}

impl Maker<'_> {
    /// Transactions and the order of their steps, after a pattern; nothing if there is no row to meet at.
    pub(super) fn scripted_transactions(&mut self) -> Option<(Vec<Draft>, Vec<usize>)> {
        let pattern = *self.one(PATTERNS)?;
        let rows = self.rows_of_pattern()?;
        let predicate = self.predicate_of(rows[0]);
        let mut events = Vec::new();
        let steps = pattern.parsed();
        for step in &steps {
            if !events.iter().any(|(of, _)| *of == step.transaction) {
                events.push((step.transaction, Event::Begin));
            }
            let event = self.event(*step, &rows, &predicate);
            events.extend(event.map(|event| (step.transaction, event)));
        }
        let many = steps.iter().map(|step| step.transaction + 1).max()?;
        for transaction in 0..many {
            if self.percent(self.weights.beside_pattern) {
                self.add_beside(&mut events, transaction);
            }
        }
        let order = events.iter().map(|(of, _)| *of).collect();
        let mut drafts = vec![Draft::default(); many];
        for (of, event) in events {
            match event {
                Event::Begin => {}
                Event::Does(statement) => drafts[of].statements.push(*statement),
                Event::End { rolls_back } => drafts[of].rolls_back = rolls_back,
            }
        }
        Some((drafts, order))
    }

    /// The rows x, y and z: those that transactions shall meet at, and others of the same table, mostly.
    fn rows_of_pattern(&mut self) -> Option<[RowAt; 3]> {
        let x = *self.focus.first()?;
        let mut rows = [x; 3];
        for row in rows.iter_mut().skip(1) {
            let table = if self.percent(70) { x.0 } else { self.table() };
            let many = self.schema.tables[table].rows.len();
            *row = (table, self.below(many));
        }
        // As far as there are others.
        for at in 1..rows.len() {
            let many = self.schema.tables[rows[at].0].rows.len().max(1);
            for _ in 0..many {
                if !rows[..at].contains(&rows[at]) {
                    break;
                }
                rows[at].1 = (rows[at].1 + 1) % many;
            }
        }
        self.focus.extend(&rows[1..]);
        Some(rows)
    }

    fn event(
        &mut self,
        step: PatternStep,
        rows: &[RowAt; 3],
        (table, predicate): &(usize, Expression),
    ) -> Option<Event> {
        self.forget_aliases();
        let row = *rows.get(step.row)?;
        let all = || Some(predicate.clone());
        let name = || "s0".to_owned();
        let statement = match step.act {
            b'c' | b'a' => return Some(Event::End { rolls_back: step.act == b'a' }),
            b'r' => {
                let condition = self.row_condition(row);
                Statement::Select(plain_query(row.0, Some(condition)))
            }
            b'l' => {
                let condition = self.row_condition(row);
                let mut query = plain_query(row.0, Some(condition));
                query.lock = self.dialect.locks.map(|_| (Lock::Update, Patience::Wait));
                Statement::Select(query)
            }
            b'w' => {
                let condition = self.row_condition(row);
                self.update(row.0, Some(condition))
            }
            b'd' => {
                let condition = self.row_condition(row);
                self.delete(row.0, Some(condition))
            }
            b'p' => Statement::Select(plain_query(*table, all())),
            b'u' => self.update(*table, all()),
            b'e' => self.delete(*table, all()),
            b'i' => self.insert_like(rows[0])?,
            b's' => Statement::Savepoint(name()),
            b'k' => Statement::RollbackTo(name()),
            _ => return None,
        };
        Some(Event::Does(Box::new(statement)))
    }

    fn row_condition(&mut self, row: RowAt) -> Expression {
        let name = self.schema.tables[row.0].name.clone();
        let scope = self.scope_of_table(row.0, &name);
        self.condition_of(row, &scope)
    }

    /// A condition that is true of a row and of rows that are like it but for their keys.
    fn predicate_of(&mut self, row: RowAt) -> (usize, Expression) {
        let name = self.schema.tables[row.0].name.clone();
        let mut scope = self.scope_of_table(row.0, &name);
        let columns = &self.schema.tables[row.0].columns;
        let shared = |at: usize| {
            let column = at.checked_sub(2).and_then(|at| columns.get(at));
            column.is_some_and(|column| column.rule != Some(crate::schema::Rule::Unique))
        };
        let own = scope.columns.clone();
        scope.columns.retain(|column| column.origin.is_some_and(|(_, at)| shared(at)));
        if scope.columns.is_empty() {
            scope.columns = own;
        }
        (row.0, self.any_condition_of(row, &scope))
    }

    /// Another statement of a transaction, somewhere between its beginning and its end.
    fn add_beside(&mut self, events: &mut Vec<(usize, Event)>, transaction: usize) {
        let own = |(of, _): &(usize, Event)| *of == transaction;
        let Some(begins) = events.iter().position(own) else { return };
        let Some(ends) = events.iter().rposition(own) else { return };
        let kinds = &self.weights.statements;
        let kind = self.weighted(kinds).unwrap_or(StatementKind::Query);
        let place = begins + 1 + self.below(ends - begins);
        if let Some(statement) = self.statement(kind) {
            events.insert(place, (transaction, Event::Does(Box::new(statement))));
        }
    }
}
