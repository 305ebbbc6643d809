//! Two runs of the same schedule, event by event.

use serde_json::Value;

use crate::recorded::{Noted, class};
use crate::schedule::Schedule;

/// Where two runs part.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The number of the event, counted from 0.
    pub event: usize,
    /// What was recorded; nothing if there was no more.
    pub recorded: Option<Noted>,
    /// What happened now.
    pub now: Option<Noted>,
}

/// Every difference; after one in the order of events, what follows cannot be compared.
pub fn differences(schedule: &Schedule, recorded: &[Noted], now: &[Noted]) -> Vec<Difference> {
    let mut found = Vec::new();
    for event in 0..recorded.len().max(now.len()) {
        let (one, other) = (recorded.get(event), now.get(event));
        let place = |noted: Option<&Noted>| noted.map(|n| (n.step, n.event.clone()));
        let in_place = place(one) == place(other);
        if let (Some(one), Some(other), true) = (one, other, in_place)
            && same_result(schedule, one, other)
        {
            continue;
        }
        found.push(Difference { event, recorded: one.cloned(), now: other.cloned() });
        if !in_place {
            break;
        }
    }
    found
}

fn same_result(schedule: &Schedule, one: &Noted, other: &Noted) -> bool {
    match (&one.result, &other.result) {
        (Value::String(a), Value::String(b)) if one.event == "err" => class(a) == class(b),
        (Value::Array(a), Value::Array(b)) => {
            let statement = schedule.steps.get(one.step).map(|s| s.statement.to_lowercase());
            let ordered = statement.is_some_and(|s| s.contains("order by"));
            let texts = |rows: &[Value]| {
                let mut rows: Vec<String> = rows.iter().map(row).collect();
                // Without an order any order is right.
                if !ordered {
                    rows.sort_unstable();
                }
                rows
            };
            texts(a) == texts(b)
        }
        // Clients say -1 or 0 of a statement that returns nothing.
        (Value::Number(a), Value::Number(b)) => {
            let count = |n: &serde_json::Number| n.as_i64().unwrap_or(0).max(0);
            count(a) == count(b)
        }
        (a, b) => a == b,
    }
}

fn row(row: &Value) -> String {
    let cells = row.as_array().map(Vec::as_slice).unwrap_or_default();
    let cells: Vec<String> = cells.iter().map(cell).collect();
    cells.join("\u{1f}")
}

/// A cell as a text that is the same for the same value, whether a client calls it a number or not.
fn cell(cell: &Value) -> String {
    let text = match cell {
        Value::Null => return "\0".to_owned(),
        Value::Bool(true) => "t".to_owned(),
        Value::Bool(false) => "f".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.parse::<f64>() {
        Ok(number) if text.contains('.') && number.is_finite() => number.to_string(),
        _ => text,
    }
}
