//! Values of each type.

use super::maker::Maker;
use super::scope::Scope;
use super::weights::ValueKind;
use crate::tree::{Arithmetic, Expression, Function, Literal, ValueType};

fn integer(number: i64) -> Box<Expression> {
    Box::new(Expression::Literal(Literal::Integer(number)))
}

impl Maker<'_> {
    /// A value of a type.
    pub(super) fn value(&mut self, of: ValueType, scope: &Scope, depth: u32) -> Expression {
        if depth == 0 {
            return self.leaf(of, scope);
        }
        let kind = self.weighted(&self.weights.values).unwrap_or(ValueKind::Column);
        let less = depth - 1;
        match kind {
            ValueKind::Literal => self.value_literal(of),
            ValueKind::Operator => self.operator(of, scope, less),
            ValueKind::Case => {
                let condition = self.condition(scope, less);
                let value = self.value(of, scope, less);
                let otherwise = self.percent(80).then(|| Box::new(self.value(of, scope, less)));
                Expression::Case(vec![(condition, value)], otherwise)
            }
            ValueKind::Coalesce => {
                let first = self.value(of, scope, less);
                let second = self.leaf(of, scope);
                Expression::Call(Function::Coalesce, vec![first, second])
            }
            ValueKind::NullIf => {
                let first = self.leaf(of, scope);
                let second = Expression::Literal(self.literal(of));
                Expression::Call(Function::NullIf, vec![first, second])
            }
            ValueKind::Extreme if of != ValueType::Boolean => {
                let function =
                    if self.random.coin() { Function::Greatest } else { Function::Least };
                let both = vec![self.leaf(of, scope), self.value(of, scope, less)];
                Expression::Call(function, both)
            }
            ValueKind::Scalar if scope.subqueries > 0 => match self.scalar_query(of, scope) {
                Some(query) => Expression::Scalar(Box::new(query)),
                None => self.leaf(of, scope),
            },
            ValueKind::Column | ValueKind::Extreme | ValueKind::Scalar => self.leaf(of, scope),
        }
    }

    /// A column if there is one of that type, or a value.
    pub(super) fn leaf(&mut self, of: ValueType, scope: &Scope) -> Expression {
        let columns = scope.of_type(of);
        match self.one(&columns) {
            Some(visible) if !self.percent(10) => visible.column.clone(),
            _ => self.value_literal(of),
        }
    }

    fn operator(&mut self, of: ValueType, scope: &Scope, depth: u32) -> Expression {
        match of {
            ValueType::Integer => self.integer_operator(scope, depth),
            ValueType::Decimal => {
                let first = Box::new(self.value(of, scope, depth));
                match self.below(4) {
                    0 => Expression::Call(Function::Abs, vec![*first]),
                    // By a whole number: quarters stay quarters.
                    1 => Expression::Arithmetic(Arithmetic::Multiply, first, integer(2)),
                    how => {
                        let second = Box::new(self.leaf(of, scope));
                        let how = [Arithmetic::Add, Arithmetic::Subtract][how % 2];
                        Expression::Arithmetic(how, first, second)
                    }
                }
            }
            ValueType::Text => self.text_operator(scope, depth),
            ValueType::Date => self.leaf(of, scope),
            ValueType::Boolean => self.condition(scope, depth),
        }
    }

    fn integer_operator(&mut self, scope: &Scope, depth: u32) -> Expression {
        let of = ValueType::Integer;
        if self.percent(12) {
            let text = self.leaf(ValueType::Text, scope);
            return Expression::Call(Function::Length, vec![text]);
        }
        let first = Box::new(self.value(of, scope, depth));
        match self.below(8) {
            0 => Expression::Call(Function::Abs, vec![*first]),
            1 => Expression::Arithmetic(Arithmetic::Multiply, first, integer(2)),
            2 => Expression::Arithmetic(Arithmetic::Multiply, first, integer(-1)),
            3 => Expression::Arithmetic(Arithmetic::Modulo, first, integer(3)),
            4 => {
                // Not by 0: some servers fail.
                let by = vec![self.leaf(of, scope), *integer(0)];
                let by = Box::new(Expression::Call(Function::NullIf, by));
                let how = [Arithmetic::Divide, Arithmetic::Modulo][self.below(2)];
                Expression::Arithmetic(how, first, by)
            }
            how => {
                let second = Box::new(self.leaf(of, scope));
                let how = [Arithmetic::Add, Arithmetic::Subtract][how % 2];
                Expression::Arithmetic(how, first, second)
            }
        }
    }

    fn text_operator(&mut self, scope: &Scope, depth: u32) -> Expression {
        let first = self.value(ValueType::Text, scope, depth);
        let letter = |letter: &str| Expression::Literal(Literal::Text(letter.into()));
        match self.below(3) {
            0 => {
                // With one word only: what is stored again and again does not get too long.
                let word = Expression::Literal(self.literal(ValueType::Text));
                Expression::Concat(Box::new(first), Box::new(word))
            }
            1 => {
                let (from, length) = (1 + self.random.below(2), 1 + self.random.below(3));
                let place = |n: u64| *integer(i64::try_from(n).unwrap_or(1));
                Expression::Call(Function::Substr, vec![first, place(from), place(length)])
            }
            _ => Expression::Call(Function::Replace, vec![first, letter("a"), letter("b")]),
        }
    }
}
