//! What a watch found, at its end.

use std::fmt::Write as _;

use anyhow::Result;
use isolde_report::number;
use isolde_watch::Outcome;
use serde_json::{Value, json};

use crate::args::WatchArgs;
use crate::terminal;

/// Prints it: to standard output, unless that is for events only.
pub(super) fn print(args: &WatchArgs, outcome: &Outcome) -> Result<()> {
    let events = args.events.as_ref().is_some_and(|path| path.as_os_str() == "-");
    match (args.json, events) {
        (true, true) => {
            terminal::print(&(json!({ "summary": to_json(outcome) }).to_string() + "\n"))
        }
        (true, false) => terminal::print_json(&to_json(outcome)),
        (false, true) => {
            anstream::eprint!("{}", to_text(args, outcome));
            Ok(())
        }
        (false, false) => terminal::print(&to_text(args, outcome)),
    }
}

fn verdict(outcome: &Outcome) -> &'static str {
    match outcome.figures.status.holds() {
        Some(true) => "nothing was found",
        Some(false) => "violated",
        None => "unknown",
    }
}

fn to_text(args: &WatchArgs, outcome: &Outcome) -> String {
    let (figures, mut out) = (&outcome.figures, String::new());
    let status = &figures.status;
    let promise = outcome.promise.map_or_else(|| "no promise".to_owned(), |p| p.to_string());
    let _ = writeln!(out, "{promise}: {}", verdict(outcome));
    let seconds = figures.elapsed.as_secs_f64();
    let (txns, ops) = (number(status.txns), number(status.ops));
    let _ = writeln!(out, "  transactions  {txns}, with {ops} operations, in {seconds:.1} s");
    if status.violations > 0 {
        let _ = writeln!(out, "  violations    {}", number(status.violations));
        for (anomaly, count) in &status.by_anomaly {
            let _ = writeln!(out, "    {anomaly}: {}", number(*count));
        }
    }
    let mut say = |count: u64, name: &str, what: &str| {
        if count > 0 {
            let _ = writeln!(out, "  {name:<12}  {} {what}", number(count));
        }
    };
    say(status.corrections, "corrections", "final verdicts changed when a transaction came late");
    say(status.late, "late", "transactions came later than promised");
    say(
        status.too_late,
        "too late",
        "transactions needed what is not kept any more: --keep keeps more",
    );
    say(status.doubts, "doubts", "reads and conflicts stay unknown");
    say(
        status.unstamped,
        "unstamped",
        "transactions committed without the timestamps that are needed",
    );
    say(status.repeated, "repeated", "transactions came twice and were left out");
    let open = match args.state.is_some() {
        true => "transactions have no final verdict yet: the same command goes on with them",
        false => "transactions have no final verdict",
    };
    say(status.open, "open", open);
    say(figures.bad, "bad lines", "lines could not be read; a violation may have been in them");
    if status.txns == 0 {
        out += "  nothing came, so nothing can be said\n";
    }
    if status.corrections > 0 && !status.promised {
        let enough = status.longest_change / 1000 + 1;
        let _ = writeln!(out, "  hint: --timeout {enough}s would have waited long enough");
    }
    out
}

fn to_json(outcome: &Outcome) -> Value {
    let figures = &outcome.figures;
    let status = &figures.status;
    let violations: serde_json::Map<String, Value> =
        status.by_anomaly.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    json!({
        "promise": outcome.promise.map(|promise| promise.to_string()),
        "holds": status.holds(),
        "transactions": status.txns,
        "operations": status.ops,
        "seconds": figures.elapsed.as_secs_f64(),
        "violations": status.violations,
        "by_anomaly": violations,
        "corrections": status.corrections,
        "longest_change": status.longest_change,
        "late": status.late,
        "too_late": status.too_late,
        "doubts": status.doubts,
        "unstamped": status.unstamped,
        "repeated": status.repeated,
        "open": status.open,
        "flips": status.flips,
        "bad_lines": figures.bad,
        "complete": status.complete,
        "failed": outcome.failed,
    })
}
