//! What happened when: the sessions of an exhibit side by side, row after row.

use isolde_history::{Clock, History, Timestamp, TxnId, names as attributes};
use isolde_spec::By;

use super::sources::Sources;
use super::{Basis, Link, Part, Row, Timeline, What, schedule};
use crate::names;
use crate::stamps;
use crate::wrap::shorten;

/// How long the name of an event may be.
const EVENT_LEN: usize = 60;

/// How long the name of a node may be.
const NODE_LEN: usize = 20;

/// How many operations that show nothing stand by themselves before they are folded into one row.
const UNFOLDED: usize = 2;
/// How many events of the whole system are shown.
const MOST_EVENTS: usize = 12;

/// The time line of some transactions: by the clients' clocks or the server's timestamps as far as they
/// are known, and in an order that explains what was read where it can be. What shows nothing is folded.
pub(super) fn of(
    history: &History,
    by: By,
    parts: &[Part],
    links: &[Link],
    sources: &Sources<'_>,
) -> Timeline {
    let clock = match (by, history.meta().clock) {
        (By::Timestamps, _) => Basis::Timestamps,
        (By::Values | By::Snapshots | By::Intervals, Clock::Events) => Basis::Events,
        (By::Values | By::Snapshots | By::Intervals, Clock::Nanoseconds) => Basis::Nanoseconds,
    };
    let (columns, column_of) = columns(parts, clock);
    let nodes = (0..columns.len()).map(|column| {
        let own = (0..parts.len()).filter(|at| column_of[*at] == column);
        node(history, own.map(|at| parts[at].txn))
    });
    let nodes: Vec<Option<String>> = nodes.collect();
    let lane = |(at, part)| lane(history, clock, part, at, column_of[at]);
    let lanes: Vec<Vec<Row>> = parts.iter().enumerate().map(lane).collect();
    let mut rows = schedule::merge(clock, parts, lanes, links, sources);
    match clock {
        Basis::Timestamps => add_contradictions(parts, &mut rows),
        _ => add_events(history, &mut rows),
    }
    let timed = rows.iter().any(|row| row.time.is_some());
    let basis = if timed { clock } else { Basis::Order };
    Timeline { basis, columns, nodes, rows }
}

/// The sessions, and in which of them each part is. A session in which transactions overlap by the server's
/// timestamps has a column for each of those.
fn columns(parts: &[Part], clock: Basis) -> (Vec<String>, Vec<usize>) {
    let mut columns: Vec<String> = Vec::new();
    let mut ends: Vec<Option<Timestamp>> = Vec::new();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| (parts[*at].span(clock).0, parts[*at].txn));
    let mut column_of = vec![0; parts.len()];
    for at in order {
        let session = &parts[at].session;
        let (begin, end) = parts[at].span(clock);
        let begin = begin.or(end);
        let free = |column: &usize| {
            columns[*column] == *session && (clock != Basis::Timestamps || ends[*column] <= begin)
        };
        let column = (0..columns.len()).find(free).unwrap_or_else(|| {
            columns.push(session.clone());
            ends.push(None);
            columns.len() - 1
        });
        ends[column] = ends[column].max(begin).max(end);
        column_of[at] = column;
    }
    (columns, column_of)
}

/// When a transaction ended, if that was not before it began.
fn end_of(part: &Part, clock: Basis) -> Option<Timestamp> {
    let (begin, end) = part.span(clock);
    end.filter(|end| clock != Basis::Timestamps || begin.is_none_or(|begin| begin <= *end))
}

/// Says where a transaction committed, by its timestamps, before it started: rows cannot show that.
fn add_contradictions(parts: &[Part], rows: &mut Vec<Row>) {
    for (at, part) in parts.iter().enumerate() {
        let (Some(commit), None) = (part.commit_ts, end_of(part, Basis::Timestamps)) else {
            continue;
        };
        let told = format!("{} says that it committed at {}", part.name, stamps::tell(commit));
        let is_end = |row: &Row| row.part == Some(at) && row.what == What::End;
        let end = rows.iter().position(is_end).map_or(rows.len(), |end| end + 1);
        rows.insert(end, Row { time: None, column: None, part: None, what: What::Event(told) });
    }
}

/// The node of the cluster on which transactions ran, if it was one and the same.
fn node(history: &History, txns: impl Iterator<Item = TxnId>) -> Option<String> {
    let node = |txn| {
        let value = history.txn(txn).attr(attributes::NODE)?;
        Some(match history.pool().as_text(value) {
            Some(text) => text.to_owned(),
            None => names::value(history, value),
        })
    };
    let mut nodes: Vec<String> = txns.filter_map(node).collect();
    nodes.dedup();
    match nodes.as_slice() {
        [node] => Some(shorten(node, NODE_LEN)),
        _ => None,
    }
}

/// What one transaction did, in its order.
fn lane(history: &History, clock: Basis, part: &Part, at: usize, column: usize) -> Vec<Row> {
    let row = |time, what| Row { time, column: Some(column), part: Some(at), what };
    let mut rows = vec![row(part.span(clock).0, What::Begin)];
    let times = answers(history, clock, part);
    let first = history.txn(part.txn).op_range().start;
    let (mut op, mut known) = (0, first);
    while op < part.ops.len() {
        // Operations of a transaction have consecutive numbers; those between were left out.
        let number = part.ops[op].op.index();
        if number > known {
            rows.push(row(None, What::LeftOut(number - known)));
        }
        let dull = dull_from(part, op);
        if dull > UNFOLDED {
            rows.push(row(None, What::Folded(op, dull)));
            op += dull;
        } else {
            rows.push(row(times[op], What::Op(op)));
            op += 1;
        }
        known = part.ops[op - 1].op.index() + 1;
    }
    let last = history.txn(part.txn).op_range().end;
    if last > known {
        rows.push(row(None, What::LeftOut(last - known)));
    }
    rows.push(row(end_of(part, clock), What::End));
    rows
}

/// How many operations from this one on show nothing and follow each other.
fn dull_from(part: &Part, op: usize) -> usize {
    let follows = |at: &usize| part.ops[*at].op.index() == part.ops[op].op.index() + (at - op);
    (op..part.ops.len()).take_while(|at| !part.ops[*at].cited && follows(at)).count()
}

/// When each operation was answered: the end of its statement. Where a transaction is one statement,
/// that says no more than its own end; and the server says nothing of single operations.
fn answers(history: &History, clock: Basis, part: &Part) -> Vec<Option<Timestamp>> {
    let txn = history.txn(part.txn);
    let mut times = vec![None; part.ops.len()];
    if txn.stmts().len() < 2 || clock == Basis::Timestamps {
        return times;
    }
    for stmt in txn.stmts() {
        let end = stmt.interval().end.map(Timestamp::plain);
        for op in stmt.ops() {
            if let Ok(at) = part.ops.binary_search_by_key(&op.id(), |op| op.op) {
                times[at] = end;
            }
        }
    }
    times
}

/// Puts what happened to the whole system meanwhile between the rows: whatever had not ended when the
/// first transaction began, and began before the last one ended.
fn add_events(history: &History, rows: &mut Vec<Row>) {
    let times = || rows.iter().filter_map(|row| Some(row.time?.physical));
    let Some((first, last)) = times().min().zip(times().max()) else { return };
    let mut marks: Vec<(i64, String)> = Vec::new();
    let mut more = 0;
    for event in history.faults() {
        let Some(begin) = event.begin.or(event.end) else { continue };
        let end = event.end.unwrap_or(begin);
        if begin > last || end < first {
            continue;
        }
        if marks.len() >= MOST_EVENTS {
            more += 1;
            continue;
        }
        let name = shorten(&names::value(history, event.name), EVENT_LEN);
        let lasts = end > begin;
        marks.push((begin, if lasts { format!("{name} begins") } else { name.clone() }));
        if lasts && end <= last {
            marks.push((end, format!("{name} ends")));
        }
    }
    if more > 0 {
        marks.push((last, format!("and {more} more events")));
    }
    marks.sort_by_key(|(time, _)| *time);
    for (time, name) in marks {
        let time = Some(Timestamp::plain(time));
        let at = rows.iter().position(|row| row.time > time).unwrap_or(rows.len());
        rows.insert(at, Row { time, column: None, part: None, what: What::Event(name) });
    }
}
