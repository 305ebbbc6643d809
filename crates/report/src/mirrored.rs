//! What client intervals show of a witness, for machines.

use isolde_history::{History, TxnId};
use isolde_spec::{Mirrored, Stretch};
use serde_json::{Value, json};

use crate::names;
use crate::timed::seen;

/// All that is known.
pub(crate) fn to_json(history: &History, mirrored: &Mirrored) -> Value {
    let name = |txn: TxnId| names::txn(history, txn);
    let stretch = |stretch: &Stretch| {
        json!({
            "transaction": name(stretch.txn),
            "operation": stretch.op.map(|op| names::op(history, op)),
            "what": stretch.what.name(),
            "from": stretch.from,
            "until": stretch.until,
        })
    };
    json!({
        "mechanism": mirrored.mechanism.name(),
        "transaction": name(mirrored.txn),
        "opponent": mirrored.opponent.map(name),
        "possible": mirrored.possible.iter().map(|it| seen(history, it)).collect::<Vec<_>>(),
        "read": mirrored.read.as_ref().map(|it| seen(history, it)),
        "stretches": mirrored.stretches.iter().map(stretch).collect::<Vec<_>>(),
        "semantic": mirrored.semantic,
    })
}
