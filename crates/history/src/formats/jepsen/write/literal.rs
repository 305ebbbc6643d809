//! Values as EDN.

use crate::error::SinkError;
use crate::formats::jepsen::keys::LABEL_KEY;
use crate::formats::jepsen::keys::is_common_key;
use crate::formats::jepsen::write::refusal::refused;
use crate::history::History;
use crate::ids::TxnId;
use crate::pool::Pool;
use crate::text::Edn;
use crate::text::edn::EdnKind;
use crate::value::{Datum, Value, Values};

/// What is still to be written of a value.
enum Piece {
    Value(Value),
    Text(&'static str),
}

/// Appends a value, on a stack of our own.
pub(super) fn literal(pool: &Pool, value: Value, out: &mut String) -> Result<(), SinkError> {
    if let Some(i) = value.as_int() {
        *out += &i.to_string();
        return Ok(());
    }
    let mut todo = vec![Piece::Value(value)];
    while let Some(piece) = todo.pop() {
        match piece {
            Piece::Text(text) => *out += text,
            Piece::Value(value) => match pool.datum(value) {
                Datum::List(parts) => push_parts(&mut todo, ["[", "]"], parts),
                Datum::Row(parts) => push_parts(&mut todo, ["{", "}"], parts),
                scalar => write_scalar(scalar, out)?,
            },
        }
    }
    Ok(())
}

fn push_parts(todo: &mut Vec<Piece>, brackets: [&'static str; 2], parts: Values<'_>) {
    todo.push(Piece::Text(brackets[1]));
    let mut separator = "";
    for part in parts.iter().rev() {
        todo.push(Piece::Text(separator));
        todo.push(Piece::Value(part));
        separator = " ";
    }
    todo.push(Piece::Text(brackets[0]));
}

fn write_scalar(datum: Datum<'_>, out: &mut String) -> Result<(), SinkError> {
    match datum {
        Datum::Absent => *out += "nil",
        Datum::Bool(b) => *out += if b { "true" } else { "false" },
        Datum::Int(i) => *out += &i.to_string(),
        Datum::Float(f) if f.is_nan() => *out += "##NaN",
        Datum::Float(f) if f.is_infinite() => *out += if f > 0.0 { "##Inf" } else { "##-Inf" },
        Datum::Float(f) => *out += &format!("{f:?}"),
        Datum::Text(text) => write_text(text, out),
        Datum::Symbol(source) if reads_as_symbol(source) => *out += source,
        Datum::Symbol(source) => return refused(format!("the symbol {source:?}")),
        Datum::Null => return refused("the value NULL"),
        Datum::Unobserved => return refused("a value that was never learned"),
        Datum::Bytes(_) => return refused("a value of bytes"),
        Datum::List(_) | Datum::Row(_) => {}
    }
    Ok(())
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => *out += "\\n",
            '\r' => *out += "\\r",
            '\t' => *out += "\\t",
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a symbol's text means that symbol when it is read again.
fn reads_as_symbol(source: &str) -> bool {
    let mut edn = Edn::new(source.as_bytes());
    let kind = edn.clone().peek();
    let whole = edn.verbatim().is_ok_and(|text| text == source);
    match kind {
        Ok(EdnKind::Word | EdnKind::Set | EdnKind::Tagged) => whole,
        Ok(EdnKind::Number) => whole && (source.contains('/') || source.len() > 30),
        _ => false,
    }
}

/// Whether an attribute's name can be a keyword that is none of Jepsen's own.
pub(super) fn is_key_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./*+!?".contains(&b);
    !name.is_empty() && name.bytes().all(plain) && !is_common_key(name) && name != LABEL_KEY
}

/// A transaction in a complaint, by its label if that can be written.
pub(super) fn describe(history: &History, txn: TxnId) -> String {
    let txn = history.txn(txn);
    let mut text = String::from("transaction ");
    match txn.label() {
        Some(label) if literal(history.pool(), label, &mut text).is_ok() => text,
        _ => format!("transaction number {}", txn.id().0),
    }
}
