//! A verdict for machines: whatever the text says, and all witnesses.

use isolde_history::{History, OpId, TxnId};
use isolde_spec::{Answer, Counted, Procedure, Step, Witness};
use serde_json::{Map, Value, json};

use crate::decided::Decided;
use crate::forced;
use crate::names;
use crate::stuck;
use crate::witness::sentence;

/// The verdict as JSON.
pub fn to_json(history: &History, decided: &Decided) -> Value {
    let verdict = &decided.verdict;
    let (answer, reason) = match &verdict.answer {
        Answer::Holds => ("holds", None),
        Answer::Unknown(reason) => ("unknown", Some(reason)),
        Answer::Violated(_) => ("violated", None),
    };
    let count = |c: &Counted| json!({"anomaly": c.anomaly.name(), "count": c.count, "at_least": c.at_least});
    json!({
        "level": verdict.promise.level.name(),
        "session_order": verdict.promise.session_order,
        "answer": answer,
        "reason": reason,
        "holds_without_session_order": decided.holds_without_session_order,
        "counts": verdict.counts.iter().map(count).collect::<Vec<_>>(),
        "witnesses": verdict.witnesses().iter().map(|w| witness(history, w)).collect::<Vec<_>>(),
        "notes": verdict.notes,
        "procedure": procedure(&verdict.procedure),
        "seconds": decided.seconds,
    })
}

fn procedure(procedure: &Procedure) -> Value {
    let figures =
        procedure.figures.iter().map(|(name, n)| (name.replace([' ', '-'], "_"), json!(n)));
    json!({
        "name": procedure.name,
        "evidence": procedure.evidence,
        "why": procedure.why,
        "figures": figures.collect::<Map<_, _>>(),
    })
}

fn witness(history: &History, w: &Witness) -> Value {
    let entry = w.anomaly.entry();
    let txn = |id: &TxnId| txn(history, *id);
    let op = |op: &OpId| {
        let txn = names::txn(history, history.txn_of(*op));
        json!({"transaction": txn, "operation": names::op(history, *op)})
    };
    json!({
        "anomaly": entry.name,
        "adya": entry.adya,
        "meaning": entry.meaning,
        "forbidden_from": w.forbidden_from().name(),
        "variant": w.variant(),
        "needs": w.needs.each().map(|(_, name)| name).collect::<Vec<_>>(),
        "position": w.position(),
        "excerpt": isolde_spec::excerpt(history, w),
        "transactions": w.txns.iter().map(txn).collect::<Vec<_>>(),
        "support": w.support.iter().map(txn).collect::<Vec<_>>(),
        "operations": w.ops.iter().map(op).collect::<Vec<_>>(),
        "cycle": w.steps.iter().enumerate().map(|(at, s)| forced_step(history, w, at, s)).collect::<Vec<_>>(),
        "stuck": w.stuck.as_ref().map(|found| stuck::to_json(history, found)),
    })
}

fn txn(history: &History, id: TxnId) -> Value {
    json!({
        "name": names::txn(history, id),
        "number": id.0,
        "notation": names::full_line(history, id),
    })
}

/// A dependency of a cycle, with the reason why it must be if nobody saw it.
fn forced_step(history: &History, w: &Witness, at: usize, s: &Step) -> Value {
    let mut told = step(history, s);
    if let Some(reason) = forced::reason(w, at) {
        told["forced_by"] = forced::to_json(history, s, reason);
    }
    told
}

pub(crate) fn step(history: &History, step: &Step) -> Value {
    json!({
        "from": names::txn(history, step.from),
        "to": names::txn(history, step.to),
        "kind": step.kind.to_string(),
        "key": step.because.key.map(|k| names::key(history, k)),
        "from_operation": step.because.from_op.map(|op| names::op(history, op)),
        "to_operation": step.because.to_op.map(|op| names::op(history, op)),
        "inferred": step.because.inferred,
        "sentence": sentence(history, step),
    })
}
