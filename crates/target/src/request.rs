//! One access, and what came back.

use isolde_history::OpKind;

use crate::path::Path;

/// One access to one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The number of the table.
    pub table: u32,
    /// The row, from 0.
    pub row: u32,
    /// What to do: `Read`, `Write`, `Append`, `ListRead`, `Cas` or `InsertIfAbsent`.
    pub kind: OpKind,
    /// How.
    pub path: Path,
    /// What to write, append, set or insert; greater than 0. Of no meaning for reads.
    pub value: i64,
    /// What a compare-and-set expects. Of no meaning for others.
    pub expected: i64,
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Of a read: the value, or nothing if there is no such row.
    Value(Option<i64>),
    /// Of a list read: the elements, or nothing if there is no such row.
    List(Option<Vec<i64>>),
    /// Of everything that writes: whether it was done. A write that found no row to update, a
    /// compare-and-set that found another value and an insert that found the row are not.
    Done(bool),
}
