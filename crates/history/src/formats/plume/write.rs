//! From a history to text. Everything is checked before the first line is written, so that a
//! history which does not fit leaves no half of a file behind.

use std::io::Write;

use hashbrown::HashSet;

use super::scan::ABORTED;
use crate::error::SinkError;
use crate::evidence::Outcome;
use crate::history::{History, Txn};
use crate::ids::Key;
use crate::meta::info;
use crate::notation::write_value;
use crate::op::{Effect, Op, OpKind};
use crate::value::Value;

/// Writes a history of reads and writes; whatever else there is, is refused by name.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    check_evidence(history)?;
    let initial = initial_value(history)?;
    check_transactions(history)?;
    for op in history.ops() {
        check_op(history, &op, initial)?;
    }
    let labels = labels_are_numbers(history);
    let mut line = Vec::new();
    for txn in history.txns() {
        let session = number(history, history.pool().session_name(txn.session())).unwrap_or(0);
        let number = match (txn.outcome(), labels) {
            (Outcome::Aborted, _) => ABORTED,
            (_, true) => txn.label().and_then(|label| number(history, label)).unwrap_or(0),
            (_, false) => i64::from(txn.id().0),
        };
        line.clear();
        for op in txn.ops() {
            write_line(history, &op, initial, (session, number), &mut line)?;
        }
        out.write_all(&line)?;
    }
    Ok(())
}

fn write_line(
    history: &History,
    op: &Op<'_>,
    initial: Option<Value>,
    (session, txn): (i64, i64),
    line: &mut Vec<u8>,
) -> Result<(), SinkError> {
    let letter = if op.kind() == OpKind::Write { 'w' } else { 'r' };
    let key = number(history, history.pool().key_name(op.key())).unwrap_or(0);
    let value = match op.value() {
        value if Some(value) == initial => 0,
        value => number(history, value).unwrap_or(0),
    };
    writeln!(line, "{letter}({key},{value},{session},{txn})")?;
    Ok(())
}

fn refused(what: impl std::fmt::Display) -> SinkError {
    SinkError::Refused(format!("plume cannot hold it: {what}"))
}

/// A value as people write it.
fn spelled(history: &History, value: Value) -> String {
    let mut text = String::new();
    write_value(history.pool(), value, &mut text);
    text
}

/// What every reader of the format takes.
const NUMBERS: &str = "numbers from 0 to 2^63 - 1";

/// The number that a value is, if every reader of the format takes it.
fn number(history: &History, value: Value) -> Option<i64> {
    let wide = history.pool().as_wide_int(value)?;
    i64::try_from(wide).ok().filter(|&n| n >= 0)
}

/// What the format has no place for, whatever transaction it belongs to.
fn check_evidence(history: &History) -> Result<(), SinkError> {
    let columns = history.columns();
    let there_is = [
        ("intervals of transactions", !columns.txn_begin.is_empty() || !columns.txn_end.is_empty()),
        ("intervals of statements", !columns.stmt_begin.is_empty() || !columns.stmt_end.is_empty()),
        ("start timestamps", !columns.start_ts.physical.is_empty()),
        ("commit timestamps", !columns.commit_ts.physical.is_empty()),
        ("events", !history.events().is_empty()),
        ("version orders", !history.version_orders().is_empty()),
    ];
    if let Some((what, _)) = there_is.into_iter().find(|&(_, there)| there) {
        return Err(refused(format_args!("{what} have no counterpart")));
    }
    if let Some(column) = columns.attrs.columns.iter().find(|column| !column.ids.is_empty()) {
        let name = history.pool().as_text(column.name).unwrap_or("?");
        return Err(refused(format_args!("the attribute '{name}' has no counterpart")));
    }
    // Reading the file sets this fact again.
    let known = |name: Value| history.pool().as_text(name) == Some(info::EXPLICIT_INITIAL);
    if let Some((name, _)) = history.meta().info.iter().find(|(name, _)| !known(*name)) {
        let name = spelled(history, *name);
        return Err(refused(format_args!("the fact {name} about the run has no counterpart")));
    }
    if !history.meta().complete {
        return Err(refused("that the history is incomplete cannot be said"));
    }
    Ok(())
}

/// The value that every key starts with, which the format spells 0. `None` if there is none and
/// a reader of the file cannot tell.
fn initial_value(history: &History) -> Result<Option<Value>, SinkError> {
    let initial = &history.meta().initial;
    let mut of_key = vec![initial.default; history.key_count()];
    for &(key, value) in &initial.given {
        if let Some(slot) = of_key.get_mut(key.index()) {
            *slot = Some(value);
        }
    }
    let Some(&first) = of_key.first() else { return Ok(initial.default) };
    if let Some(odd) = of_key.iter().position(|&value| value != first) {
        let name = spelled(history, history.pool().key_name(Key(odd as u32)));
        return Err(refused(format_args!(
            "keys that start with different values (key {name} is one) have no counterpart"
        )));
    }
    Ok(first)
}

fn check_transactions(history: &History) -> Result<(), SinkError> {
    for txn in history.txns() {
        check_transaction(history, &txn)?;
    }
    for session in 0..history.session_count() as u32 {
        let txns = history.session(crate::ids::SessionId(session));
        let aborted = |i: usize| history.txn(txns[i]).outcome() == Outcome::Aborted;
        if let Some(i) = (1..txns.len()).find(|&i| aborted(i) && aborted(i - 1)) {
            return Err(refused(format_args!(
                "two aborted transactions of a session in a row ({} and {}) cannot be told apart",
                txns[i - 1].0,
                txns[i].0
            )));
        }
    }
    Ok(())
}

fn check_transaction(history: &History, txn: &Txn<'_>) -> Result<(), SinkError> {
    let id = txn.id().0;
    if txn.outcome() == Outcome::Unknown {
        return Err(refused(format_args!(
            "transaction {id}, whose outcome is unknown, has no counterpart"
        )));
    }
    let session = history.pool().session_name(txn.session());
    if number(history, session).is_none() {
        let name = spelled(history, session);
        return Err(refused(format_args!(
            "session {name} has no counterpart: only {NUMBERS} can name one"
        )));
    }
    if txn.ops().len() == 0 {
        return Err(refused(format_args!("transaction {id} has no operation, and so no line")));
    }
    if let Some(stmt) = txn.stmts().find(|stmt| stmt.ops().len() != 1) {
        return Err(refused(format_args!(
            "statement {}, of {} operations, has no counterpart",
            stmt.id().0,
            stmt.ops().len()
        )));
    }
    Ok(())
}

fn check_op(history: &History, op: &Op<'_>, initial: Option<Value>) -> Result<(), SinkError> {
    let id = op.id().0;
    let title = op.kind().title();
    if !matches!(op.kind(), OpKind::Read | OpKind::Write) {
        return Err(refused(format_args!("operation {id} ({title}) has no counterpart")));
    }
    if op.effect() != Effect::Done || op.undone() {
        return Err(refused(format_args!(
            "operation {id} ({title}), which did not take effect, has no counterpart"
        )));
    }
    if number(history, history.pool().key_name(op.key())).is_none() {
        let key = spelled(history, history.pool().key_name(op.key()));
        return Err(refused(format_args!(
            "key {key} of operation {id} has no counterpart: only {NUMBERS} can name one"
        )));
    }
    check_value(history, op, initial)
}

fn check_value(history: &History, op: &Op<'_>, initial: Option<Value>) -> Result<(), SinkError> {
    const ZERO: Value = Value::from_u32(0);
    let id = op.id().0;
    let value = op.value();
    if value == Value::UNOBSERVED {
        return Err(refused(format_args!(
            "operation {id}, a read whose result is unknown, has no counterpart"
        )));
    }
    if Some(value) == initial {
        // A second writer of the initial value cannot be written, because 0 has only one.
        return if value == ZERO || op.kind() == OpKind::Read {
            Ok(())
        } else {
            Err(refused(format_args!(
                "operation {id} writes what every key starts with, which has no counterpart"
            )))
        };
    }
    if value == ZERO {
        return Err(refused(format_args!(
            "0, the value of operation {id}, would be what every key starts with"
        )));
    }
    if number(history, value).is_none() {
        return Err(refused(format_args!(
            "{}, the value of operation {id}, has no counterpart: only {NUMBERS} are values",
            spelled(history, value)
        )));
    }
    Ok(())
}

/// Whether the labels can serve as the numbers of the transactions; otherwise these are counted.
fn labels_are_numbers(history: &History) -> bool {
    let mut seen = HashSet::new();
    history.txns().filter(|txn| txn.outcome() != Outcome::Aborted).all(|txn| {
        let label = txn.label().and_then(|label| number(history, label));
        label.is_some_and(|label| seen.insert(label))
    })
}
