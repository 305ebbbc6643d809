//! Operations that cannot be put in order, for machines: how far an order gets, and why no further.

use isolde_history::{History, OpId};
use isolde_spec::Stuck;
use serde_json::{Value, json};

use crate::names;

/// The longest order, the operation that cannot come next, and why.
pub(crate) fn to_json(history: &History, stuck: &Stuck) -> Value {
    let op = |op: OpId| {
        let txn = history.txn_of(op);
        let interval = history.txn(txn).interval();
        json!({
            "transaction": names::txn(history, txn),
            "operation": names::op(history, op),
            "begin": interval.begin,
            "end": interval.end,
        })
    };
    json!({
        "longest_order": stuck.prefix.iter().map(|o| op(*o)).collect::<Vec<_>>(),
        "operation": op(stuck.op),
        "why": stuck.why,
    })
}
