//! What holds by the server's timestamps or snapshots and what does not, and how that fits what holds by values.

use isolde_spec::{Answer, By, Level, Summary};
use serde_json::{Value, json};

use super::verdict;
use crate::answers;
use crate::decided::{Decided, by_the_server};
use crate::wrap::{all_of, paragraph};

/// What a promise may be judged by beside values.
const BY: [By; 3] = [By::Timestamps, By::Snapshots, By::Intervals];

/// The verdicts by one of the things that the server says.
fn judged_by(by: By, decided: &[Decided]) -> impl Iterator<Item = &Decided> {
    by_the_server(decided).filter(move |d| d.verdict.promise.by == by)
}

/// A row for each verdict by timestamps or snapshots, and what is worth knowing; nothing if there is none.
pub(super) fn to_text(decided: &[Decided]) -> String {
    let mut out: String = BY.into_iter().map(|by| rows(by, decided)).collect();
    if let Some(compared) = compared(decided) {
        paragraph(&mut out, "  ", 2, usize::MAX, &compared);
    }
    // What ran is said once: here, or beside the violation.
    let violated = by_the_server(decided).any(|d| d.verdict.holds() == Some(false));
    if let Some(first) = by_the_server(decided).next().filter(|_| !violated) {
        verdict::about(&first.verdict, false, &mut out);
    }
    out
}

fn rows(by: By, decided: &[Decided]) -> String {
    let mut out = String::new();
    let name = |d: &Decided| {
        let promise = answers::promised(d.verdict.promise);
        let without = if promise.session_order { "" } else { " without session order" };
        format!("{}{without}", promise.level)
    };
    let width = judged_by(by, decided).map(|d| name(d).len()).max();
    let Some(width) = width else { return out };
    out.push_str(&format!("by {} {}:\n", whose(by), by.name()));
    for d in judged_by(by, decided) {
        let prefix = format!("  {:<width$}  ", name(d));
        paragraph(&mut out, &prefix, width + 4, usize::MAX, &standing(d));
    }
    out
}

/// Who knows what a promise is judged by.
fn whose(by: By) -> &'static str {
    if by == By::Intervals { "the clients'" } else { "the server's" }
}

/// "holds", "violated: 3 StaleRead", "unknown: no transaction of the history has timestamps".
fn standing(d: &Decided) -> String {
    let without =
        if d.holds_without_session_order { "; it holds without session order" } else { "" };
    match &d.verdict.answer {
        Answer::Holds => "holds".to_owned(),
        Answer::NoViolation { .. } => {
            format!("no violation {}", answers::among(&d.verdict.answer).unwrap_or_default())
        }
        Answer::Unknown(reason) => format!("unknown: {reason}"),
        Answer::Violated(_) => {
            let counts: Vec<String> = d.verdict.counts.iter().map(verdict::counted).collect();
            format!("violated: {}{without}", counts.join(", "))
        }
    }
}

/// The same for machines; witnesses and counts are in the verdicts.
pub(super) fn to_json(by: By, decided: &[Decided]) -> Vec<Value> {
    let one = |d: &Decided| {
        let by: Vec<&str> = d.verdict.counts.iter().map(|c| c.anomaly.name()).collect();
        let answer = &d.verdict.answer;
        let mut told = json!({
            "level": d.verdict.promise.level.name(),
            "session_order": d.verdict.promise.session_order,
            "answer": answers::name(answer),
            "violated_by": by,
            "reason": answers::reason(answer),
            "holds_without_session_order": d.holds_without_session_order,
        });
        for (name, figure) in answers::figures(answer) {
            told[name] = figure;
        }
        told
    };
    judged_by(by, decided).map(one).collect()
}

/// The same in lines; nothing if no level differs.
pub fn compared_to_text(decided: &[Decided]) -> String {
    let mut out = String::new();
    if let Some(compared) = compared(decided) {
        paragraph(&mut out, "", 0, usize::MAX, &compared);
    }
    out
}

/// What it means that levels are violated by the server's own word and hold by values, if some are.
pub(crate) fn compared(decided: &[Decided]) -> Option<String> {
    let told = BY.into_iter().filter_map(|by| contrast(by, decided));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn contrast(by: By, decided: &[Decided]) -> Option<String> {
    let strongest = Summary::of(decided.iter().map(|d| &d.verdict)).strongest;
    let violated = judged_by(by, decided).filter(|d| d.verdict.holds() == Some(false));
    let levels = violated.map(|d| d.verdict.promise.level);
    let both = levels.filter(|level| strongest.iter().any(|strong| strong.implies(*level)));
    let names: Vec<&str> = both.map(Level::name).collect();
    let (hold, are) = match names.len() {
        0 => return None,
        1 => ("holds", "it is"),
        _ => ("hold", "they are"),
    };
    let why = match by {
        By::Intervals => "a mechanism of the server did not do what it promises".to_owned(),
        _ => format!("the server did not do what its own {} say that it did", by.name()),
    };
    Some(format!(
        "By values, {} {hold}: some order of the transactions explains what was read. By {} {are} \
         violated: {why}.",
        all_of(&names),
        by.name(),
    ))
}
