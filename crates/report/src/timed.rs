//! What the server's timestamps show of a witness, for machines.

use isolde_history::{History, OpId, TxnId};
use isolde_spec::{Assumed, Seen, Timed};
use serde_json::{Value, json};

use crate::exhibit::Exhibit;
use crate::{names, stamps};

/// All that is known.
pub(crate) fn to_json(history: &History, timed: &Timed, exhibit: &Exhibit) -> Value {
    let name = |txn: TxnId| names::txn(history, txn);
    let rule = exhibit.facts.iter().find(|fact| fact.name == "rule");
    let assumed = |assumed: &Assumed| {
        json!({
            "transaction": name(assumed.txn),
            "after": assumed.after.map(stamps::to_json),
            "until": assumed.until.map(stamps::to_json),
        })
    };
    json!({
        "axiom": timed.axiom.name(),
        "rule": rule.map(|rule| &rule.text),
        "transaction": name(timed.txn),
        "place": timed.place.map(stamps::to_json),
        "expected": timed.expected.iter().map(|it| seen(history, it)).collect::<Vec<_>>(),
        "read": timed.read.as_ref().map(|it| seen(history, it)),
        "opponent": timed.opponent.map(name),
        "assumed": timed.assumed.iter().map(assumed).collect::<Vec<_>>(),
    })
}

pub(crate) fn seen(history: &History, seen: &Seen) -> Value {
    let text = |value: &isolde_history::Value| names::value(history, *value);
    json!({
        "value": text(&seen.value),
        "list": seen.list.as_ref().map(|list| list.iter().map(text).collect::<Vec<_>>()),
        "initial": seen.initial,
        "write": seen.write.map(|op| write(history, op)),
    })
}

fn write(history: &History, op: OpId) -> Value {
    let writer = history.txn_of(op);
    let txn = history.txn(writer);
    json!({
        "transaction": names::txn(history, writer),
        "operation": names::op(history, op),
        "start_ts": txn.start_ts().map(stamps::to_json),
        "commit_ts": txn.commit_ts().map(stamps::to_json),
    })
}
