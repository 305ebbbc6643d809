//! Values as the notation writes them.

use std::fmt::Write;

use crate::error::Fault;
use crate::pool::Pool;
use crate::printable::is_treacherous;
use crate::text::cursor::Cursor;
use crate::text::json::{Json, MAX_DEPTH, unhex};
use crate::value::{Datum, Value};

/// Words that mean something else than themselves, and are therefore written in quotes as texts.
const RESERVED: [&str; 7] = ["absent", "null", "true", "false", "nan", "inf", "_"];

pub(super) fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/')
}

fn is_word(text: &str) -> bool {
    text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && text.bytes().all(is_word_byte)
        && !RESERVED.contains(&text)
}

/// Appends a value to a text.
pub fn write_value(pool: &Pool, value: Value, out: &mut String) {
    /// What is still to be written.
    enum Todo {
        Value(Value),
        Text(&'static str),
    }
    let mut todo = vec![Todo::Value(value)];
    while let Some(next) = todo.pop() {
        let value = match next {
            Todo::Text(text) => {
                out.push_str(text);
                continue;
            }
            Todo::Value(value) => value,
        };
        match pool.datum(value) {
            Datum::List(parts) => {
                out.push('[');
                todo.push(Todo::Text("]"));
                for (i, part) in parts.iter().rev().enumerate() {
                    if i > 0 {
                        todo.push(Todo::Text(","));
                    }
                    todo.push(Todo::Value(part));
                }
            }
            Datum::Row(row) => {
                out.push('{');
                todo.push(Todo::Text("}"));
                let mut columns: Vec<_> = row.pairs().collect();
                columns.reverse();
                for (i, (column, part)) in columns.into_iter().enumerate() {
                    if i > 0 {
                        todo.push(Todo::Text(","));
                    }
                    todo.push(Todo::Value(part));
                    todo.push(Todo::Text(":"));
                    todo.push(Todo::Value(column));
                }
            }
            scalar => write_scalar(scalar, out),
        }
    }
}

fn write_scalar(datum: Datum<'_>, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match datum {
        Datum::Absent => write!(out, "absent"),
        Datum::Null => write!(out, "null"),
        Datum::Unobserved => write!(out, "_"),
        Datum::Bool(b) => write!(out, "{b}"),
        Datum::Int(i) => write!(out, "{i}"),
        Datum::Float(f) if f.is_nan() => write!(out, "nan"),
        Datum::Float(f) if f.is_infinite() => write!(out, "{}inf", if f < 0.0 { "-" } else { "" }),
        Datum::Float(f) => write!(out, "{f:?}"),
        Datum::Text(t) if is_word(t) => write!(out, "{t}"),
        Datum::Text(t) => {
            write_quoted(t, out);
            Ok(())
        }
        Datum::Symbol(s) => {
            match s.strip_prefix(':').filter(|rest| is_word(rest)) {
                Some(_) => out.push_str(s),
                None => {
                    out.push(':');
                    write_quoted(s, out);
                }
            }
            Ok(())
        }
        Datum::Bytes(bytes) => {
            out.push_str("0x");
            bytes.iter().try_for_each(|b| write!(out, "{b:02x}"))
        }
        // Composite values are taken apart by the caller.
        Datum::List(_) | Datum::Row(_) => Ok(()),
    };
}

/// A text in quotes, with JSON's escapes.
fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_treacherous(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads a value.
pub(super) fn read_value(c: &mut Cursor<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    // Each open list or row: where its parts start, where it stands, its closing byte.
    let mut open: Vec<(usize, usize, u8)> = Vec::new();
    let mut parts: Vec<Value> = Vec::new();
    loop {
        c.skip_blanks();
        let at = c.pos;
        match c.peek() {
            Some(b'[') => open.push((parts.len(), at, b']')),
            Some(b'{') => open.push((parts.len(), at, b'}')),
            _ => parts.push(read_scalar(c, pool)?),
        }
        if matches!(open.last(), Some(&(_, opened, _)) if opened == at) {
            c.pos += 1;
            if open.len() > MAX_DEPTH {
                return Err(Fault::wrong(at, format!("values nest more than {MAX_DEPTH} deep")));
            }
        }
        if read_ends(c, pool, &mut open, &mut parts)? {
            return parts.pop().ok_or_else(|| Fault::expected(at, "a value"));
        }
    }
}

/// Closes what ends here. Whether the outermost value is complete; otherwise another part follows.
fn read_ends(
    c: &mut Cursor<'_>,
    pool: &mut Pool,
    open: &mut Vec<(usize, usize, u8)>,
    parts: &mut Vec<Value>,
) -> Result<bool, Fault> {
    loop {
        let Some(&(start, at, close)) = open.last() else { return Ok(true) };
        c.skip_blanks();
        let count = parts.len() - start;
        let is_row = close == b'}';
        if c.eat(close) && !(is_row && count % 2 == 1) {
            let value =
                if is_row { row(pool, &parts[start..], at)? } else { pool.list(&parts[start..]) };
            parts.truncate(start);
            parts.push(value);
            open.pop();
        } else if is_row && count % 2 == 1 {
            c.expect(b':', "':' and the column's value")?;
            return Ok(false);
        } else {
            if count > 0 {
                c.expect(b',', if is_row { "',' or '}'" } else { "',' or ']'" })?;
            }
            return Ok(false);
        }
    }
}

fn row(pool: &mut Pool, parts: &[Value], at: usize) -> Result<Value, Fault> {
    let columns: Vec<(Value, Value)> = parts.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    let mut names: Vec<Value> = columns.iter().map(|c| c.0).collect();
    names.sort_unstable();
    if names.windows(2).any(|w| w[0] == w[1]) {
        return Err(Fault::wrong(at, "the row names a column twice"));
    }
    Ok(pool.row(&columns))
}

fn read_scalar(c: &mut Cursor<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    match c.peek() {
        Some(b'"') => Ok(pool.text(&quoted(c)?)),
        Some(b':') => {
            let start = c.pos;
            c.pos += 1;
            if c.peek() == Some(b'"') {
                return Ok(pool.symbol(&quoted(c)?));
            }
            if c.take_while(is_word_byte).is_empty() {
                return Err(c.expected("a symbol's name after ':'"));
            }
            // Word bytes are ASCII.
            Ok(pool.symbol(&String::from_utf8_lossy(&c.bytes[start..c.pos])))
        }
        Some(b'-' | b'0'..=b'9') => number(c, pool),
        Some(b) if b.is_ascii_alphabetic() || b == b'_' => Ok(word(c, pool)),
        _ => Err(c.expected("a value")),
    }
}

fn quoted(c: &mut Cursor<'_>) -> Result<String, Fault> {
    let mut json = Json::new(c.bytes);
    json.cursor.pos = c.pos;
    let text = json.string("a text in quotes")?.into_owned();
    c.pos = json.cursor.pos;
    Ok(text)
}

fn word(c: &mut Cursor<'_>, pool: &mut Pool) -> Value {
    let word = c.take_while(is_word_byte);
    match word {
        b"absent" => Value::ABSENT,
        b"null" => Value::NULL,
        b"_" => Value::UNOBSERVED,
        b"true" => Value::TRUE,
        b"false" => Value::FALSE,
        b"nan" => pool.float(f64::NAN),
        b"inf" => pool.float(f64::INFINITY),
        _ => pool.text(&String::from_utf8_lossy(word)),
    }
}

fn number(c: &mut Cursor<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    let start = c.pos;
    if c.eat_all(b"-inf") {
        return Ok(pool.float(f64::NEG_INFINITY));
    }
    let token = c.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'));
    let text = String::from_utf8_lossy(token);
    if let Some(hex) = text.strip_prefix("0x") {
        let bytes =
            unhex(hex).ok_or_else(|| Fault::expected(start, "an even number of hex digits"))?;
        return Ok(pool.bytes(&bytes));
    }
    if let Ok(i) = text.parse::<i128>() {
        return Ok(pool.big(i));
    }
    let float = text.parse::<f64>().ok().filter(|f| f.is_finite() && !text.ends_with('.'));
    float.map(|f| pool.float(f)).ok_or_else(|| {
        Fault::expected(start, "a number")
            .hint("a text that starts with a digit is written in quotes")
    })
}
