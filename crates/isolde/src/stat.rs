//! `isolde stat`.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

use anyhow::Result;
use isolde_history::notation::write_value;
use isolde_history::{Entity, History, OpKind, Outcome, Summary, Value};
use isolde_job::load::Loaded;
use isolde_job::shown;
use isolde_report::number;
use serde_json::{Map, json};

use crate::args::StatArgs;
use crate::reading;

pub(crate) fn run(args: &StatArgs) -> Result<()> {
    let loaded = reading::load_or_tell(&args.history, &args.read, args.json)?;
    let summary = Summary::of(&loaded.history);
    let text = if args.json {
        let name = args.history.display().to_string();
        serde_json::to_string_pretty(&as_json(&name, &loaded, &summary))? + "\n"
    } else {
        as_text(&shown(&args.history), &loaded, &summary)
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn show(history: &History, value: Value) -> String {
    let mut text = String::new();
    write_value(history.pool(), value, &mut text);
    text
}

fn entity_name(entity: Entity) -> &'static str {
    match entity {
        Entity::Txn => "transaction",
        Entity::Stmt => "statement",
        Entity::Op => "operation",
    }
}

// ---- text ----

fn as_text(name: &str, loaded: &Loaded, s: &Summary) -> String {
    let mut table = Table::default();
    table.row("history", name);
    table.row("format", format!("{}: {}", loaded.format.name, loaded.format.title));
    about_the_run(&mut table, &loaded.history);
    table.row("sessions", number(s.sessions));
    table.row("transactions", transactions(s));
    if s.statements != s.operations() {
        table.row("statements", number(s.statements));
    }
    table.row("operations", operations(s));
    table.row("keys", number(s.keys));
    table.row("initial state", initial(&loaded.history));
    table.row("writes", writes(s));
    table.row("duplicates", duplicates(&loaded.history, s));
    for line in evidence(s) {
        table.row("evidence", line);
    }
    for line in attributes(&loaded.history, s) {
        table.row("attributes", line);
    }
    if let Some((from, to)) = s.time_span {
        table.row("time span", span(&loaded.history, from, to));
    }
    if !loaded.history.meta().complete {
        table.row("incomplete", "not every transaction that ran is in it");
    }
    let bytes = loaded.history.heap_bytes();
    let each = bytes as f64 / s.operations().max(1) as f64;
    table.row("memory", format!("{} bytes ({each:.1} an operation)", number(bytes)));
    table.text
}

/// Names on the left, the same name not repeated.
#[derive(Default)]
struct Table {
    text: String,
    last: String,
}

impl Table {
    fn row(&mut self, name: &str, text: impl Display) {
        let shown = if self.last == name { "" } else { name };
        let _ = writeln!(self.text, "{shown:<14} {text}");
        name.clone_into(&mut self.last);
    }
}

fn about_the_run(table: &mut Table, history: &History) {
    for &(name, value) in &history.meta().info {
        let name = history.pool().as_text(name).map_or_else(|| show(history, name), str::to_owned);
        let value =
            history.pool().as_text(value).map_or_else(|| show(history, value), str::to_owned);
        table.row(&name, value);
    }
}

fn transactions(s: &Summary) -> String {
    let parts: Vec<String> = Outcome::ALL
        .iter()
        .filter(|o| s.outcomes[**o as usize] > 0)
        .map(|o| format!("{} {}", number(s.outcomes[*o as usize]), o.name()))
        .collect();
    with_parts(s.transactions(), &parts)
}

fn operations(s: &Summary) -> String {
    let parts: Vec<String> = OpKind::ALL
        .iter()
        .filter(|k| s.ops[**k as usize] > 0)
        .map(|k| format!("{} {}", number(s.ops[*k as usize]), k.title()))
        .collect();
    with_parts(s.operations(), &parts)
}

fn with_parts(total: usize, parts: &[String]) -> String {
    if parts.is_empty() {
        number(total)
    } else {
        format!("{} ({})", number(total), parts.join(", "))
    }
}

fn initial(history: &History) -> String {
    let initial = &history.meta().initial;
    let rest = match initial.default {
        None => "no first version: whatever is read must have been written".to_owned(),
        Some(value) => show(history, value),
    };
    match initial.given.len() {
        0 => format!("every key: {rest}"),
        n => format!("{} as listed, every other: {rest}", counted(n, "key")),
    }
}

fn writes(s: &Summary) -> String {
    match (s.writes, s.every_write_reads_first()) {
        (0, _) => "none".to_owned(),
        (n, true) if s.mini => {
            format!("{}, each a read-modify-write in a mini-transaction", number(n))
        }
        (n, true) => format!("{}, each a read-modify-write", number(n)),
        (n, false) => {
            format!("{}, of which {} read the key first", number(n), number(s.read_modify_writes))
        }
    }
}

fn duplicates(history: &History, s: &Summary) -> String {
    let Some((key, value)) = s.duplicate_example else {
        return "none: every value of a key was written once".to_owned();
    };
    let key = show(history, history.pool().key_name(key));
    let value = show(history, value);
    let count = number(s.duplicate_values);
    format!("{count} values were written to a key more than once, such as {value} to key {key}")
}

fn evidence(s: &Summary) -> Vec<String> {
    let e = &s.evidence;
    let of = number(s.transactions());
    let mut lines = vec!["values".to_owned()];
    if e.intervals + e.half_intervals > 0 {
        let half = match e.half_intervals {
            0 => String::new(),
            n => format!(", {} more with one end only", number(n)),
        };
        lines.push(format!("intervals of {} of {of} transactions{half}", number(e.intervals)));
    }
    if e.statement_intervals > 0 {
        let (some, all) = (number(e.statement_intervals), number(s.statements));
        lines.push(format!("intervals of {some} of {all} statements"));
    }
    let kind = if e.hybrid_timestamps > 0 { "hybrid" } else { "64-bit" };
    for (count, what) in [
        (e.timestamps, "start and commit timestamps"),
        (e.start_timestamps, "start timestamps alone"),
        (e.commit_timestamps, "commit timestamps alone"),
    ] {
        if count > 0 {
            lines.push(format!("{kind} {what} of {} of {of} transactions", number(count)));
        }
    }
    if e.snapshots > 0 {
        lines.push(counted(e.snapshots, "snapshot"));
    }
    if e.version_orders > 0 {
        lines.push(format!("the version order of {}", counted(e.version_orders, "key")));
    }
    if e.endings > 0 {
        lines.push(format!(
            "intervals of COMMIT or ROLLBACK of {} of {of} transactions",
            number(e.endings)
        ));
    }
    if e.server_ends > 0 {
        let some = counted(e.server_ends, "transaction");
        lines.push(format!("where the server itself ended {some}"));
    }
    if e.read_only > 0 {
        lines.push(format!("{} declared read-only", counted(e.read_only, "transaction")));
    }
    if e.locks > 0 {
        lines.push(format!("the lock that {} asked for", counted(e.locks, "statement")));
    }
    if e.events > 0 {
        lines.push(format!("{} on the time line", counted(e.events, "event")));
    }
    for (count, what) in [(e.heartbeats, "heartbeat"), (e.session_ends, "end")] {
        if count > 0 {
            lines.push(format!("{} of sessions on the time line", counted(count, what)));
        }
    }
    lines
}

/// "1 key", "2 keys".
fn counted(n: usize, thing: &str) -> String {
    format!("{} {thing}{}", number(n), if n == 1 { "" } else { "s" })
}

/// One line for each kind of thing that has attributes.
fn attributes(history: &History, s: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for entity in [Entity::Txn, Entity::Stmt, Entity::Op] {
        let of = s.evidence.attributes.iter().filter(|(e, _, _)| *e == entity);
        let mut names: Vec<String> =
            of.map(|&(_, name, n)| format!("{} ({})", show(history, name), number(n))).collect();
        names.sort();
        if !names.is_empty() {
            lines.push(format!("of {}s: {}", entity_name(entity), names.join(", ")));
        }
    }
    lines
}

fn span(history: &History, from: i64, to: i64) -> String {
    let length = to.abs_diff(from);
    match history.meta().clock {
        isolde_history::Clock::Events => format!("events {from} to {to}"),
        isolde_history::Clock::Nanoseconds => format!("{} ({from} to {to} ns)", duration(length)),
    }
}

/// A number of nanoseconds in the unit that suits it.
fn duration(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{:.1} µs", ns as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

// ---- JSON ----

fn as_json(name: &str, loaded: &Loaded, s: &Summary) -> serde_json::Value {
    let history = &loaded.history;
    let by_name = |names: &[&str], counts: &[usize]| {
        let pairs = names.iter().zip(counts).map(|(n, c)| ((*n).to_owned(), json!(c)));
        serde_json::Value::Object(pairs.collect::<Map<_, _>>())
    };
    let outcomes: Vec<&str> = Outcome::ALL.iter().map(|o| o.name()).collect();
    let kinds: Vec<&str> = OpKind::ALL.iter().map(|k| k.title()).collect();
    let meta = history.meta();
    let info: Map<String, serde_json::Value> = meta
        .info
        .iter()
        .map(|&(n, v)| {
            let name = history.pool().as_text(n).map_or_else(|| show(history, n), str::to_owned);
            (name, json!(show(history, v)))
        })
        .collect();
    let example = s.duplicate_example.map(|(k, v)| {
        json!({"key": show(history, history.pool().key_name(k)), "value": show(history, v)})
    });
    json!({
        "history": name,
        "format": loaded.format.name,
        "info": info,
        "complete": meta.complete,
        "clock": meta.clock.name(),
        "initial": {
            "default": meta.initial.default.map(|v| show(history, v)),
            "given": meta.initial.given.len(),
        },
        "sessions": s.sessions,
        "transactions": s.transactions(),
        "outcomes": by_name(&outcomes, &s.outcomes),
        "statements": s.statements,
        "operations": s.operations(),
        "operation_kinds": by_name(&kinds, &s.ops),
        "elements": s.elements,
        "keys": s.keys,
        "writes": s.writes,
        "read_modify_writes": s.read_modify_writes,
        "every_write_reads_first": s.every_write_reads_first(),
        "mini_transactions": s.mini,
        "duplicate_values": s.duplicate_values,
        "duplicate_example": example,
        "evidence": evidence_json(history, s),
        "time_span": s.time_span.map(|(from, to)| json!({"from": from, "to": to})),
        "heap_bytes": history.heap_bytes(),
        "warnings": loaded.warnings.kept.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "warning_count": loaded.warnings.count,
    })
}

fn evidence_json(history: &History, s: &Summary) -> serde_json::Value {
    let e = &s.evidence;
    let attribute = |&(entity, name, count): &(Entity, Value, usize)| {
        let name = history.pool().as_text(name).map_or_else(|| show(history, name), str::to_owned);
        json!({"of": entity_name(entity), "name": name, "count": count})
    };
    json!({
        "intervals": e.intervals,
        "half_intervals": e.half_intervals,
        "statement_intervals": e.statement_intervals,
        "timestamps": e.timestamps,
        "start_timestamps": e.start_timestamps,
        "commit_timestamps": e.commit_timestamps,
        "hybrid_timestamps": e.hybrid_timestamps,
        "snapshots": e.snapshots,
        "version_orders": e.version_orders,
        "endings": e.endings,
        "server_ends": e.server_ends,
        "read_only": e.read_only,
        "locks": e.locks,
        "events": e.events,
        "heartbeats": e.heartbeats,
        "session_ends": e.session_ends,
        "attributes": e.attributes.iter().map(attribute).collect::<Vec<_>>(),
    })
}
