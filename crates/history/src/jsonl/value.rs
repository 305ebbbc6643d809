//! Values as JSON, the other way round from [`Json::value`](crate::text::Json::value).

use crate::error::SinkError;
use crate::pool::Pool;
use crate::text::json::MAX_DEPTH;
use crate::value::{Datum, Value, Values};

/// What is still to be written of a composite value.
enum Task {
    Value(Value),
    /// The name of a member.
    Name(Value),
    Comma,
    /// Between the pairs of a row.
    NextPair,
    /// Ends as many arrays and objects as it has brackets.
    Close(&'static str),
}

/// Writes a value.
#[inline]
pub(crate) fn write_value(out: &mut Vec<u8>, pool: &Pool, value: Value) -> Result<(), SinkError> {
    match value.as_int() {
        Some(i) => {
            write_int(out, i);
            Ok(())
        }
        None => write_other(out, pool, value),
    }
}

fn write_other(out: &mut Vec<u8>, pool: &Pool, value: Value) -> Result<(), SinkError> {
    let mut tasks = vec![Task::Value(value)];
    let mut depth = 0;
    while let Some(task) = tasks.pop() {
        match task {
            Task::Value(value) => match pool.datum(value) {
                Datum::List(parts) => {
                    depth += 1;
                    out.push(b'[');
                    tasks.push(Task::Close("]"));
                    push_list(&mut tasks, parts);
                }
                Datum::Row(parts) if is_plain(pool, parts) => {
                    depth += 1;
                    out.push(b'{');
                    tasks.push(Task::Close("}"));
                    push_columns(&mut tasks, parts);
                }
                Datum::Row(parts) => {
                    depth += 3;
                    out.extend_from_slice(b"{\"$row\":[[");
                    tasks.push(Task::Close("]]}"));
                    push_pairs(&mut tasks, parts);
                }
                scalar => write_scalar(out, scalar),
            },
            Task::Name(name) => {
                if let Some(name) = pool.as_text(name) {
                    write_text(out, name);
                }
                out.push(b':');
            }
            Task::Comma => out.push(b','),
            Task::NextPair => out.extend_from_slice(b"],["),
            Task::Close(brackets) => {
                depth -= brackets.len();
                out.extend_from_slice(brackets.as_bytes());
            }
        }
        if depth > MAX_DEPTH {
            return Err(SinkError::Refused(format!(
                "a value has lists and rows nested more than {MAX_DEPTH} deep"
            )));
        }
    }
    Ok(())
}

fn push_list(tasks: &mut Vec<Task>, parts: Values<'_>) {
    for (i, part) in parts.iter().rev().enumerate() {
        if i > 0 {
            tasks.push(Task::Comma);
        }
        tasks.push(Task::Value(part));
    }
}

fn push_columns(tasks: &mut Vec<Task>, parts: Values<'_>) {
    let start = tasks.len();
    for (i, (column, value)) in parts.pairs().enumerate() {
        if i > 0 {
            tasks.push(Task::Comma);
        }
        tasks.extend([Task::Name(column), Task::Value(value)]);
    }
    tasks[start..].reverse();
}

/// The pairs between the outermost brackets: `c,v],[c,v],[c,v`.
fn push_pairs(tasks: &mut Vec<Task>, parts: Values<'_>) {
    let start = tasks.len();
    for (i, (column, value)) in parts.pairs().enumerate() {
        if i > 0 {
            tasks.push(Task::NextPair);
        }
        tasks.extend([Task::Value(column), Task::Comma, Task::Value(value)]);
    }
    tasks[start..].reverse();
}

/// Whether a row can be a JSON object: its columns are different texts, and it does not look like
/// one of the `$` forms.
fn is_plain(pool: &Pool, parts: Values<'_>) -> bool {
    let mut last = None;
    parts.pairs().all(|(column, _)| {
        let name = pool.as_text(column);
        // Columns are sorted, so that equal ones are neighbours.
        let different = last.replace(column) != Some(column);
        name.is_some_and(|n| different && !(parts.len() == 2 && n.starts_with('$')))
    })
}

fn write_scalar(out: &mut Vec<u8>, datum: Datum<'_>) {
    match datum {
        Datum::Absent => out.extend_from_slice(b"null"),
        Datum::Null => out.extend_from_slice(b"{\"$\":\"null\"}"),
        Datum::Unobserved => out.extend_from_slice(b"{\"$\":\"unobserved\"}"),
        Datum::Bool(true) => out.extend_from_slice(b"true"),
        Datum::Bool(false) => out.extend_from_slice(b"false"),
        Datum::Int(i) => out.extend_from_slice(i.to_string().as_bytes()),
        Datum::Float(f) => write_float(out, f),
        Datum::Text(t) => write_text(out, t),
        Datum::Symbol(s) => {
            out.extend_from_slice(b"{\"$symbol\":");
            write_text(out, s);
            out.push(b'}');
        }
        Datum::Bytes(bytes) => {
            out.extend_from_slice(b"{\"$bytes\":\"");
            out.extend(
                bytes.iter().flat_map(|b| [HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]),
            );
            out.extend_from_slice(b"\"}");
        }
        // Never here: they are tasks.
        Datum::List(_) | Datum::Row(_) => {}
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The shortest digits that mean the same float, with a point or an exponent, so that it stays one.
fn write_float(out: &mut Vec<u8>, f: f64) {
    let text = if f.is_nan() {
        "{\"$float\":\"nan\"}".to_owned()
    } else if f.is_infinite() {
        format!("{{\"$float\":\"{f}\"}}")
    } else {
        format!("{f:?}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// Writes an integer.
#[inline]
pub(super) fn write_int(out: &mut Vec<u8>, i: i64) {
    if i < 0 {
        out.push(b'-');
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = i.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a text in quotes.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            plain @ (b'"' | b'\\') => out.extend([b'\\', plain]),
            control => {
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
