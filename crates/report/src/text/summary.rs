//! What holds and what does not, over all levels.

use std::fmt::Write;

use isolde_history::History;
use isolde_spec::{
    Anomaly, Answer, By, Counted, Edges, How, Level, Promise, Standing, Summary, Verdict,
};
use serde_json::{Value, json};

use super::Telling;
use super::{timed_summary, verdict, witness};
use crate::answers;
use crate::decided::{self, Decided, by_values};
use crate::exhibit::Exhibit;
use crate::sentence;
use crate::wrap::{all_of, paragraph, unbroken};

/// Which levels hold, what forbids each of the others, and the plainest violation in full.
pub fn summary_to_text(history: &History, decided: &[Decided], telling: &Telling) -> String {
    let mut out = String::new();
    let summary = Summary::of(decided.iter().map(|d| &d.verdict));
    out += &timed_summary::to_text(decided);
    let header = strongest(&summary, decided);
    out += &header;
    let told = &summary.others;
    if !told.is_empty() && header.lines().count() > 1 {
        out.push_str("violated or undecided:\n");
    }
    let width = told.iter().map(|other| other.level.name().len()).max().unwrap_or(0);
    let mut last = String::new();
    for other in told {
        let prefix = format!("  {:<width$}  ", other.level.name());
        let why = standing(other, decided);
        let same = why == last && other.how == How::Unknown;
        let said = if same { "unknown, for the same reason" } else { why.as_str() };
        paragraph(&mut out, &prefix, width + 4, usize::MAX, said);
        last = why;
    }
    for d in decided::plainest(decided) {
        // Whether session order counts was said above; writing to a String cannot fail.
        let promise = d.verdict.promise;
        let told = Promise { session_order: true, ..promise };
        let _ = writeln!(out, "why {told} is violated:");
        if let Some(first) = d.verdict.witnesses().first() {
            let exhibit = Exhibit::new(history, promise, 1, first);
            witness::to_text(history, &exhibit, telling, &mut out);
        }
        verdict::about(&d.verdict, false, &mut out);
    }
    out
}

/// The same for machines; the witnesses are in the verdicts.
pub fn summary_to_json(decided: &[Decided]) -> Value {
    let summary = Summary::of(decided.iter().map(|d| &d.verdict));
    let anomaly = |(anomaly, needs): &(Anomaly, Edges)| {
        let needs: Vec<&str> = needs.each().map(|(_, name)| name).collect();
        json!({"anomaly": anomaly.name(), "needs": needs})
    };
    let other = |other: &Standing| {
        let d = by_values(other.level, decided);
        let by = d.map(|d| anomalies(&d.verdict)).unwrap_or_default();
        let reason = d.and_then(|d| answers::reason(&d.verdict.answer));
        json!({
            "level": other.level.name(),
            "answer": if other.how == How::Unknown { "unknown" } else { "violated" },
            "violated_as": match other.how {
                How::ViolatedAs(weaker) => Some(weaker.name()),
                How::Violated | How::Unknown => None,
            },
            "violated_by": by.iter().map(anomaly).collect::<Vec<_>>(),
            "reason": reason,
            "holds_without_session_order": d.is_some_and(|d| d.holds_without_session_order),
        })
    };
    json!({
        "strongest": summary.strongest.iter().map(|l| l.name()).collect::<Vec<_>>(),
        "not_shown_to_hold": summary.others.iter().map(other).collect::<Vec<_>>(),
        "plainest_violation_of": summary.plainest.map(Level::name),
        "by_timestamps": timed_summary::to_json(By::Timestamps, decided),
        "by_snapshots": timed_summary::to_json(By::Snapshots, decided),
        "by_intervals": timed_summary::to_json(By::Intervals, decided),
        "compared": timed_summary::compared(decided),
    })
}

fn strongest(summary: &Summary, decided: &[Decided]) -> String {
    let mut out = String::new();
    if decided.iter().all(|d| d.verdict.promise.by != By::Values) && !decided.is_empty() {
        return out;
    }
    let names: Vec<&str> = summary.strongest.iter().map(|level| level.name()).collect();
    let sessions = decided.iter().all(|d| answers::promised(d.verdict.promise).session_order);
    let without = if sessions { "" } else { ", without session order" };
    let said = match names.len() {
        0 => format!("no level is known to hold{without}"),
        1 => format!("strongest level that holds{without}: {}", names[0]),
        _ => format!("strongest levels that hold{without}: {}", all_of(&names)),
    };
    paragraph(&mut out, "", 2, usize::MAX, &said);
    // What ran is said once: here, or beside the violation.
    let open = summary.others.iter().find(|_| summary.plainest.is_none());
    let shown = summary.strongest.last().copied().or(open.map(|o| o.level));
    if let Some(d) = shown.and_then(|level| by_values(level, decided)) {
        verdict::about(&d.verdict, false, &mut out);
    }
    out
}

/// Why a level is not shown to hold, in a line.
fn standing(other: &Standing, decided: &[Decided]) -> String {
    let Some(d) = by_values(other.level, decided) else { return String::new() };
    let without =
        if d.holds_without_session_order { "; it holds without session order" } else { "" };
    match (other.how, &d.verdict.answer) {
        (How::ViolatedAs(weaker), _) => format!("violated, because {weaker} is"),
        (_, Answer::Unknown(reason)) => format!("unknown: {reason}"),
        _ => {
            let name = |(anomaly, needs)| unbroken(&sentence::variant(anomaly, needs));
            let by: Vec<String> = anomalies(&d.verdict).into_iter().map(name).collect();
            format!("violated: {}{without}", by.join(", "))
        }
    }
}

/// The anomalies of a verdict, each with what its witnesses need if all need something.
fn anomalies(verdict: &Verdict) -> Vec<(Anomaly, Edges)> {
    let needs = |counted: &Counted| {
        let of = verdict.witnesses().iter().filter(|w| w.anomaly == counted.anomaly);
        let least = of.map(|w| w.needs).min_by_key(|needs| needs.each().count());
        (counted.anomaly, least.unwrap_or_default())
    };
    verdict.counts.iter().map(needs).collect()
}
