//! Memory that is used again for every line.

use crate::ids::Key;
use crate::jsonl::odd::OddNames;
use crate::value::Value;

/// Buffers that every line uses again.
#[derive(Default)]
pub(super) struct Scratch {
    /// The names of the transaction's attributes so far.
    pub(super) txn_names: Vec<Value>,
    /// The attributes of the statement that is being read.
    pub(super) stmt_attrs: Vec<(Value, Value)>,
    /// The names of the operation's attributes so far.
    pub(super) op_names: Vec<Value>,
    pub(super) elements: Vec<Value>,
    pub(super) rows: Vec<(Key, Value)>,
    pub(super) odd: OddNames,
}
