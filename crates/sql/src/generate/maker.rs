//! What makes one case: the random numbers, and what has been made so far.

use isolde_workload::Random;

use super::counters::Counters;
use super::scope::{Scope, Visible};
use super::sizes::{Sizes, within};
use super::weights::Weights;
use crate::dialect::Dialect;
use crate::schema::Schema;
use crate::tree::{Expression, ValueType};

/// A row that is there at first: the table, and the number of the row in it.
pub(super) type RowAt = (usize, usize);

/// What makes a case.
pub(super) struct Maker<'g> {
    pub(super) random: Random,
    pub(super) dialect: &'static Dialect,
    pub(super) weights: &'g Weights,
    pub(super) sizes: Sizes,
    pub(super) schema: Schema,
    pub(super) counters: Counters,
    /// Rows that transactions shall meet at.
    pub(super) focus: Vec<RowAt>,
    /// The table that no subquery may read, since the statement writes it.
    pub(super) avoid: Option<usize>,
    aliases: u32,
}

impl<'g> Maker<'g> {
    pub(super) fn new(
        random: Random,
        dialect: &'static Dialect,
        weights: &'g Weights,
        sizes: Sizes,
    ) -> Maker<'g> {
        let (schema, counters) = (Schema::default(), Counters::new());
        let focus = Vec::new();
        Maker { random, dialect, weights, sizes, schema, counters, focus, avoid: None, aliases: 0 }
    }

    /// Whether something happens that happens so often in a hundred.
    pub(super) fn percent(&mut self, share: u32) -> bool {
        self.random.below(100) < u64::from(share)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.random.below(n.max(1) as u64)).unwrap_or(0)
    }

    pub(super) fn within(&mut self, range: (u32, u32)) -> u32 {
        within(&mut self.random, range)
    }

    /// One of several; nothing of nothing.
    pub(super) fn one<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }

    /// One of several, by weight.
    pub(super) fn weighted<T: Copy>(&mut self, of: &[(T, u32)]) -> Option<T> {
        let sum: u64 = of.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut left = self.random.below(sum.max(1));
        for (kind, weight) in of {
            match left.checked_sub(u64::from(*weight)) {
                Some(less) => left = less,
                None => return Some(*kind),
            }
        }
        of.last().map(|(kind, _)| *kind)
    }

    /// A name that nothing else in the case has.
    pub(super) fn alias(&mut self, letter: char) -> String {
        self.aliases += 1;
        format!("{letter}{}", self.aliases - 1)
    }

    /// A new statement counts from 0.
    pub(super) fn forget_aliases(&mut self) {
        self.aliases = 0;
    }

    /// A table: one with rows that transactions shall meet at, mostly. Not the one to avoid, unless there is no other.
    pub(super) fn table(&mut self) -> usize {
        let focused: Vec<usize> = self.focus.iter().map(|(table, _)| *table).collect();
        let share = self.weights.focus;
        let all: Vec<usize> = match self.percent(share) && !focused.is_empty() {
            true => focused,
            false => (0..self.schema.tables.len()).collect(),
        };
        self.one(&all).copied().unwrap_or(0)
    }

    /// A table for FROM: nothing if there is none that may be read.
    pub(super) fn readable_table(&mut self) -> Option<usize> {
        let chosen = self.table();
        if self.avoid != Some(chosen) {
            return Some(chosen);
        }
        let others: Vec<usize> =
            (0..self.schema.tables.len()).filter(|table| self.avoid != Some(*table)).collect();
        self.one(&others).copied()
    }

    /// A table's columns by a name, as they can be named where only that table is.
    pub(super) fn scope_of_table(&self, table: usize, of: &str) -> Scope {
        let columns: Vec<Visible> = self.visible(table, Some(of));
        let identity = columns.iter().take(1).map(|key| key.column.clone()).collect();
        let times = self.many_rows(table);
        Scope { columns, identity, subqueries: self.sizes.subqueries, times }
    }

    /// How many rows a table has, with some that are inserted.
    pub(super) fn many_rows(&self, table: usize) -> u64 {
        self.schema.tables[table].rows.len() as u64 + 2
    }

    /// The columns of a table.
    pub(super) fn visible(&self, table: usize, of: Option<&str>) -> Vec<Visible> {
        let columns = self.schema.tables[table].typed_columns().enumerate();
        let visible = columns.map(|(at, (name, holds))| Visible {
            column: column(of, name, holds),
            origin: Some((table, at)),
            outer: false,
        });
        visible.collect()
    }
}

/// A column.
pub(super) fn column(of: Option<&str>, name: &str, holds: ValueType) -> Expression {
    Expression::Column { of: of.map(str::to_owned), name: name.to_owned(), holds }
}
