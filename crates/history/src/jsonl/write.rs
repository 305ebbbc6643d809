//! Writing, in the one shape that the fast reader knows.

use std::cmp::Reverse;
use std::io::Write;

use crate::attributes::Entity;
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::history::History;
use crate::ids::Key;
use crate::jsonl::reserved;
use crate::jsonl::value::{write_int, write_text, write_value};
use crate::lazy::NO_TIME;
use crate::meta::{Event, InitialState, Meta};
use crate::op::{Effect, Op, OpKind};
use crate::pool::Pool;
use crate::session_event::around_transactions;
use crate::stream_promise::StreamPromise;
use crate::value::Value;

/// How much is gathered before it is written.
const BUFFER: usize = 64 * 1024;

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    let pool = history.pool();
    let mut lines = Vec::with_capacity(2 * BUFFER);
    header(&mut lines, pool, history.meta())?;
    let (first, last) = around_transactions(pool, history.events());
    for e in first {
        event(&mut lines, pool, e)?;
    }
    let mut draft = TxnDraft::default();
    let mut writer = TxnWriter::default();
    for txn in 0..history.txn_count() {
        history.columns().draft(txn, &mut draft)?;
        writer.line(&mut lines, pool, &draft)?;
        if lines.len() >= BUFFER {
            out.write_all(&lines)?;
            lines.clear();
        }
    }
    for e in last {
        event(&mut lines, pool, e)?;
    }
    for (key, versions) in history.version_orders() {
        order(&mut lines, pool, *key, versions)?;
    }
    out.write_all(&lines)?;
    Ok(out.flush()?)
}

/// The first line.
pub(super) fn header(out: &mut Vec<u8>, pool: &Pool, about: &Meta) -> Result<(), SinkError> {
    out.extend_from_slice(b"{\"isolde\":");
    write_int(out, reserved::VERSION);
    facts(out, pool, &about.info)?;
    out.extend_from_slice(b",\"clock\":");
    write_text(out, about.clock.name());
    out.extend_from_slice(if about.complete {
        b",\"complete\":true"
    } else {
        b",\"complete\":false"
    });
    out.extend_from_slice(b",\"initial\":");
    initial(out, pool, &about.initial)?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// The last line, which says what has become different since the header; nothing if nothing has.
pub(super) fn trailer(
    out: &mut Vec<u8>,
    pool: &Pool,
    before: &Meta,
    after: &Meta,
) -> Result<(), SinkError> {
    if before == after {
        return Ok(());
    }
    let has = |info: &[(Value, Value)], name: Value| info.iter().any(|(n, _)| *n == name);
    if before.info.iter().any(|(name, _)| !has(&after.info, *name)) {
        return Err(SinkError::Refused(
            "a fact about the run was taken back after the header was written".to_owned(),
        ));
    }
    let new: Vec<_> = after.info.iter().filter(|i| !before.info.contains(i)).copied().collect();
    let start = out.len();
    facts(out, pool, &new)?;
    if before.clock != after.clock {
        out.extend_from_slice(b",\"clock\":");
        write_text(out, after.clock.name());
    }
    if before.complete != after.complete {
        out.extend_from_slice(b",\"complete\":");
        out.extend_from_slice(after.complete.to_string().as_bytes());
    }
    if before.initial != after.initial {
        out.extend_from_slice(b",\"initial\":");
        initial(out, pool, &after.initial)?;
    }
    // Every part above starts with a comma; the first has nothing before it.
    if out.len() > start {
        out.splice(start..=start, *b"{\"meta\":{");
        out.extend_from_slice(b"}}\n");
    }
    Ok(())
}

/// Facts about the run as members, each after a comma; what cannot be one under `info`.
fn facts(out: &mut Vec<u8>, pool: &Pool, info: &[(Value, Value)]) -> Result<(), SinkError> {
    let taken = |name: &&str| reserved::LINE.contains(name) || reserved::HEADER.contains(name);
    let plain = |name: Value| pool.as_text(name).filter(|n| !taken(n));
    members(out, pool, info.iter().copied(), plain)?;
    let others = info.iter().copied().filter(|(name, _)| plain(*name).is_none());
    attribute_object(out, pool, ",\"info\":", others)
}

fn initial(out: &mut Vec<u8>, pool: &Pool, initial: &InitialState) -> Result<(), SinkError> {
    out.push(b'{');
    if let Some(default) = initial.default {
        out.extend_from_slice(b"\"default\":");
        write_value(out, pool, default)?;
    }
    if !initial.given.is_empty() {
        if initial.default.is_some() {
            out.push(b',');
        }
        out.extend_from_slice(b"\"keys\":[");
        separated(out, initial.given.iter(), |out, &(k, v)| {
            out.push(b'[');
            key(out, pool, k)?;
            out.push(b',');
            write_value(out, pool, v)?;
            out.push(b']');
            Ok(())
        })?;
        out.push(b']');
    }
    out.push(b'}');
    Ok(())
}

pub(super) fn event(out: &mut Vec<u8>, pool: &Pool, event: &Event) -> Result<(), SinkError> {
    if let Some(promised) = StreamPromise::of(pool, event) {
        return promise(out, pool, &promised);
    }
    out.extend_from_slice(b"{\"event\":");
    write_value(out, pool, event.name)?;
    for (name, time) in [(&b",\"begin\":"[..], event.begin), (b",\"end\":", event.end)] {
        if let Some(time) = time {
            out.extend_from_slice(name);
            write_int(out, time);
        }
    }
    if event.detail != Value::ABSENT {
        out.extend_from_slice(b",\"detail\":");
        write_value(out, pool, event.detail)?;
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

fn promise(out: &mut Vec<u8>, pool: &Pool, promise: &StreamPromise) -> Result<(), SinkError> {
    let start = out.len();
    if let Some(watermark) = promise.watermark {
        out.extend_from_slice(b",\"watermark\":");
        timestamp(out, watermark);
    }
    if promise.end && promise.watermark.is_none() {
        out.extend_from_slice(b",\"end\":true");
    }
    if let Some(session) = promise.session.filter(|session| *session != Value::UNOBSERVED) {
        out.extend_from_slice(b",\"session\":");
        write_value(out, pool, session)?;
    }
    if promise.end && promise.watermark.is_some() {
        out.extend_from_slice(b",\"end\":true");
    }
    // The first member came after a comma, whose place the brace takes.
    out[start] = b'{';
    out.extend_from_slice(b"}\n");
    Ok(())
}

pub(super) fn order(
    out: &mut Vec<u8>,
    pool: &Pool,
    of: Key,
    versions: &[Value],
) -> Result<(), SinkError> {
    out.extend_from_slice(b"{\"order\":");
    key(out, pool, of)?;
    out.extend_from_slice(b",\"versions\":[");
    separated(out, versions.iter(), |out, &v| write_value(out, pool, v))?;
    out.extend_from_slice(b"]}\n");
    Ok(())
}

/// Writes transactions, with scratch that they share.
#[derive(Default)]
pub(super) struct TxnWriter {
    /// The draft's attributes in the order in which they are written.
    attrs: Vec<(Entity, u32, Value, Value)>,
    /// For checking what rollbacks undo.
    savepoints: TxnDraft,
}

impl TxnWriter {
    /// One transaction and the end of its line.
    pub(super) fn line(
        &mut self,
        out: &mut Vec<u8>,
        pool: &Pool,
        txn: &TxnDraft,
    ) -> Result<(), SinkError> {
        self.check_undone(txn)?;
        self.gather_attributes(txn);
        out.extend_from_slice(b"{\"session\":");
        let session = pool.session_names().get(txn.session.index());
        write_value(out, pool, session.copied().ok_or_else(|| unknown("session"))?)?;
        // The model's own word for "no label".
        if let Some(label) = txn.label.filter(|l| *l != Value::UNOBSERVED) {
            out.extend_from_slice(b",\"txn\":");
            write_value(out, pool, label)?;
        }
        if txn.outcome != Outcome::Committed {
            out.extend_from_slice(b",\"outcome\":");
            write_text(out, txn.outcome.name());
        }
        interval(out, b",\"interval\":", txn.interval);
        timestamps(out, txn);
        let mut attrs = &self.attrs[..];
        named(out, pool, take(&mut attrs, Entity::Txn, 0), reserved::LINE)?;
        let plain = txn.stmt_intervals.is_empty()
            && attrs.first().is_none_or(|a| a.0 != Entity::Stmt)
            && txn.stmt_ends.len() == txn.codes.len()
            && txn.stmt_ends.iter().enumerate().all(|(i, &end)| end as usize == i + 1);
        if plain {
            out.extend_from_slice(b",\"ops\":[");
            operations(out, pool, txn, 0..txn.codes.len(), &mut attrs)?;
        } else {
            out.extend_from_slice(b",\"stmts\":[");
            statements(out, pool, txn, attrs)?;
        }
        out.extend_from_slice(b"]}\n");
        Ok(())
    }

    /// Sorts the attributes by what they belong to; of those set twice, the last counts.
    fn gather_attributes(&mut self, txn: &TxnDraft) {
        self.attrs.clear();
        if txn.attrs.is_empty() {
            return;
        }
        self.attrs.extend(txn.attrs.iter().rev());
        self.attrs.sort_by_key(|a| Reverse((a.0, a.1)));
        let mut names: Vec<(Entity, u32, Value)> = Vec::new();
        self.attrs.retain(|&(entity, id, name, _)| {
            if names.last().is_some_and(|n| (n.0, n.1) != (entity, id)) {
                names.clear();
            }
            let new = !names.contains(&(entity, id, name));
            if new {
                names.push((entity, id, name));
            }
            new
        });
        self.attrs.reverse();
    }

    /// The format does not say which operations are undone, but which savepoints were rolled back to:
    /// that must come to the same.
    fn check_undone(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        let matters = |kind: OpKind| kind as u8 >= OpKind::Savepoint as u8;
        if !txn.codes.iter().any(|c| c.undone() || matters(c.kind())) {
            return Ok(());
        }
        self.savepoints.clear_ops();
        let mut sound = true;
        for (code, &word) in txn.codes.iter().zip(&txn.payloads) {
            let name = Value::from_trusted_bits(word);
            sound &= match code.kind() {
                OpKind::RollbackTo => self.savepoints.rollback_to(name),
                OpKind::Release => self.savepoints.release(name),
                kind => {
                    if kind == OpKind::Savepoint {
                        self.savepoints.savepoint(name);
                    } else {
                        self.savepoints.read(Key::NONE, Value::UNOBSERVED);
                    }
                    true
                }
            };
        }
        let undone = |txn: &TxnDraft| txn.codes.iter().map(|c| c.undone()).collect::<Vec<_>>();
        if sound && undone(&self.savepoints) == undone(txn) {
            return Ok(());
        }
        Err(SinkError::Refused(
            "a transaction's undone operations do not follow from its savepoints".to_owned(),
        ))
    }
}

fn unknown(what: &str) -> SinkError {
    SinkError::Refused(format!("a {what} has no name"))
}

fn key(out: &mut Vec<u8>, pool: &Pool, key: Key) -> Result<(), SinkError> {
    let name = pool.key_names().get(key.index());
    write_value(out, pool, name.copied().ok_or_else(|| unknown("key"))?)
}

fn separated<T>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T) -> Result<(), SinkError>,
) -> Result<(), SinkError> {
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, item)?;
    }
    Ok(())
}

fn interval(out: &mut Vec<u8>, name: &[u8], interval: Interval) {
    let known = |t: Option<i64>| t.filter(|t| *t != NO_TIME);
    let (begin, end) = (known(interval.begin), known(interval.end));
    if begin.is_none() && end.is_none() {
        return;
    }
    out.extend_from_slice(name);
    out.push(b'[');
    optional(out, begin, write_int);
    out.push(b',');
    optional(out, end, write_int);
    out.push(b']');
}

fn timestamps(out: &mut Vec<u8>, txn: &TxnDraft) {
    let known = |t: Option<Timestamp>| t.filter(|t| t.physical != NO_TIME);
    let (start, commit) = (known(txn.start), known(txn.commit));
    if start.is_none() && commit.is_none() {
        return;
    }
    out.extend_from_slice(b",\"ts\":[");
    optional(out, start, timestamp);
    out.push(b',');
    optional(out, commit, timestamp);
    out.push(b']');
}

pub(super) fn timestamp(out: &mut Vec<u8>, ts: Timestamp) {
    if ts.logical == 0 {
        return write_int(out, ts.physical);
    }
    out.push(b'[');
    write_int(out, ts.physical);
    out.push(b',');
    write_int(out, ts.logical);
    out.push(b']');
}

fn optional<T>(out: &mut Vec<u8>, value: Option<T>, write: impl Fn(&mut Vec<u8>, T)) {
    match value {
        Some(value) => write(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

type Attrs<'a> = &'a [(Entity, u32, Value, Value)];

/// Takes the attributes of one entity off the front.
fn take<'a>(attrs: &mut Attrs<'a>, entity: Entity, id: u32) -> Attrs<'a> {
    let len = attrs.iter().take_while(|a| (a.0, a.1) == (entity, id)).count();
    let (taken, rest) = attrs.split_at(len);
    *attrs = rest;
    taken
}

/// Attributes as members, each after a comma; what cannot be one under `attrs`.
fn named(
    out: &mut Vec<u8>,
    pool: &Pool,
    attrs: Attrs<'_>,
    reserved: &[&str],
) -> Result<(), SinkError> {
    if attrs.is_empty() {
        return Ok(());
    }
    let plain = |name: Value| pool.as_text(name).filter(|n| !reserved.contains(n));
    let pairs = || attrs.iter().map(|a| (a.2, a.3));
    members(out, pool, pairs(), plain)?;
    attribute_object(out, pool, ",\"attrs\":", pairs().filter(|(name, _)| plain(*name).is_none()))
}

fn members<'p>(
    out: &mut Vec<u8>,
    pool: &'p Pool,
    pairs: impl Iterator<Item = (Value, Value)>,
    plain: impl Fn(Value) -> Option<&'p str>,
) -> Result<(), SinkError> {
    for (name, value) in pairs {
        if let Some(name) = plain(name) {
            out.push(b',');
            write_text(out, name);
            out.push(b':');
            write_value(out, pool, value)?;
        }
    }
    Ok(())
}

/// An attribute object after `before`; nothing at all if there are no attributes.
fn attribute_object(
    out: &mut Vec<u8>,
    pool: &Pool,
    before: &str,
    pairs: impl Iterator<Item = (Value, Value)>,
) -> Result<(), SinkError> {
    let text = |name: Value| pool.as_text(name).filter(|n| *n != reserved::PAIRS);
    let (plain, others): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| text(*name).is_some());
    if plain.is_empty() && others.is_empty() {
        return Ok(());
    }
    out.extend_from_slice(before.as_bytes());
    let start = out.len();
    members(out, pool, plain.into_iter(), text)?;
    if !others.is_empty() {
        out.extend_from_slice(b",\"$row\":[");
        separated(out, others.into_iter(), |out, (name, value)| {
            out.push(b'[');
            write_value(out, pool, name)?;
            out.push(b',');
            write_value(out, pool, value)?;
            out.push(b']');
            Ok(())
        })?;
        out.push(b']');
    }
    // The first member came after a comma, whose place the brace takes.
    out[start] = b'{';
    out.push(b'}');
    Ok(())
}

fn statements(
    out: &mut Vec<u8>,
    pool: &Pool,
    txn: &TxnDraft,
    attrs: Attrs<'_>,
) -> Result<(), SinkError> {
    let first_op = attrs.partition_point(|a| a.0 != Entity::Op);
    let (mut stmt_attrs, mut op_attrs) = attrs.split_at(first_op);
    let mut intervals = txn.stmt_intervals.iter().peekable();
    let mut from = 0;
    separated(out, txn.stmt_ends.iter().enumerate(), |out, (i, &end)| {
        out.extend_from_slice(b"{\"ops\":[");
        operations(out, pool, txn, from..end as usize, &mut op_attrs)?;
        from = end as usize;
        out.push(b']');
        if let Some((_, when)) = intervals.next_if(|(stmt, _)| *stmt as usize == i) {
            interval(out, b",\"interval\":", *when);
        }
        named(out, pool, take(&mut stmt_attrs, Entity::Stmt, i as u32), reserved::STATEMENT)?;
        out.push(b'}');
        Ok(())
    })
}

fn operations(
    out: &mut Vec<u8>,
    pool: &Pool,
    txn: &TxnDraft,
    range: std::ops::Range<usize>,
    attrs: &mut Attrs<'_>,
) -> Result<(), SinkError> {
    separated(out, txn.ops_in(range), |out, op| {
        operation(out, pool, &op, take(attrs, Entity::Op, op.id().0))
    })
}

fn operation(
    out: &mut Vec<u8>,
    pool: &Pool,
    op: &Op<'_>,
    attrs: Attrs<'_>,
) -> Result<(), SinkError> {
    out.extend_from_slice(b"[\"");
    out.extend_from_slice(op.kind().name().as_bytes());
    match op.effect() {
        Effect::Done => {}
        Effect::Failed => out.push(b'!'),
        Effect::Unknown => out.push(b'?'),
    }
    out.extend_from_slice(b"\",");
    if op.kind().has_key() {
        key(out, pool, op.key())?;
    } else {
        write_value(out, pool, op.value())?;
    }
    operands(out, pool, op, !attrs.is_empty())?;
    attribute_object(out, pool, ",", attrs.iter().map(|a| (a.2, a.3)))?;
    out.push(b']');
    Ok(())
}

/// What comes after the key or the name. A result that the client never learned is left out, unless
/// something follows it.
fn operands(out: &mut Vec<u8>, pool: &Pool, op: &Op<'_>, followed: bool) -> Result<(), SinkError> {
    let observed = match op.kind() {
        OpKind::Delete | OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release => return Ok(()),
        OpKind::Read => op.value() != Value::UNOBSERVED,
        OpKind::ListRead => op.elements().is_some(),
        OpKind::PredicateRead => op.result_set().is_some(),
        OpKind::Write | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent => true,
    };
    if !observed && !followed {
        return Ok(());
    }
    out.push(b',');
    if !observed {
        return write_value(out, pool, Value::UNOBSERVED);
    }
    if let Some(elements) = op.elements() {
        out.push(b'[');
        separated(out, elements.iter(), |out, &v| write_value(out, pool, v))?;
        out.push(b']');
    } else if let Some(rows) = op.result_set() {
        out.push(b'[');
        separated(out, rows, |out, (k, v)| {
            out.push(b'[');
            key(out, pool, k)?;
            out.push(b',');
            write_value(out, pool, v)?;
            out.push(b']');
            Ok(())
        })?;
        out.push(b']');
    } else {
        if let Some(expected) = op.expected() {
            write_value(out, pool, expected)?;
            out.push(b',');
        }
        write_value(out, pool, op.value())?;
    }
    Ok(())
}
