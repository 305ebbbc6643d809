//! One operation of a trace, as it stands in the file.

use crate::error::Fault;
use crate::evidence::{Interval, LockMode};
use crate::formats::dbcop_common::{Extras, required, set_once};
use crate::formats::leopard::words::{
    LOCKS, READ_MODES, TraceKind, one_of, table_word, unknown_kind, word,
};
use crate::meta::Event;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::text::Json;
use crate::text::json::{JsonKind, Number};
use crate::value::Value;

/// The most columns that one row may have.
const MAX_COLUMNS: usize = 4096;

/// An operation of a thread.
pub(super) struct LeopardOperation {
    /// Where it stands.
    pub(super) at: usize,
    pub(super) kind: TraceKind,
    pub(super) thread: Value,
    pub(super) txn: Value,
    /// The transaction as the file writes it, for names of operations begin with it.
    pub(super) txn_text: String,
    pub(super) operation: Option<String>,
    pub(super) interval: Interval,
    pub(super) level: Option<String>,
    pub(super) lock: Option<LockMode>,
    /// How it reads, as histories name it.
    pub(super) read_mode: Option<&'static str>,
    pub(super) predicate: Option<Value>,
    pub(super) exception: Option<Value>,
    pub(super) sql: Option<Value>,
    pub(super) savepoint: Option<Value>,
    pub(super) reads: Vec<Tuple>,
    pub(super) writes: Vec<Tuple>,
    /// TraceMembers without a meaning, under their names.
    pub(super) extras: Vec<(Value, Value)>,
}

/// One row of an operation.
pub(super) struct Tuple {
    /// Where it stands.
    pub(super) at: usize,
    pub(super) table: Option<Value>,
    pub(super) primary_key: Option<Value>,
    pub(super) values: Told,
    pub(super) real: Option<Value>,
    pub(super) extras: Vec<(Value, Value)>,
}

/// What is told of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    /// That it is not there.
    Absent,
    /// Its columns.
    Columns(Value),
}

/// The members of an operation while they are read.
#[derive(Default)]
struct TraceMembers {
    kind: Option<TraceKind>,
    thread: Option<String>,
    txn: Option<String>,
    operation: Option<String>,
    begin: Option<i64>,
    end: Option<i64>,
    level: Option<String>,
    lock: Option<LockMode>,
    read_mode: Option<&'static str>,
    predicate: Option<Value>,
    exception: Option<Value>,
    sql: Option<Value>,
    savepoint: Option<Value>,
    reads: Option<Vec<Tuple>>,
    writes: Option<Vec<Tuple>>,
    extras: Extras,
}

/// Reads one element of a slice: an operation of a thread, or an event, which goes to the sink at once.
pub(super) fn element(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
) -> Result<Option<LeopardOperation>, Fault> {
    let at = json.offset();
    let again = json.clone();
    let mut members = TraceMembers::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        members.read(json, sink, &name)?;
        if let Some(kind) = members.kind.filter(|kind| kind.is_event()) {
            // TraceMembers of an event mean nothing in particular: it is read from its beginning, as values.
            *json = again;
            let event = event(json, sink, kind)?;
            return sink.event(event).map(|()| None).map_err(|error| Fault::sink(at, &error));
        }
    }
    members.finish(at, sink.pool()).map(Some)
}

impl TraceMembers {
    fn read(&mut self, json: &mut Json<'_>, sink: &mut dyn Sink, name: &str) -> Result<(), Fault> {
        let at = json.offset();
        if json.eat_null() {
            return Ok(());
        }
        match name {
            "operationTraceType" => set_once(&mut self.kind, at, name, kind(json)?),
            "threadID" => set_once(&mut self.thread, at, name, id(json, "a thread")?),
            "transactionID" => set_once(&mut self.txn, at, name, id(json, "a transaction")?),
            "operationID" => set_once(&mut self.operation, at, name, id(json, "an operation")?),
            "startTimestamp" => set_once(&mut self.begin, at, name, time(json)?),
            "finishTimestamp" => set_once(&mut self.end, at, name, time(json)?),
            "isolationLevel" => {
                let level = json.string("an isolation level")?.into_owned();
                set_once(&mut self.level, at, name, level)
            }
            "traceLockMode" => set_once(&mut self.lock, at, name, among(json, &LOCKS)?),
            "readMode" => set_once(&mut self.read_mode, at, name, among(json, &READ_MODES)?),
            "predicateLock" => set_once(&mut self.predicate, at, name, json.value(sink.pool())?),
            "exception" => set_once(&mut self.exception, at, name, json.value(sink.pool())?),
            "sql" => set_once(&mut self.sql, at, name, json.value(sink.pool())?),
            "savepoint" => set_once(&mut self.savepoint, at, name, json.value(sink.pool())?),
            "readTupleList" => set_once(&mut self.reads, at, name, tuples(json, sink)?),
            "writeTupleList" => set_once(&mut self.writes, at, name, tuples(json, sink)?),
            other => self.extras.take(json, sink, other),
        }
    }

    fn finish(self, at: usize, pool: &mut Pool) -> Result<LeopardOperation, Fault> {
        let kind = required(self.kind, at, "operationTraceType")?;
        let thread = required(self.thread, at, "threadID")?;
        let txn_text = required(self.txn, at, "transactionID")?;
        let begin = required(self.begin, at, "startTimestamp")?;
        // An exception without any text is none.
        let nothing = pool.text("");
        Ok(LeopardOperation {
            at,
            kind,
            thread: word(pool, &thread),
            txn: word(pool, &txn_text),
            txn_text,
            operation: self.operation,
            interval: Interval { begin: Some(begin), end: self.end },
            level: self.level,
            lock: self.lock,
            read_mode: self.read_mode,
            predicate: self.predicate,
            exception: self.exception.filter(|text| *text != nothing),
            sql: self.sql,
            savepoint: self.savepoint,
            reads: self.reads.unwrap_or_default(),
            writes: self.writes.unwrap_or_default(),
            extras: self.extras.members,
        })
    }
}

/// An event, with all that the trace says of it.
fn event(json: &mut Json<'_>, sink: &mut dyn Sink, kind: TraceKind) -> Result<Event, Fault> {
    let at = json.offset();
    let (mut kinds, mut begin, mut end) = (None, None, None);
    let mut detail = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        if json.eat_null() {
            continue;
        }
        match &*name {
            "operationTraceType" => set_once(&mut kinds, at, &name, json.skip_value()?)?,
            "startTimestamp" => set_once(&mut begin, at, &name, time(json)?)?,
            "finishTimestamp" => set_once(&mut end, at, &name, time(json)?)?,
            other => detail.take(json, sink, other)?,
        }
    }
    let begin = required(begin, at, "startTimestamp")?;
    let pool = sink.pool();
    let name = pool.text(kind.name());
    let detail = if detail.members.is_empty() { Value::ABSENT } else { pool.row(&detail.members) };
    Ok(Event { name, begin: Some(begin), end, detail })
}

fn kind(json: &mut Json<'_>) -> Result<TraceKind, Fault> {
    let at = json.offset();
    let word = json.string("the type of an operation")?;
    TraceKind::from_word(&word).ok_or_else(|| unknown_kind(at))
}

fn among<T: Copy>(json: &mut Json<'_>, words: &[(&str, T)]) -> Result<T, Fault> {
    let at = json.offset();
    let found = json.string("a word")?;
    let known = words.iter().find(|(word, _)| *word == found);
    known.map(|known| known.1).ok_or_else(|| one_of(at, words.iter().map(|word| word.0)))
}

/// A name: a text, or a whole number.
fn id(json: &mut Json<'_>, whose: &str) -> Result<String, Fault> {
    let at = json.offset();
    let expected = || Fault::expected(at, format_args!("the name of {whose}, a text or a number"));
    match json.peek()? {
        JsonKind::String => json.string("a name").map(Into::into),
        JsonKind::Number => match json.number()? {
            Number::Int(number) => Ok(number.to_string()),
            Number::Float(_) => Err(expected()),
        },
        _ => Err(expected()),
    }
}

fn time(json: &mut Json<'_>) -> Result<i64, Fault> {
    let at = json.offset();
    let time = json.integer("a time, a whole number of nanoseconds")?;
    // The smallest number stands for no time.
    if time == i64::MIN { Err(Fault::expected(at, "a time above -2^63")) } else { Ok(time) }
}

fn tuples(json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<Vec<Tuple>, Fault> {
    let mut tuples = Vec::new();
    json.begin_array()?;
    while json.next_item()? {
        tuples.push(tuple(json, sink)?);
    }
    Ok(tuples)
}

fn tuple(json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<Tuple, Fault> {
    let at = json.offset();
    let (mut table, mut primary_key, mut values, mut real) = (None, None, None, None);
    let mut extras = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        if json.eat_null() {
            if name == "valueMap" {
                set_once(&mut values, at, &name, Told::Absent)?;
            }
            continue;
        }
        match &*name {
            "table" => {
                let text = id(json, "a table")?;
                set_once(&mut table, at, &name, table_word(sink.pool(), &text))?;
            }
            "primaryKey" => {
                let text = id(json, "a row")?;
                set_once(&mut primary_key, at, &name, word(sink.pool(), &text))?;
            }
            "valueMap" => {
                let columns = Told::Columns(columns(json, sink.pool())?);
                set_once(&mut values, at, &name, columns)?;
            }
            "realValueMap" => set_once(&mut real, at, &name, columns(json, sink.pool())?)?,
            other => extras.take(json, sink, other)?,
        }
    }
    let values = values.unwrap_or(Told::Nothing);
    Ok(Tuple { at, table, primary_key, values, real, extras: extras.members })
}

/// A row of columns.
fn columns(json: &mut Json<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    let at = json.offset();
    let mut columns: Vec<(Value, Value)> = Vec::new();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        if columns.len() == MAX_COLUMNS {
            let complaint = format_args!("a row with more than {MAX_COLUMNS} columns");
            return Err(Fault::wrong(at, complaint));
        }
        let name = pool.text(&name);
        columns.push((name, cell(json, pool)?));
    }
    let mut names: Vec<Value> = columns.iter().map(|column| column.0).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Fault::wrong(at, "the row names a column twice"));
    }
    Ok(pool.row(&columns))
}

/// What a column holds. Fractions stay texts: some traces quote them, and others do not.
fn cell(json: &mut Json<'_>, pool: &mut Pool) -> Result<Value, Fault> {
    let at = json.offset();
    match json.peek()? {
        JsonKind::String => Ok(word(pool, &json.string("a text")?)),
        JsonKind::Number => match json.number()? {
            Number::Int(number) => Ok(pool.big(number)),
            Number::Float(_) => {
                let written = &json.cursor.bytes[at..json.cursor.pos];
                Ok(pool.text(&String::from_utf8_lossy(written)))
            }
        },
        JsonKind::Bool => Ok(Value::from_bool(json.boolean("true or false")?)),
        JsonKind::Null if json.eat_null() => Ok(Value::NULL),
        _ => Err(Fault::expected(at, "a text, a number, true, false or null")),
    }
}
