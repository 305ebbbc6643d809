//! A transaction's line, whatever its members and their order.

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::ids::SessionId;
use crate::jsonl::attrs::{add_name, add_pair, attributes};
use crate::jsonl::member::{LineKind, member, once, two};
use crate::jsonl::odd::Object;
use crate::jsonl::scratch::Scratch;
use crate::jsonl::{ops, reserved};
use crate::lazy::NO_TIME;
use crate::pool::Pool;
use crate::text::Json;
use crate::text::json::JsonKind;
use crate::value::Value;

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
    if json.eat_null() {
        return Ok(Interval::default());
    }
    let what = "an interval [begin,end]";
    let (begin, end) = two(json, what, |json| time(json, "a time or null"))?;
    Ok(Interval { begin, end })
}

/// `[start,commit]`, each a number, a pair of physical and logical part, or `null`.
fn timestamps(json: &mut Json<'_>) -> Result<(Option<Timestamp>, Option<Timestamp>), Fault> {
    if json.eat_null() {
        return Ok((None, None));
    }
    two(json, "timestamps [start,commit]", timestamp)
}

pub(super) fn timestamp(json: &mut Json<'_>) -> Result<Option<Timestamp>, Fault> {
    if json.peek()? != JsonKind::Array {
        let plain = time(json, "a timestamp, [physical,logical] or null")?;
        return Ok(plain.map(Timestamp::plain));
    }
    let mut first = true;
    let (physical, logical) = two(json, "a timestamp [physical,logical]", |json| {
        let physical = std::mem::take(&mut first);
        if physical { known_time(json, "a number") } else { json.integer("a number") }
    })?;
    Ok(Some(Timestamp { physical, logical }))
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
