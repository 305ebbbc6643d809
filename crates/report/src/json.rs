//! A verdict for machines: whatever the text says, and all witnesses.

use isolde_history::History;
use isolde_spec::{Answer, Step, Verdict, Witness};
use serde_json::{Value, json};

use crate::names;

/// The verdict as JSON.
pub fn to_json(history: &History, verdict: &Verdict) -> Value {
    let (answer, reason, witnesses) = match &verdict.answer {
        Answer::Holds => ("holds", None, &[][..]),
        Answer::Unknown(reason) => ("unknown", Some(reason), &[][..]),
        Answer::Violated(witnesses) => ("violated", None, &witnesses[..]),
    };
    let count = |c: &isolde_spec::Counted| json!({"anomaly": c.anomaly.name(), "count": c.count});
    json!({
        "level": verdict.promise.level.name(),
        "session_order": verdict.promise.session_order,
        "answer": answer,
        "reason": reason,
        "counts": verdict.counts.iter().map(count).collect::<Vec<_>>(),
        "witnesses": witnesses.iter().map(|w| witness(history, w)).collect::<Vec<_>>(),
    })
}

fn witness(history: &History, w: &Witness) -> Value {
    let entry = w.anomaly.entry();
    let txn = |id: &isolde_history::TxnId| {
        json!({
            "name": names::txn(history, *id),
            "number": id.0,
            "notation": names::line(history, *id),
        })
    };
    json!({
        "anomaly": entry.name,
        "adya": entry.adya,
        "meaning": entry.meaning,
        "forbidden_from": entry.forbidden_from.name(),
        "needs": w.needs.each().map(|(_, name)| name).collect::<Vec<_>>(),
        "transactions": w.txns.iter().map(txn).collect::<Vec<_>>(),
        "operations": w.ops.iter().map(|op| names::op(history, *op)).collect::<Vec<_>>(),
        "cycle": w.steps.iter().map(|s| step(history, s)).collect::<Vec<_>>(),
    })
}

fn step(history: &History, step: &Step) -> Value {
    json!({
        "from": names::txn(history, step.from),
        "to": names::txn(history, step.to),
        "kind": step.kind.to_string(),
        "key": step.because.key.map(|k| names::key(history, k)),
        "from_operation": step.because.from_op.map(|op| names::op(history, op)),
        "to_operation": step.because.to_op.map(|op| names::op(history, op)),
    })
}
