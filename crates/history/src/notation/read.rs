//! From the notation to a history.

use hashbrown::HashSet;

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::{Interval, Outcome, Timestamp};
use crate::ids::Key;
use crate::lazy::NO_TIME;
use crate::meta::{Clock, Event, InitialState};
use crate::notation::literal::{is_word_byte, read_value};
use crate::notation::write::LINE_WORDS;
use crate::op::{Effect, OpKind};
use crate::sink::Sink;
use crate::source::Source;
use crate::text::cursor::Cursor;
use crate::value::Value;

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::every(Value::ABSENT);
    let mut lines = Cursor::new(&input.bytes);
    let mut state = State::default();
    while !lines.at_end() {
        let start = lines.pos;
        let text = lines.line();
        line(text, sink, &mut state).map_err(|f| input.text_error(f.shifted(start)))?;
    }
    Ok(())
}

/// What one line needs to know of those before it.
#[derive(Default)]
pub(super) struct State {
    draft: TxnDraft,
    /// The keys whose initial value has been said, and the facts.
    given: HashSet<Key>,
    facts: HashSet<Value>,
}

/// Reads one line; offsets of faults count from its beginning.
pub(super) fn line(text: &[u8], sink: &mut dyn Sink, state: &mut State) -> Result<(), Fault> {
    let mut c = Cursor::new(text);
    c.skip_blanks();
    if matches!(c.peek(), None | Some(b'#')) {
        return Ok(());
    }
    let start = c.pos;
    let word = c.take_while(is_word_byte);
    let word = LINE_WORDS.into_iter().find(|w| w.as_bytes() == word);
    match word {
        Some(word) => fact(word, &mut c, sink, state)?,
        None => {
            c.pos = start;
            txn(&mut c, sink, &mut state.draft)?;
        }
    }
    c.skip_blanks();
    if matches!(c.peek(), None | Some(b'#')) {
        Ok(())
    } else {
        Err(c.expected("the end of the line"))
    }
}

/// A line that is no transaction.
fn fact(
    word: &str,
    c: &mut Cursor<'_>,
    sink: &mut dyn Sink,
    state: &mut State,
) -> Result<(), Fault> {
    c.skip_blanks();
    let at = c.pos;
    match word {
        "meta" => {
            let name = read_value(c, sink.pool())?;
            let value = read_value(c, sink.pool())?;
            if !state.facts.insert(name) {
                return Err(Fault::wrong(at, "the fact has been said already"));
            }
            sink.meta().set(name, value);
        }
        "initial" => {
            let none = c
                .rest()
                .strip_prefix(b"none")
                .is_some_and(|rest| !rest.first().copied().is_some_and(is_word_byte));
            sink.meta().initial.default = if none {
                c.pos += 4;
                None
            } else {
                Some(read_value(c, sink.pool())?)
            };
        }
        "given" => {
            let key = key(c, sink)?;
            let value = read_value(c, sink.pool())?;
            if !state.given.insert(key) {
                return Err(Fault::wrong(at, "the key has an initial value already"));
            }
            sink.meta().initial.given.push((key, value));
        }
        "clock" => {
            let at = c.pos;
            let name = String::from_utf8_lossy(c.take_while(is_word_byte));
            sink.meta().clock = Clock::from_name(&name)
                .ok_or_else(|| Fault::expected(at, "'nanoseconds' or 'events'"))?;
        }
        "incomplete" => sink.meta().complete = false,
        "order" => order(c, sink)?,
        _ => event(c, sink)?,
    }
    Ok(())
}

fn order(c: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Fault> {
    let at = c.pos;
    let key = key(c, sink)?;
    c.skip_blanks();
    c.expect(b':', "':' and the versions")?;
    let mut versions = Vec::new();
    c.skip_blanks();
    while !matches!(c.peek(), None | Some(b'#')) {
        versions.push(read_value(c, sink.pool())?);
        c.skip_blanks();
    }
    sink.version_order(key, &versions).map_err(|e| Fault::sink(at, &e))
}

fn event(c: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<(), Fault> {
    let name = read_value(c, sink.pool())?;
    c.skip_blanks();
    let interval = if c.peek() == Some(b'@') { interval(c)? } else { Interval::default() };
    c.skip_blanks();
    let detail = match c.peek() {
        None | Some(b'#') => Value::ABSENT,
        _ => read_value(c, sink.pool())?,
    };
    let event = Event { name, begin: interval.begin, end: interval.end, detail };
    sink.event(event).map_err(|e| Fault::sink(c.pos, &e))
}

fn txn(c: &mut Cursor<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    let start = c.pos;
    let name = read_name(c, sink, "a session")?;
    draft.reset(sink.pool().session(name));
    let after_name = c.pos;
    c.skip_blanks();
    if c.peek() != Some(b':') || (c.pos > after_name && at_symbol(c)) {
        draft.label = Some(read_name(c, sink, "a labelled transaction")?);
        c.skip_blanks();
    }
    c.expect(b':', "':' after the session (and the transaction's name)")?;
    statements(c, sink, draft)?;
    if word(c, b"abort") {
        draft.outcome = Outcome::Aborted;
    } else if word(c, b"unknown") {
        draft.outcome = Outcome::Unknown;
    } else {
        word(c, b"commit");
    }
    c.skip_blanks();
    if c.peek() == Some(b'@') {
        draft.interval = interval(c)?;
        c.skip_blanks();
    }
    if c.eat_all(b"ts(") {
        draft.start = timestamp(c)?;
        c.expect(b',', "',' and the commit timestamp")?;
        draft.commit = timestamp(c)?;
        c.expect(b')', "')'")?;
        c.skip_blanks();
    }
    if c.peek() == Some(b'{') {
        attrs(c, sink, |name, value| draft.attr(name, value))?;
    }
    sink.transaction(draft).map_err(|e| Fault::sink(start, &e))
}

/// Whether a symbol comes next, rather than the colon before the operations.
fn at_symbol(c: &Cursor<'_>) -> bool {
    c.rest().get(1).is_some_and(|&b| is_word_byte(b) || b == b'"')
}

/// Takes a word that is not the beginning of a longer one.
fn word(c: &mut Cursor<'_>, word: &[u8]) -> bool {
    c.skip_blanks();
    let hit = c
        .rest()
        .strip_prefix(word)
        .is_some_and(|rest| !rest.first().copied().is_some_and(|b| is_word_byte(b) || b == b'('));
    if hit {
        c.pos += word.len();
    }
    hit
}

fn statements(c: &mut Cursor<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    loop {
        c.skip_blanks();
        if c.eat(b'[') {
            draft.begin_statement();
            c.skip_blanks();
            while !c.eat(b']') {
                if c.at_end() {
                    return Err(c.expected("']' at the end of the statement"));
                }
                op(c, sink, draft)?;
                c.skip_blanks();
            }
            draft.end_statement();
        } else if at_op(c) {
            op(c, sink, draft)?;
        } else {
            return Ok(());
        }
        if c.peek() == Some(b'@') {
            draft.statement_interval(interval(c)?);
        }
        if c.peek() == Some(b'{') {
            attrs(c, sink, |name, value| draft.stmt_attr(name, value))?;
        }
    }
}

/// Whether a word with an opening parenthesis comes next, other than the timestamps.
fn at_op(c: &Cursor<'_>) -> bool {
    let mut ahead = c.clone();
    let name = ahead.take_while(|b| b.is_ascii_lowercase());
    let _ = ahead.eat(b'!') || ahead.eat(b'?');
    !name.is_empty() && name != b"ts" && ahead.peek() == Some(b'(')
}

fn op(c: &mut Cursor<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    let start = c.pos;
    let name = c.take_while(|b| b.is_ascii_lowercase());
    let kind = OpKind::from_name(name).ok_or_else(|| {
        let names = OpKind::ALL.map(OpKind::name).join(", ");
        Fault::expected(start, "an operation").hint(format!("operations are {names}"))
    })?;
    let effect = if c.eat(b'!') {
        Effect::Failed
    } else if c.eat(b'?') {
        Effect::Unknown
    } else {
        Effect::Done
    };
    c.expect(b'(', "'('")?;
    match kind {
        OpKind::ListRead => list_read(c, sink, draft)?,
        OpKind::PredicateRead => predicate_read(c, sink, draft)?,
        OpKind::Cas => {
            let key = key(c, sink)?;
            let expected = next_value(c, sink)?;
            let new = next_value(c, sink)?;
            draft.cas(key, expected, new, effect);
        }
        OpKind::Delete => draft.delete(key(c, sink)?, effect),
        OpKind::Savepoint => draft.savepoint(read_value(c, sink.pool())?),
        OpKind::Release | OpKind::RollbackTo => {
            let name = read_value(c, sink.pool())?;
            let release = kind == OpKind::Release;
            if !(if release { draft.release(name) } else { draft.rollback_to(name) }) {
                return Err(Fault::wrong(start, "the transaction has no savepoint of that name"));
            }
        }
        OpKind::Read | OpKind::Write | OpKind::Append | OpKind::InsertIfAbsent => {
            let key = key(c, sink)?;
            let value = next_value(c, sink)?;
            draft.op(kind, effect, key, value);
        }
    }
    draft.set_effect(effect);
    c.skip_blanks();
    c.expect(b')', "')'")?;
    if c.peek() == Some(b'{') {
        attrs(c, sink, |name, value| draft.op_attr(name, value))?;
    }
    Ok(())
}

fn key(c: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<Key, Fault> {
    let name = read_name(c, sink, "a key")?;
    Ok(sink.pool().key(name))
}

/// A value that names something.
fn read_name(c: &mut Cursor<'_>, sink: &mut dyn Sink, whose: &str) -> Result<Value, Fault> {
    c.skip_blanks();
    let at = c.pos;
    let name = read_value(c, sink.pool())?;
    Fault::check_name(at, whose, name)
}

fn next_value(c: &mut Cursor<'_>, sink: &mut dyn Sink) -> Result<Value, Fault> {
    c.skip_blanks();
    c.expect(b',', "',' and a value")?;
    read_value(c, sink.pool())
}

fn list_read(c: &mut Cursor<'_>, sink: &mut dyn Sink, draft: &mut TxnDraft) -> Result<(), Fault> {
    let key = key(c, sink)?;
    let at = c.pos;
    let value = next_value(c, sink)?;
    let pool = sink.pool();
    let read = match pool.datum(value) {
        crate::Datum::Unobserved => draft.list_read(key, None),
        crate::Datum::List(parts) => {
            let elements: Vec<Value> = parts.iter().collect();
            draft.list_read(key, Some(&elements))
        }
        _ => return Err(Fault::expected(at, "a list such as [1,2], or _")),
    };
    read.map_err(|e| Fault::sink(at, &e))
}

fn predicate_read(
    c: &mut Cursor<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<(), Fault> {
    let at = c.pos;
    let predicate = read_value(c, sink.pool())?;
    let mut rows = Vec::new();
    let mut observed = true;
    c.skip_blanks();
    while c.eat(b',') {
        c.skip_blanks();
        let at = c.pos;
        let name = read_value(c, sink.pool())?;
        c.skip_blanks();
        if name == Value::UNOBSERVED && rows.is_empty() && c.peek() == Some(b')') {
            observed = false;
            break;
        }
        let name = Fault::check_name(at, "a key", name)?;
        c.expect(b'=', "'=' and the row's value")?;
        let value = read_value(c, sink.pool())?;
        rows.push((sink.pool().key(name), value));
        c.skip_blanks();
    }
    let rows = observed.then_some(&rows[..]);
    draft.predicate_read(predicate, rows).map_err(|e| Fault::sink(at, &e))
}

fn attrs(
    c: &mut Cursor<'_>,
    sink: &mut dyn Sink,
    mut give: impl FnMut(Value, Value),
) -> Result<(), Fault> {
    c.expect(b'{', "'{'")?;
    c.skip_blanks();
    while !c.eat(b'}') {
        let name = read_value(c, sink.pool())?;
        c.skip_blanks();
        c.expect(b'=', "'=' and the attribute's value")?;
        let value = read_value(c, sink.pool())?;
        give(name, value);
        c.skip_blanks();
        if !c.eat(b',') && c.peek() != Some(b'}') {
            return Err(c.expected("',' or '}'"));
        }
        c.skip_blanks();
    }
    Ok(())
}

fn interval(c: &mut Cursor<'_>) -> Result<Interval, Fault> {
    if !c.eat_all(b"@[") {
        return Err(c.expected("an interval such as @[5,9]"));
    }
    let begin = time(c)?;
    c.skip_blanks();
    c.expect(b',', "',' and the end")?;
    let end = time(c)?;
    c.skip_blanks();
    c.expect(b']', "']'")?;
    Ok(Interval { begin, end })
}

fn time(c: &mut Cursor<'_>) -> Result<Option<i64>, Fault> {
    c.skip_blanks();
    if c.eat(b'_') {
        return Ok(None);
    }
    let at = c.pos;
    let time = c.integer("a time or _")?;
    if time == NO_TIME {
        return Err(Fault::wrong(at, "the smallest 64-bit number is no time"));
    }
    Ok(Some(time))
}

fn timestamp(c: &mut Cursor<'_>) -> Result<Option<Timestamp>, Fault> {
    let Some(physical) = time(c)? else { return Ok(None) };
    let logical = if c.eat(b'.') { c.integer("the logical part")? } else { 0 };
    Ok(Some(Timestamp { physical, logical }))
}
