//! A transaction's line, whatever its members and their order.

use crate::attributes::MAX_ATTRIBUTES;
use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::ids::{Key, SessionId};
use crate::jsonl::line::{LineKind, member, named_twice, once};
use crate::jsonl::odd::{Object, OddNames};
use crate::jsonl::{meta, ops, reserved};
use crate::lazy::NO_TIME;
use crate::pool::Pool;
use crate::text::Json;
use crate::text::json::Kind;
use crate::value::Value;

/// Buffers that every line uses again.
#[derive(Default)]
pub(super) struct Scratch {
    /// The names of the transaction's attributes so far.
    txn_names: Vec<Value>,
    /// The attributes of the statement that is being read.
    stmt_attrs: Vec<(Value, Value)>,
    /// The names of the operation's attributes so far.
    pub(super) op_names: Vec<Value>,
    pub(super) elements: Vec<Value>,
    pub(super) rows: Vec<(Key, Value)>,
    pub(super) odd: OddNames,
}

const SESSION: u32 = 0;
const OPS: u32 = 5;
const STMTS: u32 = 6;

/// Reads a transaction into the draft, from behind its opening brace. If a member shows that the
/// line is something else, stops there and says what.
pub(super) fn read(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<LineKind, Fault> {
    draft.reset(SessionId::default());
    scratch.txn_names.clear();
    let odd_before = scratch.odd.found.len();
    let mut seen = 0;
    while let Some((at, name)) = member(json)? {
        let Some(bit) = reserved::TRANSACTION.iter().position(|n| *n == name) else {
            let kind = LineKind::of_member(&name);
            if kind != LineKind::Transaction {
                scratch.odd.forget_since(odd_before);
                return Ok(kind);
            }
            let value = json.value(pool)?;
            let name = pool.text(&name);
            add_name(&mut scratch.txn_names, at, name)?;
            scratch.odd.check(Object::Transaction, at, name, pool);
            draft.attr(name, value);
            continue;
        };
        let bit = bit as u32;
        once(&mut seen, bit, at, &name)?;
        match bit {
            SESSION => {
                let at = json.offset();
                let name = json.value(pool)?;
                draft.session = pool.session(Fault::check_name(at, "a session", name)?);
            }
            1 => draft.label = Some(label(json, pool)?),
            2 => draft.outcome = outcome(json)?,
            3 => draft.interval = interval(json)?,
            4 => (draft.start, draft.commit) = timestamps(json)?,
            OPS => ops::read_all(json, pool, draft, scratch)?,
            STMTS => statements(json, pool, draft, scratch)?,
            _ => attributes(json, pool, |at, name, value| {
                add_name(&mut scratch.txn_names, at, name)?;
                draft.attr(name, value);
                Ok(())
            })?,
        }
        if seen & (1 << OPS) != 0 && seen & (1 << STMTS) != 0 {
            return Err(Fault::wrong(at, "the transaction has both \"ops\" and \"stmts\"")
                .hint("\"ops\" is short for statements of one operation each"));
        }
    }
    if seen & (1 << SESSION) == 0 {
        return Err(no_session());
    }
    if seen & (1 << OPS | 1 << STMTS) == 0 {
        return Err(no_operations());
    }
    Ok(LineKind::Transaction)
}

#[cold]
fn no_session() -> Fault {
    Fault::wrong(0, "the transaction has no \"session\"").hint(
        "\"session\" says which client ran it: its transactions are in the order of their lines",
    )
}

#[cold]
fn no_operations() -> Fault {
    Fault::wrong(0, "the transaction has neither \"ops\" nor \"stmts\"")
        .hint("an empty transaction has \"ops\":[]")
}

fn label(json: &mut Json<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    let at = json.offset();
    let label = json.value(pool)?;
    if label == Value::UNOBSERVED {
        return Err(Fault::expected(at, "the transaction's name")
            .hint("a transaction without a name has no member \"txn\""));
    }
    Ok(label)
}

fn outcome(json: &mut Json<'_>) -> Result<Outcome, Fault> {
    let what = "\"committed\", \"aborted\" or \"unknown\"";
    let at = json.offset();
    let name = json.string(what)?;
    Outcome::from_name(name.as_bytes()).ok_or_else(|| Fault::expected(at, what))
}

/// `[begin,end]`, with `null` for what is not known.
fn interval(json: &mut Json<'_>) -> Result<Interval, Fault> {
    let what = "an interval [begin,end]";
    let sides = two(json, what, |json| time(json, "a time or null"))?;
    let (begin, end) = sides.unwrap_or_default();
    Ok(Interval { begin, end })
}

/// `[start,commit]`, each a number, a pair of physical and logical part, or `null`.
fn timestamps(json: &mut Json<'_>) -> Result<(Option<Timestamp>, Option<Timestamp>), Fault> {
    two(json, "timestamps [start,commit]", timestamp).map(Option::unwrap_or_default)
}

fn timestamp(json: &mut Json<'_>) -> Result<Option<Timestamp>, Fault> {
    if json.peek()? != Kind::Array {
        let plain = time(json, "a timestamp, [physical,logical] or null")?;
        return Ok(plain.map(Timestamp::plain));
    }
    let mut first = true;
    let parts = two(json, "a timestamp [physical,logical]", |json| {
        let physical = std::mem::take(&mut first);
        if physical { known_time(json, "a number") } else { json.integer("a number") }
    })?;
    Ok(parts.map(|(physical, logical)| Timestamp { physical, logical }))
}

/// An array of exactly two; `None` for `null`.
fn two<T>(
    json: &mut Json<'_>,
    what: &str,
    mut part: impl FnMut(&mut Json<'_>) -> Result<T, Fault>,
) -> Result<Option<(T, T)>, Fault> {
    let at = json.offset();
    let wrong = || Fault::expected(at, what);
    if json.eat_null() {
        return Ok(None);
    }
    json.begin_array().map_err(|_| wrong())?;
    if !json.next_item()? {
        return Err(wrong());
    }
    let first = part(json)?;
    if !json.next_item()? {
        return Err(wrong());
    }
    let second = part(json)?;
    if json.next_item()? {
        return Err(wrong());
    }
    Ok(Some((first, second)))
}

fn time(json: &mut Json<'_>, what: &str) -> Result<Option<i64>, Fault> {
    if json.eat_null() { Ok(None) } else { known_time(json, what).map(Some) }
}

fn known_time(json: &mut Json<'_>, what: &str) -> Result<i64, Fault> {
    let at = json.offset();
    let time = json.integer(what)?;
    if time == NO_TIME {
        return Err(Fault::wrong(at, format!("{NO_TIME} is no time"))
            .hint("a time that is not known is null"));
    }
    Ok(time)
}

fn statements(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    json.begin_array()?;
    while json.next_item()? {
        statement(json, pool, draft, scratch)?;
    }
    Ok(())
}

/// `{"ops":[...],"interval":[5,9],"error":"40001"}`
fn statement(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let mut when = Interval::default();
    let mut seen = 0;
    scratch.stmt_attrs.clear();
    draft.begin_statement();
    json.begin_object()?;
    while let Some((at, name)) = member(json)? {
        let bit = reserved::STATEMENT.iter().position(|n| *n == name);
        if let Some(bit) = bit {
            once(&mut seen, bit as u32, at, &name)?;
        }
        match bit {
            Some(0) => ops::read_all(json, pool, draft, scratch)?,
            Some(1) => when = interval(json)?,
            Some(_) => attributes(json, pool, |at, name, value| {
                add_pair(&mut scratch.stmt_attrs, at, name, value)
            })?,
            None => {
                let value = json.value(pool)?;
                let name = pool.text(&name);
                add_pair(&mut scratch.stmt_attrs, at, name, value)?;
                scratch.odd.check(Object::Statement, at, name, pool);
            }
        }
    }
    draft.end_statement();
    // Only now the draft has a statement to give these to.
    draft.statement_interval(when);
    for (name, value) in scratch.stmt_attrs.drain(..) {
        draft.stmt_attr(name, value);
    }
    Ok(())
}

/// An attribute object: names and values, with what JSON cannot name under `"$row"` in pairs.
pub(super) fn attributes(
    json: &mut Json<'_>,
    pool: &mut Pool,
    mut add: impl FnMut(usize, Value, Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut pairs_seen = false;
    json.begin_object()?;
    while let Some((at, name)) = member(json)? {
        if name != reserved::PAIRS {
            let value = json.value(pool)?;
            add(at, pool.text(&name), value)?;
            continue;
        }
        if std::mem::replace(&mut pairs_seen, true) {
            return Err(named_twice(at, &name));
        }
        json.begin_array()?;
        while json.next_item()? {
            let at = json.offset();
            let (name, value) = meta::pair(json, pool, "a pair of name and value")?;
            add(at, name, value)?;
        }
    }
    Ok(())
}

/// Notes the name of an attribute. A search among few: more than a history may have are refused
/// at once, so that a line of endless names is not searched again and again.
pub(super) fn add_name(names: &mut Vec<Value>, at: usize, name: Value) -> Result<(), Fault> {
    check_new(names.len(), names.contains(&name), at)?;
    names.push(name);
    Ok(())
}

fn add_pair(
    pairs: &mut Vec<(Value, Value)>,
    at: usize,
    name: Value,
    value: Value,
) -> Result<(), Fault> {
    check_new(pairs.len(), pairs.iter().any(|(n, _)| *n == name), at)?;
    pairs.push((name, value));
    Ok(())
}

fn check_new(count: usize, twice: bool, at: usize) -> Result<(), Fault> {
    if twice {
        return Err(Fault::wrong(at, "the attribute is given twice"));
    }
    if count >= MAX_ATTRIBUTES {
        let limit = format!("more than {MAX_ATTRIBUTES} attributes, which is the limit");
        return Err(Fault::wrong(at, limit));
    }
    Ok(())
}
