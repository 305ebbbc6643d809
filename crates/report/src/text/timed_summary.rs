//! What holds by the server's timestamps or snapshots and what does not, and how that fits what holds by values.

use isolde_spec::{Answer, By, Level, Summary};
use serde_json::{Value, json};

use super::verdict;
use crate::decided::{Decided, by_the_server};
use crate::wrap::{all_of, paragraph};

/// The verdicts by one of the things that the server says.
fn judged_by(by: By, decided: &[Decided]) -> impl Iterator<Item = &Decided> {
    by_the_server(decided).filter(move |d| d.verdict.promise.by == by)
}

/// A row for each verdict by timestamps or snapshots, and what is worth knowing; nothing if there is none.
pub(super) fn to_text(decided: &[Decided]) -> String {
    let mut out = rows(By::Timestamps, decided) + &rows(By::Snapshots, decided);
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
        let promise = d.verdict.promise;
        let without = if promise.session_order { "" } else { " without session order" };
        format!("{}{without}", promise.level)
    };
    let width = judged_by(by, decided).map(|d| name(d).len()).max();
    let Some(width) = width else { return out };
    out.push_str(&format!("by the server's {}:\n", by.name()));
    for d in judged_by(by, decided) {
        let prefix = format!("  {:<width$}  ", name(d));
        paragraph(&mut out, &prefix, width + 4, usize::MAX, &standing(d));
    }
    out
}

/// "holds", "violated: 3 StaleRead", "unknown: no transaction of the history has timestamps".
fn standing(d: &Decided) -> String {
    let without =
        if d.holds_without_session_order { "; it holds without session order" } else { "" };
    match &d.verdict.answer {
        Answer::Holds => "holds".to_owned(),
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
        let (answer, reason) = match &d.verdict.answer {
            Answer::Holds => ("holds", None),
            Answer::Unknown(reason) => ("unknown", Some(reason)),
            Answer::Violated(_) => ("violated", None),
        };
        let by: Vec<&str> = d.verdict.counts.iter().map(|c| c.anomaly.name()).collect();
        json!({
            "level": d.verdict.promise.level.name(),
            "session_order": d.verdict.promise.session_order,
            "answer": answer,
            "violated_by": by,
            "reason": reason,
            "holds_without_session_order": d.holds_without_session_order,
        })
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
    let told = [By::Timestamps, By::Snapshots].into_iter().filter_map(|by| contrast(by, decided));
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
    Some(format!(
        "By values, {} {hold}: some order of the transactions explains what was read. By {by} {are} \
         violated: the server did not do what its own {by} say that it did.",
        all_of(&names),
        by = by.name(),
    ))
}
