//! What an expression can name.

use crate::tree::{Expression, ValueType};

/// The columns that an expression can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<Visible>,
    /// Columns that tell the rows of this query apart; rows with the same values in all of them are the same everywhere.
    pub(super) identity: Vec<Expression>,
    /// How deep queries may still be in queries.
    pub(super) subqueries: u32,
    /// How often the expression is evaluated if nothing is left out: once for each row of this query, for each row of the
    /// queries around.
    pub(super) times: u64,
}

/// A column that can be named.
#[derive(Clone, Debug)]
pub(super) struct Visible {
    pub(super) column: Expression,
    /// The table and the number of the column from which its values come, if there is one.
    pub(super) origin: Option<(usize, usize)>,
    /// Whether it belongs to a query around this one.
    pub(super) outer: bool,
}

impl Visible {
    pub(super) fn holds(&self) -> ValueType {
        self.column.value_type()
    }
}

impl Scope {
    /// The same for a query inside.
    pub(super) fn inside(&self) -> Scope {
        let columns = self.columns.iter().map(|column| Visible { outer: true, ..column.clone() });
        let subqueries = self.subqueries.saturating_sub(1);
        Scope { columns: columns.collect(), identity: Vec::new(), subqueries, times: self.times }
    }

    /// Without the columns of queries around, and without queries inside: what aggregates are made of. An aggregate of
    /// outer columns would belong to the outer query.
    pub(super) fn local(&self) -> Scope {
        let columns = self.columns.iter().filter(|column| !column.outer).cloned().collect();
        Scope { columns, identity: self.identity.clone(), subqueries: 0, times: self.times }
    }

    /// The columns of a type.
    pub(super) fn of_type(&self, holds: ValueType) -> Vec<&Visible> {
        self.columns.iter().filter(|column| column.holds() == holds).collect()
    }
}

/// A query with a name, which can stand in FROM.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) types: Vec<ValueType>,
    /// How many rows it has at most, roughly.
    pub(super) rows: u64,
}
