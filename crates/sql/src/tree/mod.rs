//! Statements as trees with types. A tree says nothing of how a server wants it written: a dialect prints it.

mod literal;
mod nodes;
mod statement;
mod walk;
mod words;

pub use literal::{Literal, ValueType};
pub use nodes::{CommonTable, Expression, Item, Query, Relation, Select, Source};
pub use statement::Statement;
pub use words::{
    Aggregate, Arithmetic, Comparison, Frame, Function, Join, Lock, Patience, Quantifier, Ranking,
    SetOperator,
};
