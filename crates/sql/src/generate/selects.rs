//! Parts of queries: rows, groups, windows.

use super::maker::Maker;
use super::scope::{Named, Scope};
use super::weights::SelectKind;
use crate::tree::{
    Aggregate, Comparison, Expression, Frame, Function, Literal, Ranking, Select, ValueType,
};

impl Maker<'_> {
    /// A query without parts that returns values of these types.
    pub(super) fn select(
        &mut self,
        types: &[ValueType],
        outer: &Scope,
        named: &[Named],
        top: bool,
    ) -> Option<Select> {
        let kind = self.weighted(&self.weights.selects).unwrap_or(SelectKind::Rows);
        let from = self.from(outer, named)?;
        if kind == SelectKind::Grouped {
            let group = self.group_columns(&from.scope);
            let values =
                types.iter().map(|of| self.grouped(*of, &group, &from.scope, top)).collect();
            let having = self.percent(25).then(|| self.having(&from.scope));
            let mut select = self.rows_of(from, values);
            (select.group, select.having) = (group, having);
            return Some(select);
        }
        let depth = self.sizes.depth;
        let values = types.iter().map(|of| {
            let window = kind == SelectKind::Windows && self.percent(60);
            if window { self.window(*of, &from.scope) } else { self.value(*of, &from.scope, depth) }
        });
        let values = values.collect();
        let mut select = self.rows_of(from, values);
        select.distinct = kind == SelectKind::Distinct;
        Some(select)
    }

    /// None, one or two columns.
    fn group_columns(&mut self, scope: &Scope) -> Vec<Expression> {
        let local = scope.local();
        let mut group = Vec::new();
        for _ in 0..self.below(3) {
            let chosen = self.one(&local.columns).map(|visible| visible.column.clone());
            group.extend(chosen.filter(|column| !group.contains(column)));
        }
        group
    }

    /// A value of a group: a column that it has in common, or an aggregate.
    fn grouped(
        &mut self,
        of: ValueType,
        group: &[Expression],
        scope: &Scope,
        top: bool,
    ) -> Expression {
        let common: Vec<&Expression> =
            group.iter().filter(|column| column.value_type() == of).collect();
        if let Some(column) = self.one(&common)
            && self.percent(50)
        {
            return (*column).clone();
        }
        let local = scope.local();
        match of {
            ValueType::Boolean => {
                let bound = Expression::Literal(Literal::Integer(1));
                let many = self.aggregate_of(ValueType::Integer, scope);
                Expression::Compare(Comparison::Greater, Box::new(many), Box::new(bound))
            }
            ValueType::Decimal if top && self.percent(20) => {
                Expression::Aggregate(Aggregate::Average, vec![self.value(of, &local, 0)])
            }
            ValueType::Text if top && self.percent(40) => {
                let mut arguments = vec![self.value(of, &local, 0)];
                arguments.extend(local.identity);
                Expression::Aggregate(Aggregate::Joined, arguments)
            }
            _ => self.aggregate_of(of, scope),
        }
    }

    /// An aggregate of the rows of a query.
    pub(super) fn aggregate_of(&mut self, of: ValueType, scope: &Scope) -> Expression {
        let local = scope.local();
        let extreme = [Aggregate::Min, Aggregate::Max][self.below(2)];
        if of == ValueType::Integer {
            match self.below(5) {
                0 => return Expression::Aggregate(Aggregate::CountRows, Vec::new()),
                1 | 2 => {
                    let counted = self.one(&local.columns).map(|visible| visible.column.clone());
                    let function = [Aggregate::Count, Aggregate::CountDistinct][self.below(2)];
                    return match counted {
                        Some(column) => Expression::Aggregate(function, vec![column]),
                        None => Expression::Aggregate(Aggregate::CountRows, Vec::new()),
                    };
                }
                _ => {}
            }
        }
        let sums = matches!(of, ValueType::Integer | ValueType::Decimal);
        let function = if sums && self.random.coin() { Aggregate::Sum(of) } else { extreme };
        Expression::Aggregate(function, vec![self.value(of, &local, 1)])
    }

    fn having(&mut self, scope: &Scope) -> Expression {
        let aggregate = self.aggregate_of(ValueType::Integer, scope);
        let how =
            [Comparison::Greater, Comparison::LessOrEqual, Comparison::Unequal][self.below(3)];
        let bound = i64::try_from(self.random.below(4)).unwrap_or(0);
        let bound = Expression::Literal(Literal::Integer(bound));
        Expression::Compare(how, Box::new(aggregate), Box::new(bound))
    }

    /// A value that depends on the rows around.
    fn window(&mut self, of: ValueType, scope: &Scope) -> Expression {
        let local = scope.local();
        let partition: Vec<Expression> = match self.percent(50) {
            true => self.one(&local.columns).map(|v| v.column.clone()).into_iter().collect(),
            false => Vec::new(),
        };
        let mut order = Vec::new();
        if self.percent(40) {
            order.extend(self.one(&local.columns).map(|visible| visible.column.clone()));
        }
        order.extend(
            local.identity.iter().filter(|key| !order.contains(key)).cloned().collect::<Vec<_>>(),
        );
        if of == ValueType::Integer && self.percent(35) {
            let function = [Ranking::RowNumber, Ranking::Rank, Ranking::DenseRank][self.below(3)];
            // What ties is in the same place, whatever order they are in.
            order.truncate(if function == Ranking::RowNumber { order.len() } else { 1 });
            return Expression::Rank { function, argument: None, partition, order };
        }
        if of == ValueType::Boolean || self.percent(50) {
            let functions = [Ranking::Lag, Ranking::Lead, Ranking::FirstValue, Ranking::LastValue];
            let argument = match self.value(of, &local, 1) {
                // PostgreSQL does not know the type of a text that stands alone.
                text @ Expression::Literal(Literal::Text(_)) => {
                    Expression::Call(Function::Coalesce, vec![text.clone(), text])
                }
                other => other,
            };
            let argument = Some(Box::new(argument));
            let function = functions[self.below(4)];
            return Expression::Rank { function, argument, partition, order };
        }
        let (aggregate, arguments) = match self.aggregate_of(of, scope) {
            // Windows count all rows.
            Expression::Aggregate(Aggregate::CountDistinct, of) => (Aggregate::Count, of),
            Expression::Aggregate(aggregate, of) => (aggregate, of),
            other => (Aggregate::Max, vec![other]),
        };
        let frame = match self.below(3) {
            0 => None,
            1 => Some((order, Frame::UpToHere)),
            _ => Some((
                order,
                Frame::Preceding(1 + u32::try_from(self.random.below(2)).unwrap_or(0)),
            )),
        };
        Expression::Over { aggregate, arguments, partition, frame }
    }
}
