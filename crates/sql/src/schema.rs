//! The tables of a case: columns with types, what their values have to keep to, indexes, and the rows that are there at first.

use crate::tree::{Expression, Literal, ValueType};

/// The name of the primary key of every table, its first column.
pub const KEY: &str = "pkey";
/// The name of the version key of every table, its second column.
pub const VERSION: &str = "vkey";

/// The tables of a case. Tables refer to tables before them only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schema {
    /// The tables, `t0` first.
    pub tables: Vec<TableDef>,
}

/// A table. It has a primary key and a version key, which are not in the list of its columns.
#[derive(Clone, PartialEq, Debug)]
pub struct TableDef {
    /// Its name.
    pub name: String,
    /// Its free columns.
    pub columns: Vec<ColumnDef>,
    /// Its indexes, without that of the primary key.
    pub indexes: Vec<IndexDef>,
    /// The rows that are there before the first transaction, a literal for each column: primary key, version key, free
    /// columns.
    pub rows: Vec<Vec<Literal>>,
}

/// A free column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub holds: ValueType,
    /// Whether every row must have a value.
    pub not_null: bool,
    /// What each value has to be like.
    pub rule: Option<Rule>,
}

/// What the values of a column have to be like.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// No two rows have the same. Values come from a counter, so that no two rows ever had the same.
    Unique,
    /// The condition is not false.
    Check(Expression),
    /// They are primary keys of that table.
    References(usize),
}

/// An index.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexDef {
    /// Its name.
    pub name: String,
    /// Whether no two rows may have the same.
    pub unique: bool,
    /// What is sorted: columns, or one expression.
    pub on: Vec<Expression>,
    /// Which rows are in it, if not all.
    pub condition: Option<Expression>,
}

impl TableDef {
    /// The names of all columns, in their order.
    pub fn column_names(&self) -> Vec<String> {
        let free = self.columns.iter().map(|column| column.name.clone());
        [KEY.to_owned(), VERSION.to_owned()].into_iter().chain(free).collect()
    }

    /// All columns, with the types of their values.
    pub fn typed_columns(&self) -> impl Iterator<Item = (&str, ValueType)> {
        let free = self.columns.iter().map(|column| (&*column.name, column.holds));
        [(KEY, ValueType::Integer), (VERSION, ValueType::Integer)].into_iter().chain(free)
    }

    /// The tables that it refers to, each once.
    pub fn parents(&self) -> Vec<usize> {
        let rules = self.columns.iter().filter_map(|column| column.rule.as_ref());
        let mut parents: Vec<usize> = rules
            .filter_map(|rule| match rule {
                Rule::References(table) => Some(*table),
                Rule::Unique | Rule::Check(_) => None,
            })
            .collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }
}

impl Schema {
    /// The tables that refer to a table.
    pub fn children(&self, table: usize) -> Vec<usize> {
        let refers = |at: &usize| self.tables[*at].parents().contains(&table);
        (0..self.tables.len()).filter(refers).collect()
    }
}
