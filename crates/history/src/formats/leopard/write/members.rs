//! Members of objects: names, times, rows of columns, and attributes under their own names.

use std::io::Write as _;

use crate::formats::leopard::words::{LOCKS, MEMBERS, READ_MODES, text_of_word};
use crate::formats::leopard::write::slice::show;
use crate::jsonl::value::{write_text, write_value};
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// The most members without a meaning that one object may have, and the most columns: what is read back.
const MAX_EXTRAS: usize = 64;
const MAX_COLUMNS: usize = 4096;
/// Members of an operation that hold any value.
const ANY_VALUE: [&str; 3] = ["predicateLock", "exception", "sql"];

/// A member that is a text.
pub(super) fn text(out: &mut Vec<u8>, name: &str, text: &str) {
    member(out, name);
    write_text(out, text);
}

/// A member that is a time.
pub(super) fn time(out: &mut Vec<u8>, name: &str, time: i64) {
    member(out, name);
    // Writing to memory cannot fail.
    let _ = write!(out, "{time}");
}

/// The name of a member that is not the first one, or is.
pub(super) fn member(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_text(out, name);
    out.push(b':');
}

/// Any value under a name.
pub(super) fn value(
    out: &mut Vec<u8>,
    pool: &Pool,
    name: &str,
    value: Value,
) -> Result<(), String> {
    if value == Value::ABSENT {
        return Err(format!("the attribute {name} without a value"));
    }
    member(out, name);
    write_value(out, pool, value).map_err(|error| error.to_string())
}

/// A name as text: of a session, a transaction, a table, a row.
pub(super) fn name(pool: &Pool, name: Value, whose: &str) -> Result<String, String> {
    text_of_word(pool, name).ok_or_else(|| {
        let shown = show(pool, name);
        format!("{whose} {shown}, which is no whole number, and no text that does not read as one")
    })
}

/// A row of columns.
pub(super) fn columns(out: &mut Vec<u8>, pool: &Pool, row: Value) -> Result<(), String> {
    let no_row = || format!("the value {}, which is no row of columns", show(pool, row));
    let Datum::Row(columns) = pool.datum(row) else { return Err(no_row()) };
    if columns.len() / 2 > MAX_COLUMNS {
        return Err(format!("a row with more than {MAX_COLUMNS} columns"));
    }
    out.push(b'{');
    let mut last = None;
    for (column, value) in columns.pairs() {
        // Columns are sorted, so that equal ones are neighbours.
        let different = last.replace(column) != Some(column);
        let name = pool.as_text(column).filter(|_| different).ok_or_else(no_row)?;
        member(out, name);
        match pool.datum(value) {
            Datum::Null => out.extend_from_slice(b"null"),
            Datum::Bool(truth) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
            _ => write_text(out, &self::name(pool, value, "the column value")?),
        }
    }
    out.push(b'}');
    Ok(())
}

/// Attributes under their own names, as members of an operation. Names that mean something are `taken`, unless they
/// are among those that `may` be there.
pub(super) fn attributes(
    out: &mut Vec<u8>,
    pool: &Pool,
    attrs: &[(Value, Value)],
    may: &[&str],
    taken: &[&str],
) -> Result<(), String> {
    let mut extras = 0;
    for &(name, value) in attrs {
        let Some(text) = pool.as_text(name) else {
            return Err(format!("the attribute {}, whose name is no text", show(pool, name)));
        };
        let known = may.contains(&text) && has_meaning(pool, text, value);
        if taken.contains(&text) && !known {
            return Err(format!("the attribute {text}, which is a member of its own"));
        }
        extras += usize::from(!known);
        if extras > MAX_EXTRAS {
            return Err(format!("more than {MAX_EXTRAS} attributes of one thing"));
        }
        self::value(out, pool, text, value)?;
    }
    Ok(())
}

/// Whether a member of an operation can have a value.
fn has_meaning(pool: &Pool, name: &str, value: Value) -> bool {
    let word = pool.as_text(value);
    match name {
        "traceLockMode" => LOCKS.iter().any(|lock| Some(lock.0) == word),
        "readMode" => READ_MODES.iter().any(|mode| Some(mode.0) == word),
        "operationID" | "isolationLevel" => word.is_some(),
        _ => ANY_VALUE.contains(&name) && word != Some(""),
    }
}

/// The names that no attribute of an operation may have.
pub(super) fn taken(of_history: &[&'static str]) -> Vec<&'static str> {
    MEMBERS.iter().chain(of_history).copied().collect()
}
