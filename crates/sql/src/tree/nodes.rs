//! Expressions and queries, each of which can hold the other.

use super::literal::{Literal, ValueType};
use super::words::{
    Aggregate, Arithmetic, Comparison, Frame, Function, Join, Lock, Patience, Quantifier, Ranking,
    SetOperator,
};

/// An expression. Conditions are expressions of type Boolean.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A column of something in FROM.
    Column {
        /// The name of what it is a column of; without, the column stands in the definition of a table.
        of: Option<String>,
        /// The column's name.
        name: String,
        /// The type of its values.
        holds: ValueType,
    },
    /// A value.
    Literal(Literal),
    /// Two numbers. What divides is never 0.
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// A text with more behind it.
    Concat(Box<Expression>, Box<Expression>),
    /// Two values of one type, compared.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// A value, compared with all that a query of one column returns.
    Quantified(Comparison, Quantifier, Box<Expression>, Box<Query>),
    /// Both, or one of the two.
    And(Vec<Expression>),
    /// At least one.
    Or(Vec<Expression>),
    /// The contrary.
    Not(Box<Expression>),
    /// Whether it is NULL, or is not.
    IsNull(Box<Expression>, bool),
    /// Whether it is true, or is not.
    IsTrue(Box<Expression>, bool),
    /// Whether it lies between two others, or does not.
    Between(Box<Expression>, Box<[Expression; 2]>, bool),
    /// Whether it is in a list, or is not.
    InList(Box<Expression>, Vec<Expression>, bool),
    /// Whether it is what a query of one column returns, or is not.
    InQuery(Box<Expression>, Box<Query>, bool),
    /// Whether a query returns a row, or does not.
    Exists(Box<Query>, bool),
    /// The value of a query of one column and at most one row.
    Scalar(Box<Query>),
    /// Whether a text looks like a pattern, or does not.
    Like(Box<Expression>, String, bool),
    /// The value behind the first condition that is true.
    Case(Vec<(Expression, Expression)>, Option<Box<Expression>>),
    /// A function of the values of one row.
    Call(Function, Vec<Expression>),
    /// A function of the values of many rows.
    Aggregate(Aggregate, Vec<Expression>),
    /// An aggregate over the rows around, row by row.
    Over {
        /// The aggregate.
        aggregate: Aggregate,
        /// What it is an aggregate of.
        arguments: Vec<Expression>,
        /// Rows with the same values belong together.
        partition: Vec<Expression>,
        /// The order of the rows, which is total, with the rows that count; without, all of them.
        frame: Option<(Vec<Expression>, Frame)>,
    },
    /// What a row's place among the rows around is, or a value of a neighbour.
    Rank {
        /// Which function.
        function: Ranking,
        /// The value of the neighbour.
        argument: Option<Box<Expression>>,
        /// Rows with the same values belong together.
        partition: Vec<Expression>,
        /// The order of the rows, which is total unless ties have the same place.
        order: Vec<Expression>,
    },
}

impl Expression {
    /// The type of its value.
    pub fn value_type(&self) -> ValueType {
        let mut at = self;
        loop {
            at = match at {
                Expression::Column { holds, .. } => return *holds,
                Expression::Literal(literal) => return literal.value_type(),
                Expression::Concat(..) => return ValueType::Text,
                Expression::Arithmetic(_, left, _) => left,
                Expression::Case(branches, _) => match branches.first() {
                    Some((_, value)) => value,
                    None => return ValueType::Boolean,
                },
                Expression::Call(Function::Length, _) | Expression::Rank { argument: None, .. } => {
                    return ValueType::Integer;
                }
                Expression::Rank { argument: Some(argument), .. } => argument,
                Expression::Aggregate(aggregate, of)
                | Expression::Over { aggregate, arguments: of, .. } => match (aggregate, &of[..]) {
                    (Aggregate::Sum(of), _) => return *of,
                    (Aggregate::Average, _) => return ValueType::Decimal,
                    (Aggregate::Joined, _) => return ValueType::Text,
                    (Aggregate::Min | Aggregate::Max, [value, ..]) => value,
                    _ => return ValueType::Integer,
                },
                Expression::Call(_, arguments) => match arguments.first() {
                    Some(first) => first,
                    None => return ValueType::Boolean,
                },
                Expression::Scalar(query) => match query.first.items.first() {
                    Some(item) => &item.expression,
                    None => return ValueType::Boolean,
                },
                _ => return ValueType::Boolean,
            }
        }
    }
}

/// A query.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    /// Queries with names.
    pub with: Vec<CommonTable>,
    /// The query, or its first part.
    pub first: Select,
    /// The other parts.
    pub more: Vec<(SetOperator, Select)>,
    /// Whether the rows are in the order of all their columns, from left to right.
    pub ordered: bool,
    /// How many rows are returned at most, and how many are left out before. Only if they are in order.
    pub limit: Option<(u32, u32)>,
    /// Whether the rows are locked.
    pub lock: Option<(Lock, Patience)>,
}

/// A query with a name.
#[derive(Clone, PartialEq, Debug)]
pub struct CommonTable {
    /// Its name.
    pub name: String,
    /// What it returns.
    pub query: Query,
}

/// A query without parts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Select {
    /// Whether each row is returned once.
    pub distinct: bool,
    /// What is returned of each row; if there is nothing, all columns are.
    pub items: Vec<Item>,
    /// Where the rows come from.
    pub from: Vec<Source>,
    /// Which of them.
    pub condition: Option<Expression>,
    /// Rows with the same values become one.
    pub group: Vec<Expression>,
    /// Which of those.
    pub having: Option<Expression>,
}

/// What is returned of a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// The value.
    pub expression: Expression,
    /// The name of the column.
    pub name: String,
}

/// Where rows come from.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// How they are put together with those of what stands before; nothing matters of the first.
    pub join: Join,
    /// The rows.
    pub relation: Relation,
    /// The name by which its columns are called; without, that of the table.
    pub alias: Option<String>,
    /// Which pairs of rows belong together.
    pub on: Option<Expression>,
}

/// Rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Relation {
    /// Those of a table, by its index.
    Table(usize),
    /// Those of a query with a name.
    Common(String),
    /// Those of a query.
    Derived(Box<Query>),
}

impl Query {
    /// If it returns all columns of the rows of one table that a condition is true of: the table and the condition.
    pub fn plain(&self) -> Option<(usize, Option<&Expression>)> {
        let Select { distinct, items, from, condition, group, having } = &self.first;
        let [Source { relation: Relation::Table(table), alias: None, .. }] = &from[..] else {
            return None;
        };
        let whole = self.more.is_empty() && self.limit.is_none() && self.with.is_empty();
        let all = items.is_empty() && group.is_empty() && having.is_none() && !distinct;
        (whole && all && !self.ordered).then_some((*table, condition.as_ref()))
    }
}
