//! The verdict on one promise.

use isolde_history::History;
use isolde_spec::{Answer, Counted, Procedure, Verdict};

use super::Telling;
use super::witness;
use crate::answers;
use crate::decided::Decided;
use crate::exhibit::Exhibit;
use crate::style::{Ink, Style};
use crate::wrap::{number, paragraph, unbroken};

/// How many notes are shown where not all are asked for.
const NOTES: usize = 3;

/// The figures that are told in a sentence of their own.
const SEARCH: [&str; 2] = ["search budget", "search spent"];

/// The verdict as a text of several lines.
pub fn to_text(history: &History, decided: &Decided, telling: &Telling) -> String {
    let mut out = String::new();
    let verdict = &decided.verdict;
    let promise = answers::promised(verdict.promise);
    let word = answer(&verdict.answer, telling.style);
    match &verdict.answer {
        Answer::Holds => line(&mut out, &format!("{promise}: {word}")),
        answer @ Answer::NoViolation { .. } => {
            let among = answers::among(answer).unwrap_or_default();
            paragraph(&mut out, "", 2, usize::MAX, &format!("{promise}: {word} {among}"));
        }
        Answer::Unknown(reason) => {
            let text = format!("{promise}: {word}, because {reason}");
            paragraph(&mut out, "", 2, usize::MAX, &text);
        }
        Answer::Violated(_) => {
            line(&mut out, &format!("{promise}: {word}"));
            violation(history, verdict, telling, &mut out);
        }
    }
    if decided.holds_without_session_order {
        line(&mut out, "  it holds without session order");
    }
    about(verdict, telling.all, &mut out);
    out
}

/// "holds", "no violation", "violated" or "unknown", in its colour. That nothing was found is no good news where too little was
/// looked at, and never as good as that it holds.
pub(super) fn answer(answer: &Answer, style: Style) -> String {
    match answer {
        Answer::Holds => style.paint(Ink::Good, "holds"),
        Answer::NoViolation { enough: true, .. } => style.paint(Ink::Strong, "no violation"),
        Answer::NoViolation { enough: false, .. } => style.paint(Ink::Open, "no violation"),
        Answer::Unknown(_) => style.paint(Ink::Open, "unknown"),
        Answer::Violated(_) => style.paint(Ink::Bad, "violated"),
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A row with its name on the left.
fn row(out: &mut String, name: &str, text: &str) {
    paragraph(out, &format!("  {name:<10} "), 13, usize::MAX, text);
}

/// "at least 3 LostUpdate".
pub(super) fn counted(counted: &Counted) -> String {
    let least = if counted.at_least { "at least " } else { "" };
    unbroken(&format!("{least}{} {}", number(counted.count), counted.anomaly))
}

fn violation(history: &History, verdict: &Verdict, telling: &Telling, out: &mut String) {
    let counts: Vec<String> = verdict.counts.iter().map(counted).collect();
    row(out, "found", &counts.join(", "));
    let witnesses = verdict.witnesses();
    let shown = if telling.all { witnesses.len() } else { 1 };
    let promise = verdict.promise;
    for (at, w) in witnesses.iter().enumerate().take(shown) {
        let exhibit = Exhibit::new(history, promise, at + 1, w);
        witness::to_text(history, &exhibit, telling, out);
    }
    let left = witnesses.len().saturating_sub(shown);
    if left > 0 {
        let them = if left == 1 { "it" } else { "them" };
        let text = format!("{} more kept: --all shows {them}, --json too", number(left));
        row(out, "witnesses", &text);
    }
}

fn notes(verdict: &Verdict, all: bool, out: &mut String) {
    // The reason is often one of them, and has been said.
    let reason = answers::reason(&verdict.answer).unwrap_or_default();
    let told = |note: &&String| !reason.starts_with(note.as_str());
    let notes: Vec<&String> = verdict.notes.iter().filter(told).collect();
    let shown = if all { notes.len() } else { NOTES };
    for note in notes.iter().take(shown) {
        row(out, "note", note);
    }
    let left = notes.len().saturating_sub(shown);
    if left > 0 {
        row(out, "note", &format!("{left} more like these: --all shows them, --json too"));
    }
}

/// All notes of a verdict: what was ambiguous, what was not used.
pub fn notes_to_text(verdict: &Verdict) -> String {
    let mut out = String::new();
    notes(verdict, true, &mut out);
    out
}

/// What is worth knowing beside the answer.
pub(super) fn about(verdict: &Verdict, all: bool, out: &mut String) {
    notes(verdict, all, out);
    procedure(&verdict.procedure, out);
}

/// What ran, on what, and why.
fn procedure(procedure: &Procedure, out: &mut String) {
    row(out, "method", &format!("{} ({})", method(procedure.name), procedure.why));
    if !procedure.evidence.is_empty() {
        row(out, "evidence", &procedure.evidence.join("; "));
    }
    let plain = procedure.figures.iter().filter(|(name, n)| *n > 0 && !SEARCH.contains(name));
    let figures: Vec<String> = plain.map(|(name, n)| figure(name, *n)).collect();
    if !figures.is_empty() {
        row(out, "figures", &figures.join(", "));
    }
    let named = |wanted: &str| procedure.figures.iter().find(|(name, _)| *name == wanted);
    if let [Some((_, budget)), Some((_, spent))] = SEARCH.map(named) {
        let mut text = format!("{} edges of a budget of {}", number(spent), number(budget));
        if spent >= budget {
            text.push_str(": used up, so there may be more cycles, or shorter ones");
        }
        row(out, "search", &text);
    }
}

/// The name of a procedure, for people.
pub(crate) fn method(name: &str) -> &str {
    match name {
        "graph" => "dependency graph",
        "saturation" => "dependency graph with inferred edges",
        "axiom" => "axiom of the level",
        "local" => "single transactions",
        "timestamps" => "the server's timestamps",
        "snapshots" => "the server's snapshots",
        "intervals" => "the server's mechanisms, mirrored",
        other => other,
    }
}

/// "1 key", "2 keys".
fn figure(name: &str, n: u64) -> String {
    let one = [("dependencies", "dependency"), ("points", "point"), ("s decided", " decided")];
    let one = one.iter().fold(name.to_owned(), |name, (many, one)| name.replace(many, one));
    let name = if n == 1 { one.strip_suffix('s').unwrap_or(&one) } else { name };
    unbroken(&format!("{} {name}", number(n)))
}
