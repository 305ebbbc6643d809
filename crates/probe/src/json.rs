//! The outcomes for machines: all that the text says, and every event.

use serde_json::{Value, json};

use crate::matrix::{Cell, Matrix};
use crate::recorded::{done_on, note};

/// Everything about a matrix.
pub fn to_json(matrix: &Matrix) -> Value {
    let (name, version) = &matrix.database;
    let levels: Vec<Value> = matrix
        .offers
        .iter()
        .enumerate()
        .map(|(at, offer)| {
            let amount = matrix.amount(at);
            let holds: Vec<&str> = amount.holds.iter().map(|l| l.name()).collect();
            let against: Vec<Value> = amount
                .contradicted
                .iter()
                .map(|(level, cases)| json!({"level": level.name(), "by": cases}))
                .collect();
            let promises = offer.promises.name();
            let (kept, told) = (matrix.keeps_promise(at), matrix.amount_told(at));
            let cases = matrix.evidence(at);
            let holds = if cases == 0 { Vec::new() } else { holds };
            json!({"name": offer.name, "promises": promises, "cases": cases, "not_contradicted": holds,
                   "contradicted": against, "kept": kept, "told": told})
        })
        .collect();
    let done = done_on(name);
    let cases: Vec<Value> = matrix
        .cases
        .iter()
        .zip(&matrix.cells)
        .map(|(case, row)| {
            let cells: Vec<Value> = matrix
                .offers
                .iter()
                .zip(row)
                .map(|(offer, cell)| cell_to_json(offer.name, cell, done))
                .collect();
            let anomaly = case.anomaly.map(isolde_spec::Anomaly::name);
            let from = case.forbidden_from.or(case.anomaly.map(|a| a.entry().forbidden_from));
            json!({"name": case.name, "meaning": case.meaning, "group": case.group,
                   "anomaly": anomaly, "forbidden_from": from.map(isolde_spec::Level::name),
                   "levels": cells})
        })
        .collect();
    json!({
        "database": name, "version": version, "levels": levels, "cases": cases,
        "findings": matrix.has_findings(), "unknown": matrix.has_unknown(),
    })
}

fn cell_to_json(level: &str, cell: &Cell, done: i64) -> Value {
    let steps: Vec<Value> =
        cell.schedule.steps.iter().map(|step| json!([step.session, step.statement])).collect();
    let events: Vec<Value> = cell
        .played
        .events
        .iter()
        .map(|event| {
            let noted = note(event, done);
            let session = &cell.schedule.steps[noted.step].session;
            json!({"step": noted.step, "session": session, "event": noted.event,
                   "result": noted.result})
        })
        .collect();
    json!({
        "level": level, "outcome": cell.outcome.name(), "detail": cell.outcome.detail(),
        "finding": cell.finding, "setup": cell.schedule.setup, "steps": steps, "events": events,
    })
}
