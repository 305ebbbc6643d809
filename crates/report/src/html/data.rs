//! All that the page shows, as compact data. Texts, transactions, witnesses and pictures are kept
//! once each and referred to by number.

use isolde_history::History;
use isolde_spec::{Anomaly, Answer, By, Counted, How, Level, Promise, Summary, Verdict};
use serde_json::{Value, json};

use super::tables::Tables;
use super::{body, chart};
use crate::answers;
use crate::case::Case;
use crate::course::Course;
use crate::decided::{self, Decided, by_values};
use crate::handbook;
use crate::picture;
use crate::text::compared;
use crate::wrap::{all_of, number};

/// How many witnesses a report has at most.
const MOST_WITNESSES: usize = 50_000;
/// How many of them come with an excerpt to be saved.
const MOST_EXCERPTS: usize = 200;
/// How many notes and warnings are shown.
const MOST_NOTES: usize = 50;

/// What has been gathered.
#[derive(Default)]
pub(super) struct Data {
    tables: Tables,
    /// For each witness: history, verdict, number, body.
    witnesses: Vec<[usize; 4]>,
    /// For some bodies, the excerpt.
    excerpts: Vec<(usize, String)>,
    cases: Vec<Value>,
    left_out: usize,
}

impl Data {
    /// Adds a history with all its witnesses.
    pub(super) fn add(&mut self, case: &Case<'_>) {
        let at = self.cases.len();
        let verdicts = case.decided.iter().map(|d| verdict(case, d)).collect::<Vec<_>>();
        let mut exhibits = case.exhibits();
        for (number_of_verdict, decided) in case.decided.iter().enumerate() {
            for (number, witness) in decided.verdict.witnesses().iter().enumerate() {
                if self.witnesses.len() >= MOST_WITNESSES {
                    self.left_out += 1;
                    continue;
                }
                let Some(exhibit) = exhibits.next() else { break };
                let known = self.tables.bodies.len();
                let body = body::add(&mut self.tables, case.history, &exhibit);
                self.witnesses.push([at, number_of_verdict, number + 1, body]);
                if body == known && self.excerpts.len() < MOST_EXCERPTS {
                    self.excerpts.push((body, isolde_spec::excerpt(case.history, witness)));
                }
            }
        }
        self.cases.push(described(case, &verdicts));
    }

    /// Everything as JSON that may stand within a page.
    pub(super) fn into_json(self, title: &str) -> String {
        let tables = self.tables;
        let anomalies: Vec<Value> = tables.anomalies.iter().map(|a| anomaly(*a)).collect();
        let left_out = match self.left_out {
            0 => String::new(),
            n => format!("{} more witnesses are left out of this page.", number(n)),
        };
        let parts = [
            ("title", json!(title).to_string()),
            ("version", json!(env!("CARGO_PKG_VERSION")).to_string()),
            ("cases", Value::Array(self.cases).to_string()),
            ("anomalies", Value::Array(anomalies).to_string()),
            ("witnesses", json!(self.witnesses).to_string()),
            ("bodies", tables.bodies.into_json()),
            ("shapes", tables.shapes.into_json()),
            ("excerpts", json!(self.excerpts).to_string()),
            ("pictures", tables.pictures.into_strings()),
            ("txns", tables.txns.into_json()),
            ("texts", tables.texts.into_strings()),
            ("leftOut", json!(left_out).to_string()),
        ];
        let parts: Vec<String> =
            parts.into_iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
        // Within a script, only `<` can end it.
        format!("{{{}}}", parts.join(",")).replace('<', "\\u003c")
    }
}

fn anomaly(anomaly: Anomaly) -> Value {
    let entry = anomaly.entry();
    let page = Some(handbook::anomaly(anomaly)).filter(|page| page.anomaly == anomaly);
    json!({
        "name": entry.name,
        "adya": entry.adya,
        "harm": page.map_or("", |page| page.harm),
        "also": page.map_or(&[][..], |page| page.also_called),
    })
}

fn described(case: &Case<'_>, verdicts: &[Value]) -> Value {
    let summary = Summary::of(case.decided.iter().map(|d| &d.verdict));
    let place = |wanted: &Decided| case.decided.iter().position(|d| std::ptr::eq(d, wanted));
    let violated = |d: &Decided| d.verdict.holds() == Some(false);
    let first = decided::plainest(case.decided).next().and_then(place);
    let first = first.or_else(|| case.decided.iter().position(violated));
    let strong = summary.strongest.last().and_then(|level| by_values(*level, case.decided));
    let decisive = first.or_else(|| strong.and_then(place)).unwrap_or(0);
    let (state, line) = headline(case, &summary, first);
    let figures = figures(case.history);
    json!({
        "name": case.name,
        "format": case.format,
        "state": state,
        "headline": line,
        "strongest": strongest(case, &summary),
        "compared": compared(case.decided),
        "plainest": first,
        "decisive": decisive,
        "verdicts": verdicts,
        "figures": figures,
        "course": course(case, first),
        "about": case.about,
        "warnings": some(&case.warnings, case.warning_count),
        "warningCount": number(case.warning_count),
        "again": case.again,
        "explain": case.explain,
        "seconds": format!("{:.2} s", case.seconds),
    })
}

/// The course of the run as a picture, with the violations of a verdict; null if nothing happened
/// but what clients did.
fn course(case: &Case<'_>, violated: Option<usize>) -> Option<String> {
    let shown = violated.and_then(|at| case.decided.get(at)).map(|decided| &decided.verdict);
    Some(picture::course(&Course::of(case.history, shown)?).fill())
}

fn figures(history: &History) -> Value {
    let counted = |n: usize, one: &str| {
        let name = if n == 1 { one.to_owned() } else { format!("{one}s") };
        json!([name, number(n)])
    };
    json!([
        counted(history.txn_count(), "transaction"),
        counted(history.op_count(), "operation"),
        counted(history.key_count(), "key"),
        counted(history.session_count(), "session"),
    ])
}

/// What the page says first, and whether that is bad, good or open.
fn headline(case: &Case<'_>, summary: &Summary, violated: Option<usize>) -> (u8, String) {
    if let Some(decided) = violated.and_then(|at| case.decided.get(at)) {
        return (1, format!("{} is violated", named(decided.verdict.promise)));
    }
    let timed = decided::by_the_server(case.decided).filter(|d| d.verdict.holds() == Some(true));
    let mut names: Vec<String> = timed.map(|d| named(d.verdict.promise)).collect();
    names.extend(summary.strongest.iter().map(ToString::to_string));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.len() {
        0 => nothing_found(case),
        1 => (0, format!("{} holds", all_of(&names))),
        _ => (0, format!("{} hold", all_of(&names))),
    }
}

/// What the page says first where nothing is known to hold: that nothing was found, if that is so.
fn nothing_found(case: &Case<'_>) -> (u8, String) {
    let enough =
        |d: &&Decided| matches!(d.verdict.answer, Answer::NoViolation { enough: true, .. });
    let names: Vec<String> =
        case.decided.iter().filter(enough).map(|d| named(d.verdict.promise)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.is_empty() {
        true => (2, "Nothing could be decided".to_owned()),
        false => (3, format!("No violation of {} was found", all_of(&names))),
    }
}

/// What was asked, in words; whether session order counts is said beside it.
fn named(promise: Promise) -> String {
    Promise { session_order: true, ..promise }.to_string()
}

/// What holds by values, and what follows from it, in words; nothing if only the server's word was asked.
fn strongest(case: &Case<'_>, summary: &Summary) -> String {
    if !case.decided.is_empty()
        && decided::by_the_server(case.decided).count() == case.decided.len()
    {
        return String::new();
    }
    let names: Vec<&str> = summary.strongest.iter().map(|level| level.name()).collect();
    let without =
        match case.decided.iter().all(|d| answers::promised(d.verdict.promise).session_order) {
            true => "",
            false => ", without session order",
        };
    let asked = |level: &Level| by_values(*level, case.decided).is_some();
    let follows = |level: &Level| summary.strongest.iter().any(|strong| strong.implies(*level));
    let others = Level::ALL.into_iter().filter(|level| follows(level) && !asked(level));
    let others: Vec<&str> = others.map(Level::name).collect();
    let follow = match others.len() {
        0 => String::new(),
        1 => format!(" From that follows {}.", all_of(&others)),
        _ => format!(" From that follow {}.", all_of(&others)),
    };
    let asked = if case.every_level { "" } else { " of those that were asked" };
    match names.len() {
        0 if case.every_level => format!("No level is known to hold{without}."),
        0 => format!(
            "No level of those that were asked is known to hold{without}; others were not asked."
        ),
        1 => format!("Strongest level{asked} that holds{without}: {}.{follow}", all_of(&names)),
        _ => format!("Strongest levels{asked} that hold{without}: {}.{follow}", all_of(&names)),
    }
}

fn verdict(case: &Case<'_>, decided: &Decided) -> Value {
    let verdict = &decided.verdict;
    let promise = verdict.promise;
    let (state, reason) = standing(case, verdict);
    let without = "It holds without session order.";
    json!({
        "level": named(promise),
        "name": promise.level.name(),
        "word": promise.word(),
        "by": promise.by.name(),
        "state": state,
        "asked": if answers::promised(verdict.promise).session_order { "" } else { "without session order" },
        "found": verdict.counts.iter().map(counted).collect::<Vec<_>>(),
        "kept": kept(verdict),
        "reason": reason,
        "aside": if decided.holds_without_session_order { without } else { "" },
        "promise": handbook::promise(promise),
        "notes": some(&verdict.notes, verdict.notes.len() as u64),
        "procedure": rows(verdict),
        "figures": verdict.procedure.figures.iter().filter(|(_, n)| *n > 0)
            .map(|(name, n)| json!([name, number(n)])).collect::<Vec<_>>(),
        "chart": chart::of(case.history.txn_count(), verdict),
    })
}

/// 0 for holds, 1 for violated, 2 for unknown, 3 if nothing was found; and why, if that needs words.
fn standing(case: &Case<'_>, verdict: &Verdict) -> (u8, String) {
    match &verdict.answer {
        Answer::Holds => (0, String::new()),
        Answer::Violated(_) => (1, String::new()),
        answer @ Answer::NoViolation { .. } => (3, answers::among(answer).unwrap_or_default()),
        Answer::Unknown(reason) => {
            let summary = Summary::of(case.decided.iter().map(|d| &d.verdict));
            let level = verdict.promise.level;
            let valued = verdict.promise.by == By::Values;
            let standing = summary.others.iter().find(|other| valued && other.level == level);
            match standing.map(|standing| standing.how) {
                Some(How::ViolatedAs(weaker)) => (1, format!("because {weaker} is")),
                _ => (2, reason.clone()),
            }
        }
    }
}

/// How many of those that were counted are witnesses, if not all are.
fn kept(verdict: &Verdict) -> String {
    let counted: u64 = verdict.counts.iter().map(|counted| counted.count).sum();
    let kept = verdict.witnesses().len();
    if counted <= kept as u64 {
        return String::new();
    }
    format!("{} of the {} that were counted were kept.", number(kept), number(counted))
}

/// "at least 3 LostUpdate".
fn counted(counted: &Counted) -> Value {
    let least = if counted.at_least { "at least " } else { "" };
    json!([format!("{least}{}", number(counted.count)), counted.anomaly.name()])
}

fn rows(verdict: &Verdict) -> Value {
    let procedure = &verdict.procedure;
    json!([
        ["Method", crate::text::method(procedure.name)],
        ["Why this one", procedure.why],
        ["Evidence", procedure.evidence.join("; ")],
    ])
}

/// The first of so many texts, and how many more there are.
fn some(texts: &[String], all: u64) -> Vec<String> {
    let mut some: Vec<String> = texts.iter().take(MOST_NOTES).cloned().collect();
    let left = all.saturating_sub(some.len() as u64);
    if left > 0 && !some.is_empty() {
        some.push(format!("{} more.", number(left)));
    }
    some
}
