//! A run in words and for machines.

use std::time::Duration;

use isolde_report::number;
use isolde_run::{Happened, Ran, Trouble};
use isolde_target::{Failure, Target};
use serde_json::{Value, json};

use crate::notice::Notice;
use crate::stop::EndedBy;

/// The counts of a run in words, and what went wrong on purpose.
pub fn to_text(ran: &Ran, by: Option<EndedBy>) -> String {
    let faults = match ran.faults.is_empty() {
        true => String::new(),
        false => format!("; faults: {}", faults(ran)),
    };
    counts(ran, by) + &faults
}

/// The counts of a run in words.
pub(crate) fn counts(ran: &Ran, by: Option<EndedBy>) -> String {
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
    if p.resolved > 0 {
        let commits = if p.resolved == 1 { "commit" } else { "commits" };
        text += &format!("; {} {commits} without an answer resolved", number(p.resolved));
    }
    match by {
        Some(by) if ran.interrupted => text += &format!("; ended by {}", by.name),
        None if ran.interrupted => text += "; ended early",
        _ => {}
    }
    if let Some(hung) = &ran.hung {
        text += &format!("; {} sessions hang", number(hung.sessions));
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
pub fn to_json(ran: &Ran, by: Option<EndedBy>) -> Value {
    let p = &ran.progress;
    json!({
        "seconds": p.elapsed.as_secs_f64(),
        "transactions": p.txns,
        "committed": p.committed,
        "aborted": p.aborted,
        "unknown": p.unknown,
        "resolved": p.resolved,
        "abort_rate": p.abort_rate(),
        "commits_per_second": p.commits_per_second(),
        "lost_connections": p.lost,
        "interrupted": ran.interrupted,
        "ended_by": by.filter(|_| ran.interrupted).map(|by| by.name),
        "hung": ran.hung.map(|h| json!({
            "sessions": h.sessions, "silence_seconds": h.silence.as_secs_f64(),
        })),
        "versions": ran.versions.as_ref().map(|v| json!({
            "versions": v.versions, "seconds": v.took.as_secs_f64(), "ordered_keys": v.ordered,
            "unordered_keys": v.unordered, "why_unordered": v.why_unordered, "unread": v.unread,
            "lost_commits": v.lost,
        })),
        "faults": ran.faults.iter().map(|f| json!({
            "name": f.name, "to": f.to, "begin": f.begin, "end": f.end,
        })).collect::<Vec<_>>(),
        "errors": ran.troubles.iter().map(|t| json!({
            "code": t.code, "count": t.count, "message": t.message, "expected": t.expected,
        })).collect::<Vec<_>>(),
        "sessions_given_up": ran.gave_up.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// What went wrong and is no ordinary conflict.
pub(crate) fn notices(target: &dyn Target, ran: &Ran, faults: bool) -> Vec<Notice> {
    let mut all = Vec::new();
    let mut warn = |text: String| all.push(Notice::Warning(text));
    if faults && ran.faults.is_empty() {
        warn("none of the faults happened before the run was over".to_owned());
    }
    // Where servers are harmed on purpose, lost connections are what was asked for.
    let worth_saying = |t: &&Trouble| {
        ran.faults.is_empty() || t.code == Happened::CODE || t.code == Failure::IMPOSSIBLE
    };
    for trouble in ran.troubles.iter().filter(|t| !t.expected).filter(worth_saying) {
        let times = if trouble.count == 1 { "once" } else { "times" };
        let count = if trouble.count == 1 { String::new() } else { number(trouble.count) + " " };
        warn(format!("{count}{times}: {} ({})", trouble.message, trouble.code));
    }
    ran.notices.iter().for_each(|notice| warn(notice.clone()));
    versions(ran, &mut warn);
    if let Some(first) = ran.gave_up.first() {
        let count = ran.gave_up.len();
        warn(format!("{count} sessions gave up: {first}"));
    }
    // Sessions may have gone on without the process that died.
    let troubled = ran.faults.is_empty() && ran.troubles.iter().any(|t| !t.expected);
    if let Some(words) = target.last_words().filter(|_| troubled || !ran.gave_up.is_empty()) {
        warn(format!("the server's last words: {words}"));
    }
    all
}

/// What the server did not show of the versions of its rows, and what it lost.
fn versions(ran: &Ran, warn: &mut dyn FnMut(String)) {
    let Some(shown) = &ran.versions else { return };
    if let Some(why) = &shown.unread {
        warn(format!("the versions of some rows could not be read: {why}"));
    }
    if let Some(why) = &shown.why_unordered {
        let (count, all) = (number(shown.unordered), number(shown.unordered + shown.ordered));
        warn(format!("the versions of {count} of {all} keys are in no order: {why}"));
    }
    if shown.lost > 0 {
        warn(format!("{} commits that the server had confirmed are lost", number(shown.lost)));
    }
}

/// The most memory that this process has had, in bytes; Linux tells it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// A time as people say it.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
