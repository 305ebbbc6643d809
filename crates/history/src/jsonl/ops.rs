//! Operations: `["r","x",1]`, `["cas!","x",1,2]`, `["r","x",1,{"path":"index"}]`.

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::ids::Key;
use crate::jsonl::attrs::{add_name, attributes};
use crate::jsonl::member::pair;
use crate::jsonl::scratch::Scratch;
use crate::op::{Effect, OpKind};
use crate::pool::Pool;
use crate::text::Json;
use crate::text::json::JsonKind;
use crate::value::Value;

/// An array of operations.
pub(super) fn read_all(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    json.begin_array()?;
    while json.next_item()? {
        read(json, pool, draft, scratch)?;
    }
    Ok(())
}

fn read(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let at = json.offset();
    json.begin_array().map_err(|_| Fault::expected(at, "an operation such as [\"r\",\"x\",1]"))?;
    need(json, "the kind of the operation")?;
    let (kind, effect) = kind(json)?;
    let open = match kind {
        OpKind::Read => read_of_key(json, pool, draft)?,
        OpKind::ListRead => list_read(json, pool, draft, scratch)?,
        OpKind::PredicateRead => predicate_read(json, pool, draft, scratch)?,
        OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release => {
            savepoint(kind, json, pool, draft)?
        }
        OpKind::Write | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent | OpKind::Delete => {
            write(kind, json, pool, draft)?
        }
    };
    draft.set_effect(effect);
    if open { rest(json, pool, draft, scratch) } else { Ok(()) }
}

/// The kind, and `!` or `?` behind it if it was not done or its effect is not known.
fn kind(json: &mut Json<'_>) -> Result<(OpKind, Effect), Fault> {
    let at = json.offset();
    let name = json.string("the kind of the operation in quotes")?;
    let (name, effect) = match name.as_bytes() {
        [name @ .., b'!'] => (name, Effect::Failed),
        [name @ .., b'?'] => (name, Effect::Unknown),
        name => (name, Effect::Done),
    };
    OpKind::from_name(name).map(|kind| (kind, effect)).ok_or_else(|| unknown_kind(at))
}

#[cold]
fn unknown_kind(at: usize) -> Fault {
    let names: Vec<&str> = OpKind::ALL.iter().map(|k| k.name()).collect();
    Fault::expected(at, "the kind of an operation").hint(format!(
        "{}; with ! if it failed, with ? if the outcome is unknown",
        names.join(", ")
    ))
}

/// Goes on to a part that must be there.
fn need(json: &mut Json<'_>, what: &str) -> Result<(), Fault> {
    let at = json.offset();
    if json.next_item()? { Ok(()) } else { Err(Fault::expected(at, what)) }
}

fn key(json: &mut Json<'_>, pool: &mut Pool) -> Result<Key, Fault> {
    need(json, "the key of the operation")?;
    name_of_key(json, pool)
}

/// A key, by the value that names it.
pub(super) fn name_of_key(json: &mut Json<'_>, pool: &mut Pool) -> Result<Key, Fault> {
    let at = json.offset();
    let name = json.value(pool)?;
    Ok(pool.key(Fault::check_name(at, "a key", name)?))
}

fn value(json: &mut Json<'_>, pool: &mut Pool, what: &str) -> Result<Value, Fault> {
    need(json, what)?;
    json.value(pool)
}

/// The functions below say whether the operation's array is still open.
fn read_of_key(json: &mut Json<'_>, pool: &mut Pool, draft: &mut TxnDraft) -> Result<bool, Fault> {
    let key = key(json, pool)?;
    let open = json.next_item()?;
    let value = if open { json.value(pool)? } else { Value::UNOBSERVED };
    draft.read(key, value);
    Ok(open)
}

fn write(
    kind: OpKind,
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
) -> Result<bool, Fault> {
    let key = key(json, pool)?;
    if kind == OpKind::Delete {
        draft.delete(key, Effect::Done);
    } else if kind == OpKind::Cas {
        let old = value(json, pool, "the value to compare with")?;
        let new = value(json, pool, "the value to set")?;
        draft.cas(key, old, new, Effect::Done);
    } else {
        let value = value(json, pool, "the value that was written")?;
        draft.op(kind, Effect::Done, key, value);
    }
    Ok(true)
}

fn list_read(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<bool, Fault> {
    let key = key(json, pool)?;
    let open = json.next_item()?;
    let at = json.offset();
    let observed = open && begin_result(json, pool, "the list that was read, in brackets")?;
    scratch.elements.clear();
    while observed && json.next_item()? {
        scratch.elements.push(json.value(pool)?);
    }
    let elements = observed.then_some(&scratch.elements[..]);
    draft.list_read(key, elements).map_err(|e| Fault::sink(at, &e))?;
    Ok(open)
}

fn predicate_read(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<bool, Fault> {
    let predicate = value(json, pool, "the predicate")?;
    let open = json.next_item()?;
    let at = json.offset();
    let observed = open && begin_result(json, pool, "the rows that were read, in brackets")?;
    scratch.rows.clear();
    while observed && json.next_item()? {
        let at = json.offset();
        let (key, value) = pair(json, pool, "a row [key,value]")?;
        let key = Fault::check_name(at, "a key", key)?;
        scratch.rows.push((pool.key(key), value));
    }
    let rows = observed.then_some(&scratch.rows[..]);
    draft.predicate_read(predicate, rows).map_err(|e| Fault::sink(at, &e))?;
    Ok(open)
}

/// Enters the array of a result; `false` if `{"$":"unobserved"}` stands in its place.
fn begin_result(json: &mut Json<'_>, pool: &mut Pool, what: &str) -> Result<bool, Fault> {
    let at = json.offset();
    let wrong = || {
        Fault::expected(at, what)
            .hint("[] if there was nothing; leave it out if the client never learned the result")
    };
    match json.peek()? {
        JsonKind::Array => json.begin_array().map(|()| true),
        JsonKind::Object if json.value(pool)? == Value::UNOBSERVED => Ok(false),
        _ => Err(wrong()),
    }
}

fn savepoint(
    kind: OpKind,
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
) -> Result<bool, Fault> {
    need(json, "the name of the savepoint")?;
    let at = json.offset();
    let name = json.value(pool)?;
    let known = match kind {
        OpKind::RollbackTo => draft.rollback_to(name),
        OpKind::Release => draft.release(name),
        _ => {
            draft.savepoint(name);
            true
        }
    };
    if known { Ok(true) } else { Err(no_savepoint(at)) }
}

#[cold]
fn no_savepoint(at: usize) -> Fault {
    Fault::expected(at, "the name of a savepoint that this transaction has")
        .hint("a release, and a rollback to an earlier one, forget the savepoints since")
}

/// The attributes and the end of an operation.
fn rest(
    json: &mut Json<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let end = "']' or an object of attributes";
    if !json.next_item()? {
        return Ok(());
    }
    if json.peek()? != JsonKind::Object {
        return Err(json.cursor.expected(end));
    }
    scratch.op_names.clear();
    attributes(json, pool, |at, name, value| {
        add_name(&mut scratch.op_names, at, name)?;
        draft.op_attr(name, value);
        Ok(())
    })?;
    let at = json.offset();
    if json.next_item()? { Err(Fault::expected(at, "']'")) } else { Ok(()) }
}
