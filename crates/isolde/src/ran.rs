//! A run, while it happens and afterwards, in words and for machines.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use isolde_report::number;
use isolde_run::{Happened, Limits, Progress, Ran, Trouble};
use isolde_target::{Failure, Target};
use serde_json::{Value, json};

use crate::load;

/// How far the run is.
pub(crate) fn bar(limits: &Limits) -> ProgressBar {
    let bar = match limits.commits.or(limits.txns) {
        Some(most) => ProgressBar::new(most),
        None => ProgressBar::new(limits.duration.map_or(0, |d| d.as_millis() as u64)),
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:12} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// Brings the bar up to date.
pub(crate) fn show(bar: &ProgressBar, limits: &Limits, progress: &Progress) {
    let elapsed = progress.elapsed.as_secs_f64();
    let by_time = limits.duration.map(|most| elapsed / most.as_secs_f64());
    let by_count = match (limits.commits, limits.txns) {
        (Some(most), _) => Some(progress.committed as f64 / most as f64),
        (None, Some(most)) => Some(progress.txns as f64 / most as f64),
        (None, None) => None,
    };
    let done = by_time.into_iter().chain(by_count).fold(0.0, f64::max).min(1.0);
    let length = bar.length().unwrap_or(0);
    bar.set_position((done * length as f64) as u64);
    let left = if done > 0.0 { elapsed / done - elapsed } else { 0.0 };
    bar.set_message(format!(
        "{} commits/s, {} committed, {:.1}% aborted, {elapsed:.0} s, {left:.0} s left",
        number(progress.commits_per_second() as u64),
        number(progress.committed),
        progress.abort_rate() * 100.0,
    ));
}

/// The counts of a run in words, and what went wrong on purpose.
pub(crate) fn to_text(ran: &Ran) -> String {
    let faults = match ran.faults.is_empty() {
        true => String::new(),
        false => format!("; faults: {}", faults(ran)),
    };
    counts(ran) + &faults
}

/// The counts of a run in words.
pub(crate) fn counts(ran: &Ran) -> String {
    let p = &ran.progress;
    let mut text = format!(
        "{:.2} s, {} transactions: {} committed, {} aborted ({:.1}%), {} unknown; {} commits/s",
        p.elapsed.as_secs_f64(),
        number(p.txns),
        number(p.committed),
        number(p.aborted),
        p.abort_rate() * 100.0,
        number(p.unknown),
        number(p.commits_per_second() as u64),
    );
    if ran.interrupted {
        text += "; ended by Ctrl-C";
    }
    text
}

/// How often what went wrong on purpose.
fn faults(ran: &Ran) -> String {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for fault in &ran.faults {
        let name = match fault.name {
            "drop" | "latency" => fault.name.to_owned(),
            name => format!("{name} {}", fault.to),
        };
        match counts.iter_mut().find(|(n, _)| *n == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words = counts.iter().map(|(name, count)| format!("{} x {name}", number(*count)));
    words.collect::<Vec<_>>().join(", ")
}

/// The counts of a run for machines.
pub(crate) fn to_json(ran: &Ran) -> Value {
    let p = &ran.progress;
    json!({
        "seconds": p.elapsed.as_secs_f64(),
        "transactions": p.txns,
        "committed": p.committed,
        "aborted": p.aborted,
        "unknown": p.unknown,
        "abort_rate": p.abort_rate(),
        "commits_per_second": p.commits_per_second(),
        "lost_connections": p.lost,
        "interrupted": ran.interrupted,
        "faults": ran.faults.iter().map(|f| json!({
            "name": f.name, "to": f.to, "begin": f.begin, "end": f.end,
        })).collect::<Vec<_>>(),
        "errors": ran.troubles.iter().map(|t| json!({
            "code": t.code, "count": t.count, "message": t.message, "expected": t.expected,
        })).collect::<Vec<_>>(),
        "sessions_given_up": ran.gave_up.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// Says on standard error what went wrong and is no ordinary conflict.
pub(crate) fn warn(target: &dyn Target, ran: &Ran, faults: bool) {
    let label = || load::WARNING.label("warning");
    if faults && ran.faults.is_empty() {
        anstream::eprintln!("{}: none of the faults happened before the run was over", label());
    }
    // Where servers are harmed on purpose, lost connections are what was asked for.
    let worth_saying = |t: &&Trouble| {
        ran.faults.is_empty() || t.code == Happened::CODE || t.code == Failure::IMPOSSIBLE
    };
    for trouble in ran.troubles.iter().filter(|t| !t.expected).filter(worth_saying) {
        let times = if trouble.count == 1 { "once" } else { "times" };
        let count = if trouble.count == 1 { String::new() } else { number(trouble.count) + " " };
        anstream::eprintln!("{}: {count}{times}: {} ({})", label(), trouble.message, trouble.code);
    }
    if let Some(first) = ran.gave_up.first() {
        let count = ran.gave_up.len();
        anstream::eprintln!("{}: {count} sessions gave up: {first}", label());
        if let Some(words) = target.last_words() {
            anstream::eprintln!("{}: the server's last words: {words}", label());
        }
    }
}

/// The most memory that this process has had, in bytes; Linux tells it.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// A time as people say it.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Prints to standard output. Whoever stops listening does not change what was found.
pub(crate) fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}
