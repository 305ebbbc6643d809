//! Conditions: any, and those that are true of a row.

use super::maker::{Maker, RowAt};
use super::scope::{Scope, Visible};
use super::weights::ConditionKind;
use crate::schema::TableDef;
use crate::tree::{Comparison, Expression, Function, Literal, Quantifier, ValueType};

const COMPARISONS: [(Comparison, u32); 7] = [
    (Comparison::Equal, 30),
    (Comparison::Unequal, 10),
    (Comparison::Less, 15),
    (Comparison::LessOrEqual, 15),
    (Comparison::Greater, 15),
    (Comparison::GreaterOrEqual, 15),
    (Comparison::Same, 8),
];

const PATTERNS: [&str; 7] = ["a%", "%b", "%a%", "_", "ab%", "c_%", "%"];

impl Maker<'_> {
    /// A condition.
    pub(super) fn condition(&mut self, scope: &Scope, depth: u32) -> Expression {
        let kind = self.weighted(&self.weights.conditions).unwrap_or(ConditionKind::Compare);
        let less = depth.saturating_sub(1);
        match kind {
            ConditionKind::And | ConditionKind::Or | ConditionKind::Not if depth == 0 => {
                self.simple_condition(scope)
            }
            ConditionKind::And => {
                Expression::And(vec![self.condition(scope, less), self.condition(scope, less)])
            }
            ConditionKind::Or => {
                Expression::Or(vec![self.condition(scope, less), self.condition(scope, less)])
            }
            ConditionKind::Not => Expression::Not(Box::new(self.condition(scope, less))),
            ConditionKind::Exists
            | ConditionKind::InQuery
            | ConditionKind::Quantified
            | ConditionKind::ScalarCompare => {
                let made = (scope.subqueries > 0).then(|| self.of_query(kind, scope, less));
                match made.flatten() {
                    Some(condition) => condition,
                    None => self.simple_condition(scope),
                }
            }
            ConditionKind::Compare => self.simple_condition(scope),
            ConditionKind::Constant => {
                let how = self.comparison(ValueType::Integer);
                let values = [(); 2].map(|()| self.value_literal(ValueType::Integer));
                let [left, right] = values.map(Box::new);
                Expression::Compare(how, left, right)
            }
            _ => self.about_column(kind, scope, less),
        }
    }

    /// A column, compared with a value.
    pub(super) fn simple_condition(&mut self, scope: &Scope) -> Expression {
        let Some(visible) = self.one(&scope.columns).cloned() else {
            return Expression::Literal(Literal::Boolean(self.random.coin()));
        };
        let how = self.comparison(visible.holds());
        let with = self.literal_of(visible.origin, visible.holds());
        Expression::Compare(how, Box::new(visible.column), Box::new(Expression::Literal(with)))
    }

    fn about_column(&mut self, kind: ConditionKind, scope: &Scope, depth: u32) -> Expression {
        let Some(visible) = self.one(&scope.columns).cloned() else {
            return self.simple_condition(scope);
        };
        let (column, holds) = (visible.column.clone(), visible.holds());
        let yes = !self.percent(25);
        match kind {
            ConditionKind::CompareValues => {
                let how = self.comparison(holds);
                let left = self.value(holds, scope, depth);
                let right = self.value(holds, scope, depth);
                Expression::Compare(how, Box::new(left), Box::new(right))
            }
            ConditionKind::Between if holds != ValueType::Boolean => {
                let ends = [self.operand(&visible), self.operand(&visible)];
                Expression::Between(Box::new(column), Box::new(sorted(ends)), yes)
            }
            ConditionKind::InList => {
                let many = 1 + self.below(3);
                let mut list: Vec<Expression> = (0..many).map(|_| self.operand(&visible)).collect();
                if self.percent(8) {
                    list.push(Expression::Literal(Literal::Null(holds)));
                }
                Expression::InList(Box::new(column), list, yes)
            }
            ConditionKind::Like => {
                let text = self.leaf(ValueType::Text, scope);
                let pattern = self.one(&PATTERNS).copied().unwrap_or("%");
                Expression::Like(Box::new(text), pattern.to_owned(), yes)
            }
            ConditionKind::IsNull => Expression::IsNull(Box::new(column), yes),
            ConditionKind::IsTrue => {
                Expression::IsTrue(Box::new(self.simple_condition(scope)), yes)
            }
            ConditionKind::Boolean => self.leaf(ValueType::Boolean, scope),
            _ => self.simple_condition(scope),
        }
    }

    fn of_query(&mut self, kind: ConditionKind, scope: &Scope, depth: u32) -> Option<Expression> {
        let yes = !self.percent(30);
        if kind == ConditionKind::Exists {
            let query = self.query_of_types(&[ValueType::Integer], &scope.inside())?;
            return Some(Expression::Exists(Box::new(query), yes));
        }
        let visible = self.one(&scope.columns).cloned()?;
        let holds = visible.holds();
        if kind == ConditionKind::ScalarCompare {
            let how = self.comparison(holds);
            let query = Expression::Scalar(Box::new(self.scalar_query(holds, scope)?));
            let value = self.value(holds, scope, depth);
            return Some(Expression::Compare(how, Box::new(value), Box::new(query)));
        }
        let query = Box::new(self.query_of_types(&[holds], &scope.inside())?);
        let value = Box::new(visible.column);
        if kind == ConditionKind::Quantified && self.dialect.quantifiers {
            let how = match self.comparison(holds) {
                Comparison::Same => Comparison::Equal,
                other => other,
            };
            let quantifier = [Quantifier::Any, Quantifier::All][self.below(2)];
            return Some(Expression::Quantified(how, quantifier, value, query));
        }
        Some(Expression::InQuery(value, query, yes))
    }

    fn comparison(&mut self, of: ValueType) -> Comparison {
        match self.weighted(&COMPARISONS).unwrap_or(Comparison::Equal) {
            how @ (Comparison::Equal | Comparison::Unequal | Comparison::Same) => how,
            // Of true and false, none is less.
            _ if of == ValueType::Boolean => Comparison::Equal,
            how => how,
        }
    }

    fn operand(&mut self, visible: &Visible) -> Expression {
        Expression::Literal(self.literal_of(visible.origin, visible.holds()))
    }

    /// A condition on a table for a statement: mostly one that is true of a row that other transactions touch, too.
    pub(super) fn condition_on(&mut self, table: usize, scope: &Scope) -> Option<Expression> {
        let focused: Vec<RowAt> =
            self.focus.iter().filter(|(of, _)| *of == table).copied().collect();
        let share = self.weights.focus;
        let depth = self.sizes.depth;
        if let Some(row) = self.one(&focused).copied()
            && self.percent(share)
        {
            let condition = self.condition_of(row, scope);
            return Some(match self.below(8) {
                0 => Expression::Or(vec![condition, self.condition(scope, depth)]),
                1 => Expression::And(vec![condition, self.condition(scope, depth)]),
                _ => condition,
            });
        }
        (!self.percent(8)).then(|| self.condition(scope, depth))
    }

    /// A condition that is true of a row as it is at first.
    pub(super) fn condition_of(&mut self, (table, row): RowAt, scope: &Scope) -> Expression {
        let own = scope.columns.iter().filter(|visible| {
            !visible.outer && visible.origin.is_some_and(|(of, column)| of == table && column != 1)
        });
        let own: Vec<Visible> = own.cloned().collect();
        match own.first() {
            Some(key) if self.percent(40) => {
                let scope = Scope { columns: vec![key.clone()], ..Scope::default() };
                self.any_condition_of((table, row), &scope)
            }
            Some(_) => {
                self.any_condition_of((table, row), &Scope { columns: own, ..Scope::default() })
            }
            None => self.simple_condition(scope),
        }
    }

    /// A condition on one of the columns that is true of a row as it is at first.
    pub(super) fn any_condition_of(&mut self, (table, row): RowAt, scope: &Scope) -> Expression {
        let Some(visible) = self.one(&scope.columns) else { return self.simple_condition(scope) };
        let column = visible.origin.map_or(0, |(_, column)| column);
        let value = value_of(&self.schema.tables[table], row, column);
        self.true_of(visible, value)
    }

    /// A condition on a column that is true of a value.
    fn true_of(&mut self, visible: &Visible, value: Literal) -> Expression {
        let column = Box::new(visible.column.clone());
        if value.is_null() {
            return Expression::IsNull(column, true);
        }
        let holds = value.value_type();
        let literal = Expression::Literal(value);
        match self.below(10) {
            0 | 1 if holds != ValueType::Boolean => {
                let other = self.operand(visible);
                let ends = sorted([literal, other]);
                Expression::Between(column, Box::new(ends), true)
            }
            2 | 3 => {
                let mut list = vec![literal, self.operand(visible)];
                list.dedup();
                Expression::InList(column, list, true)
            }
            4 => {
                let coalesced =
                    Expression::Call(Function::Coalesce, vec![*column, literal.clone()]);
                Expression::Compare(Comparison::Equal, Box::new(coalesced), Box::new(literal))
            }
            5 if holds != ValueType::Boolean => {
                let how = [Comparison::LessOrEqual, Comparison::GreaterOrEqual][self.below(2)];
                Expression::Compare(how, column, Box::new(literal))
            }
            _ => Expression::Compare(Comparison::Equal, column, Box::new(literal)),
        }
    }
}

fn value_of(table: &TableDef, row: usize, column: usize) -> Literal {
    let value = table.rows.get(row).and_then(|row| row.get(column));
    value.cloned().unwrap_or(Literal::Null(ValueType::Integer))
}

/// The lesser one first.
fn sorted(ends: [Expression; 2]) -> [Expression; 2] {
    let [first, second] = ends;
    let greater = match (&first, &second) {
        (Expression::Literal(a), Expression::Literal(b)) => a > b,
        _ => false,
    };
    if greater { [second, first] } else { [first, second] }
}
