//! What a watch found, at its end.

use anyhow::Result;
use isolde_report::{Watched, WatchedFigure, number};
use isolde_spec::Answer;
use isolde_stream::{DecidedShare, Status, StreamAnswer};
use isolde_watch::Outcome;
use serde_json::{Map, Value, json};

use super::{curves, promised};
use crate::args::WatchArgs;
use crate::terminal;

/// Prints it: to standard output, unless that is for events only.
pub(super) fn print(args: &WatchArgs, watched: &Watched) -> Result<()> {
    let events = args.events.as_ref().is_some_and(|path| path.as_os_str() == "-");
    match (args.json, events) {
        (true, true) => {
            terminal::print(&(json!({ "summary": watched.to_json() }).to_string() + "\n"))
        }
        (true, false) => terminal::print_json(&watched.to_json()),
        (false, true) => {
            anstream::eprint!("{}", watched.to_text());
            Ok(())
        }
        (false, false) => terminal::print(&watched.to_text()),
    }
}

/// A watch as reports have it. So many of its violations are shown one by one.
pub(super) fn watched(source: &str, args: &WatchArgs, outcome: &Outcome, shown: u64) -> Watched {
    let status = &outcome.figures.status;
    let came_late = status.by_intervals.is_some() && status.longest_change > 0;
    let hint = ((status.corrections > 0 || came_late) && !status.promised).then(|| {
        let enough = status.longest_change / 1000 + 1;
        format!("--timeout {enough}s would have waited long enough")
    });
    let (seconds, curves) = curves::of(&outcome.series, args.memory);
    Watched {
        source: source.to_owned(),
        promise: outcome.promise.map(promised::named),
        holds: status.holds(),
        not_found: not_found(status),
        figures: figures(outcome),
        hint,
        seconds,
        curves,
        rectified: status.rectified.clone(),
        not_shown: status.violations.saturating_sub(shown),
    }
}

/// By client intervals: among how many dependencies nothing was found.
fn not_found(status: &Status) -> Option<Answer> {
    let DecidedShare { decided, of, enough, .. } = status.by_intervals?;
    let found = matches!(status.answer(), StreamAnswer::NoViolation { .. });
    found.then_some(Answer::NoViolation { decided, of, enough })
}

/// By client intervals: how much could be decided.
fn decided(status: &Status) -> Vec<WatchedFigure> {
    let Some(share) = status.by_intervals else { return Vec::new() };
    let text = format!("{} of {} dependencies", number(share.decided), number(share.of));
    vec![
        figure("decided", json!(share.decided), "decided", Some(text)),
        quiet("of", json!(share.of)),
        quiet("enough", json!(share.enough)),
    ]
}

fn figures(outcome: &Outcome) -> Vec<WatchedFigure> {
    let mut all = traffic(outcome);
    all.extend(counts(outcome));
    all.extend(decided(&outcome.figures.status));
    all.extend(state(outcome));
    all
}

/// A figure of which people are told in these words, if there are any.
fn figure(
    key: &'static str,
    value: Value,
    name: &'static str,
    text: Option<String>,
) -> WatchedFigure {
    WatchedFigure { key, value, name, text }
}

/// A figure for machines only.
fn quiet(key: &'static str, value: Value) -> WatchedFigure {
    figure(key, value, key, None)
}

/// A count, told only if there is something to count: of one thing, or of several.
fn counted(
    key: &'static str,
    count: u64,
    name: &'static str,
    (one, several): (&str, &str),
) -> WatchedFigure {
    let text = match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {several}", number(count))),
    };
    figure(key, json!(count), name, text)
}

/// "1 operation", "2 operations".
fn plural(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", number(count), if count == 1 { "" } else { "s" })
}

/// How much came, and what it took.
fn traffic(outcome: &Outcome) -> Vec<WatchedFigure> {
    let figures = &outcome.figures;
    let status = &figures.status;
    let seconds = figures.elapsed.as_secs_f64();
    let rate = status.txns.saturating_sub(outcome.before) as f64 / seconds.max(1e-3);
    let (txns, ops) = (number(status.txns), plural(status.ops, "operation"));
    let samples = outcome.series.samples();
    let memory = samples.iter().map(|sample| sample.memory).max().unwrap_or(0);
    let disk = samples.iter().map(|sample| sample.disk).max().unwrap_or(0);
    let on_disk = match disk {
        0 => String::new(),
        _ => format!(", {} MB on disk", number(disk >> 20)),
    };
    let came = match status.txns {
        0 => "0: nothing came, so nothing can be said".to_owned(),
        _ => format!("{txns}, with {ops}, in {seconds:.1} s"),
    };
    let held = format!("{} MB at most{on_disk}", number(memory >> 20));
    vec![
        figure("transactions", json!(status.txns), "transactions", Some(came)),
        quiet("operations", json!(status.ops)),
        quiet("seconds", json!(seconds)),
        figure("rate", json!(rate), "rate", Some(format!("{} a second", number(rate.round())))),
        figure("memory_bytes", json!(memory), "memory", Some(held)),
        quiet("disk_bytes", json!(disk)),
        quiet("reloads", json!(status.reloads)),
    ]
}

/// What was found, and how often verdicts changed.
fn counts(outcome: &Outcome) -> Vec<WatchedFigure> {
    let status = &outcome.figures.status;
    let named = status.by_anomaly.iter();
    let by_anomaly: Map<String, Value> =
        named.clone().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    let lines = named.map(|(name, count)| format!("\n{name}: {}", number(*count)));
    let found =
        (status.violations > 0).then(|| number(status.violations) + &lines.collect::<String>());
    vec![
        figure("violations", json!(status.violations), "violations", found),
        quiet("by_anomaly", Value::Object(by_anomaly)),
        counted(
            "corrections",
            status.corrections,
            "corrections",
            (
                "final verdict changed when a transaction came late",
                "final verdicts changed when a transaction came late",
            ),
        ),
        figure("flips", json!(status.flips), "flips", flips(status)),
        quiet("flipped", json!(status.flipped)),
        quiet("flipped_transactions", json!(status.flipped_txns)),
        quiet("longest_change", json!(status.longest_change)),
    ]
}

/// How often verdicts changed, and how long it took until those were right that were wrong at first.
fn flips(status: &Status) -> Option<String> {
    if status.flips == 0 {
        return None;
    }
    let longest = number(status.longest_change);
    let mut text = format!(
        "{} of a verdict on a read, the last {longest} ms after its transaction had come: {} and a key, {}",
        plural(status.flips, "change"),
        match status.flipped {
            1 => "1 pair of a transaction".to_owned(),
            pairs => format!("{} pairs of a transaction", number(pairs)),
        },
        plural(status.flipped_txns, "transaction"),
    );
    let classes = status.rectified.iter().enumerate().filter(|(_, count)| **count > 0);
    let classes: Vec<String> = classes
        .map(|(class, count)| format!("{} within {} ms", number(*count), number(1u64 << class)))
        .collect();
    if !classes.is_empty() {
        text += &format!("\nwrong at first, then right: {}", classes.join(", "));
    }
    Some(text)
}

/// What is late, missing or open.
fn state(outcome: &Outcome) -> Vec<WatchedFigure> {
    let (figures, status) = (&outcome.figures, &outcome.figures.status);
    let kept = "needed what is not kept any more: --keep keeps more";
    let of = |verb: &str| (format!("transaction {verb}"), format!("transactions {verb}"));
    let too_late = of(kept);
    let unstamped = of("committed without the timestamps or snapshots that are needed");
    let late = of(match status.by_intervals {
        Some(_) => "came too late: what had not ended when they began was decided",
        None => "came later than promised",
    });
    let repeated =
        ("transaction came twice and was left out", "transactions came twice and were left out");
    let left_out = (
        "transaction was left out and not judged: its number was another one's, or is older than what is remembered",
        "transactions were left out and not judged: their numbers were those of others, or are older than what is remembered",
    );
    let bad = (
        "line could not be read; a violation may have been in it",
        "lines could not be read; a violation may have been in them",
    );
    let open = match outcome.goes_on {
        true => (
            "transaction has no final verdict yet: the same command goes on with it",
            "transactions have no final verdict yet: the same command goes on with them",
        ),
        false => ("transaction has no final verdict", "transactions have no final verdict"),
    };
    let why = figures.first_doubt.as_ref().filter(|_| status.doubts > 0);
    let because = why.map(|why| format!(": {why}")).unwrap_or_default();
    let doubts = (
        format!("read or conflict stays unknown{because}"),
        format!("reads and conflicts stay unknown{because}"),
    );
    vec![
        counted("late", status.late, "late", both(&late)),
        counted("too_late", status.too_late, "too late", both(&too_late)),
        counted("doubts", status.doubts, "doubts", both(&doubts)),
        quiet("first_doubt", json!(why)),
        counted("unstamped", status.unstamped, "unstamped", both(&unstamped)),
        counted("repeated", status.repeated, "repeated", repeated),
        counted("left_out", status.left_out, "left out", left_out),
        counted("open", status.open, "open", open),
        counted("bad_lines", figures.bad, "bad lines", bad),
        quiet("complete", json!(status.complete)),
        quiet("failed", json!(outcome.failed)),
    ]
}

fn both((one, several): &(String, String)) -> (&str, &str) {
    (one, several)
}
