//! The words of which statements are made.

use super::literal::ValueType;

/// What can be done with two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    /// Of whole numbers, towards 0.
    Divide,
    Modulo,
}

/// How two values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Equal, or both NULL.
    Same,
}

/// How many of the values have to fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Quantifier {
    Any,
    All,
}

/// A function of the values of one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum Function {
    Coalesce,
    NullIf,
    Abs,
    Length,
    /// Characters from a place on, so many.
    Substr,
    Replace,
    Greatest,
    Least,
}

/// A function of the values of many rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum Aggregate {
    /// Rows.
    CountRows,
    Count,
    /// Different values.
    CountDistinct,
    Sum(ValueType),
    Min,
    Max,
    /// Never inside of another expression: what it is rounded to is the server's business.
    Average,
    /// The texts in the order of the other arguments, with commas. Never inside of another expression.
    Joined,
}

/// Functions of a row's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum Ranking {
    RowNumber,
    Rank,
    DenseRank,
    Lag,
    Lead,
    FirstValue,
    LastValue,
}

/// Which rows count, of those in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// From the first to this one.
    UpToHere,
    /// This one and so many before.
    Preceding(u32),
}

/// How the rows of two queries are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum SetOperator {
    Union,
    UnionAll,
    Intersect,
    Except,
}

/// How rows are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum Join {
    Inner,
    Left,
    Cross,
}

/// Which lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "SQL's own names")]
pub enum Lock {
    Share,
    Update,
}

/// What happens to rows that others have locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// They are waited for.
    Wait,
    /// They are left out.
    Skip,
    /// The statement fails.
    Fail,
}
