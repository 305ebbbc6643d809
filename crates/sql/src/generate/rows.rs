//! Values: those that are in the tables, and others.

use super::maker::Maker;
use crate::tree::{Expression, Literal, ValueType};

/// Few words with much in common, so that patterns and comparisons meet several.
const WORDS: [&str; 10] = ["a", "ab", "abc", "b", "ba", "bb", "c", "cab", "ca", ""];

impl Maker<'_> {
    /// A value of a type, never NULL.
    pub(super) fn literal(&mut self, of: ValueType) -> Literal {
        let small = |n: u64| i64::try_from(n).unwrap_or(0);
        match of {
            ValueType::Integer => Literal::Integer(small(self.random.below(24)) - 4),
            ValueType::Decimal => Literal::Quarters(small(self.random.below(60)) - 10),
            ValueType::Text => {
                Literal::Text(self.one(&WORDS).copied().unwrap_or_default().to_owned())
            }
            ValueType::Date => Literal::Day(u16::try_from(self.random.below(56)).unwrap_or(0)),
            ValueType::Boolean => Literal::Boolean(self.random.coin()),
        }
    }

    /// The same as an expression; seldom NULL.
    pub(super) fn value_literal(&mut self, of: ValueType) -> Expression {
        let null = self.percent(4);
        Expression::Literal(if null { Literal::Null(of) } else { self.literal(of) })
    }

    /// A value to compare a column with: mostly one that is in it, or next to one.
    pub(super) fn literal_of(&mut self, origin: Option<(usize, usize)>, of: ValueType) -> Literal {
        let Some((table, column)) = origin else { return self.literal(of) };
        if self.percent(15) {
            return self.literal(of);
        }
        let rows = self.schema.tables[table].rows.len();
        let row = self.below(rows);
        let found = self.schema.tables[table].rows.get(row).and_then(|row| row.get(column));
        match found.cloned() {
            Some(value) if !value.is_null() => {
                if self.percent(15) {
                    next_to(value)
                } else {
                    value
                }
            }
            _ => self.literal(of),
        }
    }
}

/// The value after a value.
fn next_to(value: Literal) -> Literal {
    match value {
        Literal::Integer(number) => Literal::Integer(number.saturating_add(1)),
        Literal::Quarters(number) => Literal::Quarters(number.saturating_add(1)),
        Literal::Day(day) => Literal::Day(day.saturating_add(1)),
        other => other,
    }
}
