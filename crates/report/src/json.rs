//! A verdict for machines: whatever the text says, and all witnesses.

use isolde_history::{Event, History, OpId, TxnId};
use isolde_spec::{Counted, Forced, Procedure, Step, Verdict, Witness};
use serde_json::{Map, Value, json};

use crate::answers;
use crate::case::Case;
use crate::decided::Decided;
use crate::exhibit::{Basis, Exhibit, Row, What};
use crate::forced;
use crate::mirrored;
use crate::names;
use crate::sentence::sentence;
use crate::stamps;
use crate::stuck;
use crate::text::{event_times, summary_to_json};
use crate::timed;

/// The version of the JSON report, as docs/report.schema.json describes it. It grows when something is
/// taken away or changes its meaning; what is only added does not change it.
pub const REPORT_VERSION: u32 = 1;

/// A history with its verdicts as JSON.
pub fn case_to_json(case: &Case<'_>) -> Value {
    let about = case.about.iter().map(|(name, text)| (name.clone(), json!(text)));
    let again = |(what, command): &(String, String)| json!({"what": what, "command": command});
    let mut report = json!({
        "isolde_report": REPORT_VERSION,
        "history": case.name,
        "format": case.format,
        "transactions": case.history.txn_count(),
        "about": about.collect::<Map<_, _>>(),
        "options": case.options,
        "events": events(case.history),
        "verdicts": case.decided.iter().map(|d| to_json(case.history, d)).collect::<Vec<_>>(),
        "warnings": case.warnings,
        "warning_count": case.warning_count,
        "again": case.again.iter().map(again).collect::<Vec<_>>(),
        "seconds": case.seconds,
    });
    if case.every_level {
        report["summary"] = summary_to_json(case.decided);
    }
    report
}

/// What happened on the time line and was no client's doing: all of it.
fn events(history: &History) -> Vec<Value> {
    let text = |value: isolde_history::Value| match history.pool().as_text(value) {
        Some(text) => text.to_owned(),
        None => names::value(history, value),
    };
    let known = |value: isolde_history::Value| {
        (value != isolde_history::Value::ABSENT).then(|| text(value))
    };
    let told = event_times(history);
    let event = |e: &Event| {
        json!({
            "name": text(e.name), "detail": known(e.detail), "begin": e.begin, "end": e.end,
            "told": told(e),
        })
    };
    history.faults().map(event).collect()
}

/// A history that could not be checked, as JSON.
pub fn fault_to_json(name: &str, error: &str) -> Value {
    json!({"isolde_report": REPORT_VERSION, "history": name, "error": error})
}

/// The verdict as JSON.
pub fn to_json(history: &History, decided: &Decided) -> Value {
    let verdict = &decided.verdict;
    let txns = history.txn_count();
    let count = |c: &Counted| {
        json!({
            "anomaly": c.anomaly.name(),
            "count": c.count,
            "at_least": c.at_least,
            "over_the_run": over_the_run(&c.positions, txns),
        })
    };
    let mut told = json!({
        "level": verdict.promise.level.name(),
        "by": verdict.promise.by.name(),
        "session_order": verdict.promise.session_order,
        "answer": answers::name(&verdict.answer),
        "reason": answers::reason(&verdict.answer),
        "holds_without_session_order": decided.holds_without_session_order,
        "counts": verdict.counts.iter().map(count).collect::<Vec<_>>(),
        "witnesses": witnesses(history, verdict),
        "notes": verdict.notes,
        "procedure": procedure(&verdict.procedure, txns),
        "seconds": decided.seconds,
    });
    for (name, figure) in answers::figures(&verdict.answer) {
        told[name] = figure;
    }
    told
}

/// How many equal parts a run is divided into.
const PARTS: usize = 60;

/// How many of some things are visible first in each part of the run.
fn over_the_run(positions: &[u32], txns: usize) -> Vec<u64> {
    let mut parts = vec![0; PARTS.min(txns)];
    for &position in positions {
        // A position is from 1 to the number of transactions.
        let at = (position as usize).saturating_sub(1) * parts.len() / txns.max(1);
        if let Some(part) = parts.get_mut(at) {
            *part += 1;
        }
    }
    parts
}

fn procedure(procedure: &Procedure, txns: usize) -> Value {
    let named = |name: &str| name.replace([' ', '-'], "_");
    let figures = procedure.figures.iter().map(|(name, n)| (named(name), json!(n)));
    let places = procedure.places.iter();
    let places = places.map(|(name, at)| (named(name), json!(over_the_run(at, txns))));
    json!({
        "name": procedure.name,
        "evidence": procedure.evidence,
        "why": procedure.why,
        "figures": figures.collect::<Map<_, _>>(),
        "over_the_run": places.collect::<Map<_, _>>(),
    })
}

fn witnesses(history: &History, verdict: &Verdict) -> Vec<Value> {
    let promise = verdict.promise;
    let numbered = verdict.witnesses().iter().enumerate();
    let exhibit = |at: usize, w: &Witness| Exhibit::new(history, promise, at + 1, w);
    numbered.map(|(at, w)| witness_to_json(history, w, &exhibit(at, w))).collect()
}

/// A witness as JSON.
pub fn witness_to_json(history: &History, w: &Witness, exhibit: &Exhibit) -> Value {
    let entry = w.anomaly.entry();
    let txn = |id: &TxnId| txn(history, *id);
    let op = |op: &OpId| {
        let txn = names::txn(history, history.txn_of(*op));
        json!({"transaction": txn, "operation": names::op(history, *op)})
    };
    json!({
        "id": exhibit.id,
        "anomaly": entry.name,
        "adya": entry.adya,
        "meaning": exhibit.meaning,
        "story": exhibit.story,
        "promise": exhibit.promise,
        "broken_because": exhibit.breach,
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
        "timed": w.timed.as_ref().map(|found| timed::to_json(history, found, exhibit)),
        "mirrored": w.mirrored.as_ref().map(|found| mirrored::to_json(history, found)),
        "timeline": timeline(exhibit),
    })
}

/// What happened when; what shows nothing is folded.
fn timeline(exhibit: &Exhibit) -> Value {
    let line = &exhibit.timeline;
    let row = |row: &Row| {
        let part = row.part.map(|at| &exhibit.parts[at]);
        let op = |at: usize| part.and_then(|part| part.ops.get(at));
        let (what, detail) = match &row.what {
            What::Begin => ("begin", Value::Null),
            What::Op(at) => ("operation", json!(op(*at).map(|op| &op.text))),
            What::Folded(_, count) | What::LeftOut(count) => ("folded", json!(count)),
            What::End => ("end", json!(part.map(|part| part.outcome.name()))),
            What::Event(name) => ("event", json!(name)),
        };
        let cited = matches!(row.what, What::Op(at) if op(at).is_some_and(|op| op.cited));
        json!({
            "time": row.time.map(stamps::to_json),
            "session": row.column.map(|at| &line.columns[at]),
            "transaction": part.map(|part| &part.name),
            "what": what,
            "detail": detail,
            "shows_it": cited,
        })
    };
    json!({
        "times": match line.basis {
            Basis::Nanoseconds => "nanoseconds",
            Basis::Events => "events",
            Basis::Timestamps => "timestamps",
            Basis::Order => "none",
        },
        "left_out": exhibit.left_out,
        "sessions": line.columns,
        "nodes": line.nodes,
        "rows": line.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn txn(history: &History, id: TxnId) -> Value {
    json!({
        "name": names::txn(history, id),
        "number": id.0,
        "notation": names::full_line(history, id),
        "start_ts": history.txn(id).start_ts().map(stamps::to_json),
        "commit_ts": history.txn(id).commit_ts().map(stamps::to_json),
    })
}

/// A dependency of a cycle, with the reason why it must be if it was inferred.
fn forced_step(history: &History, w: &Witness, at: usize, s: &Step) -> Value {
    let mut told = step(history, s);
    if let Some(why) = forced::reason(w, at) {
        told["forced_by"] = reason(history, s, why);
    }
    told
}

fn step(history: &History, step: &Step) -> Value {
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

/// Why an inferred dependency must be.
fn reason(history: &History, of: &Step, why: &Forced) -> Value {
    json!({
        "read": names::op(history, why.read),
        "reader": names::txn(history, history.txn_of(why.read)),
        "sentence": forced::because(history, of, why),
        "path": why.path.iter().map(|s| step(history, s)).collect::<Vec<_>>(),
    })
}
