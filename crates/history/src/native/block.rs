//! The body of a block: the names it introduces, some transactions as columns, and what became
//! known of the run as a whole.
//!
//! Identifiers count from the beginning of the file, so a block says how many names came before it
//! and can be decoded on its own, in parallel with the others. Everything is checked while it is
//! decoded: a body that decodes cannot make a later reader panic.

use std::ops::Range;

use crate::attributes::{AttrColumn, Entity, MAX_ATTRIBUTES};
use crate::builder::HistoryBuilder;
use crate::columns::{Columns, TimestampColumn};
use crate::evidence::Outcome;
use crate::ids::{Key, SessionId};
use crate::labels::Labels;
use crate::meta::{Clock, Event, InitialState, Meta};
use crate::native::column::{get, get_ids, get_lazy, put, put_lazy};
use crate::native::varint::{self, VarintReader, unzigzag, zigzag};
use crate::op::{OpCode, OpKind, Run};
use crate::pool::{EntryKind, Pool};
use crate::value::Value;

/// How many names a file has at some point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NameCounts {
    pub(crate) values: u32,
    pub(crate) keys: u32,
    pub(crate) sessions: u32,
}

impl NameCounts {
    pub(crate) fn of(pool: &Pool) -> NameCounts {
        NameCounts {
            values: pool.entries().len(),
            keys: pool.key_names().len() as u32,
            sessions: pool.session_names().len() as u32,
        }
    }
}

/// A decoded block.
pub(crate) struct Block {
    /// The names before it.
    pub(crate) before: NameCounts,
    /// The values it introduces, as ranges of the body.
    values: Vec<(EntryKind, Range<usize>)>,
    body: Vec<u8>,
    pub(crate) keys: Vec<Value>,
    pub(crate) sessions: Vec<Value>,
    pub(crate) columns: Columns,
    pub(crate) meta: Option<Meta>,
    pub(crate) events: Vec<Event>,
    pub(crate) orders: Vec<(Key, Vec<Value>)>,
}

impl Block {
    /// Adds the block's names to a pool; `None` unless they are new and numbered as the block says.
    pub(crate) fn introduce(&self, pool: &mut Pool) -> Option<()> {
        if self.before != NameCounts::of(pool) {
            return None;
        }
        for (kind, range) in &self.values {
            pool.entry_at_end(*kind, &self.body[range.clone()])?;
        }
        for (id, &name) in (self.before.keys..).zip(&self.keys) {
            (pool.key(name) == Key(id)).then_some(())?;
        }
        for (id, &name) in (self.before.sessions..).zip(&self.sessions) {
            (pool.session(name) == SessionId(id)).then_some(())?;
        }
        Some(())
    }
}

// ---- encoding ----

/// What a block says.
pub(crate) struct Contents<'c> {
    pub(crate) pool: &'c Pool,
    pub(crate) columns: &'c Columns,
    pub(crate) events: &'c [Event],
    pub(crate) orders: &'c [(Key, Vec<Value>)],
}

impl<'c> From<&'c HistoryBuilder> for Contents<'c> {
    fn from(part: &'c HistoryBuilder) -> Contents<'c> {
        let HistoryBuilder { pool, columns, events, orders, .. } = part;
        Contents { pool, columns, events, orders }
    }
}

/// Appends the body of a block: the names of the pool from `before` up to `upto`, and all else that it says.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    contents: &Contents<'_>,
    before: NameCounts,
    upto: NameCounts,
    meta: Option<&Meta>,
) {
    encode_names(out, contents.pool, before, upto);
    encode_columns(out, contents.columns);
    encode_frame(out, contents.events, contents.orders, meta);
}

/// Appends the body of a block that introduces names and says nothing else.
pub(crate) fn encode_only_names(
    out: &mut Vec<u8>,
    pool: &Pool,
    before: NameCounts,
    upto: NameCounts,
) {
    encode_names(out, pool, before, upto);
    encode_columns(out, &Columns::default());
    encode_frame(out, &[], &[], None);
}

fn encode_names(out: &mut Vec<u8>, pool: &Pool, before: NameCounts, upto: NameCounts) {
    for n in [before.values, before.keys, before.sessions] {
        varint::put(out, u64::from(n));
    }
    varint::put(out, u64::from(upto.values - before.values));
    for index in before.values..upto.values {
        let (kind, bytes) = pool.entries().get(index);
        out.push(kind as u8);
        varint::put(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    }
    let names = |out: &mut Vec<u8>, names: &[Value]| {
        varint::put(out, names.len() as u64);
        put(out, names.iter().map(|v| v.to_bits()));
    };
    names(out, &pool.key_names()[before.keys as usize..upto.keys as usize]);
    names(out, &pool.session_names()[before.sessions as usize..upto.sessions as usize]);
}

fn encode_columns(out: &mut Vec<u8>, c: &Columns) {
    let (txns, stmts, ops) = (c.txn_count(), c.stmt_count(), c.op_count());
    for n in [txns, stmts, ops, c.elements.len()] {
        varint::put(out, n as u64);
    }
    out.push(u8::from(c.explicit_stmts));
    put(out, c.sessions.iter().map(|s| u64::from(s.0)));
    out.extend(c.outcomes.iter().map(|o| *o as u8));
    put(out, counts(&c.txn_ends));
    encode_labels(out, &c.labels, txns);
    for times in [&c.txn_begin, &c.txn_end] {
        put_lazy(out, times, txns);
    }
    for ts in [&c.start_ts, &c.commit_ts] {
        put_lazy(out, &ts.physical, txns);
        put_lazy(out, &ts.logical, txns);
    }
    if c.explicit_stmts {
        put(out, counts(&c.stmt_ends));
    }
    for times in [&c.stmt_begin, &c.stmt_end] {
        put_lazy(out, times, stmts);
    }
    out.extend(c.codes.iter().map(|code| code.0));
    // One more than the key, so that no key is the small number 0.
    put(out, c.keys.iter().map(|k| u64::from(k.0.wrapping_add(1))));
    put(out, c.codes.iter().zip(&c.payloads).map(|(code, &word)| payload_number(*code, word)));
    put(out, c.elements.iter().map(|v| v.to_bits()));
    encode_attrs(out, c);
}

/// Where things end, as how long each is.
fn counts(ends: &[u32]) -> impl Iterator<Item = u64> + Clone + '_ {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| u64::from(end - start))
}

/// Runs follow each other without gaps, so their lengths say everything: one more than the length,
/// with 0 for a result that the client never learned.
fn payload_number(code: OpCode, word: u64) -> u64 {
    match (code.kind().has_elements(), word) {
        (true, Run::UNOBSERVED) => 0,
        (true, word) => u64::from(Run::unpack(word).len) + 1,
        (false, word) => word,
    }
}

fn encode_labels(out: &mut Vec<u8>, labels: &Labels, txns: usize) {
    let present = (0..txns).filter(|&t| labels.get(t).is_some());
    let count = if labels.is_empty() { 0 } else { present.clone().count() };
    varint::put(out, count as u64);
    if count == 0 {
        return;
    }
    if count < txns {
        put(out, present.clone().map(|t| t as u64));
    }
    put(out, present.filter_map(|t| labels.get(t)).map(Value::to_bits));
}

fn encode_attrs(out: &mut Vec<u8>, c: &Columns) {
    varint::put(out, c.attrs.columns.len() as u64);
    for column in &c.attrs.columns {
        out.push(column.entity as u8);
        varint::put(out, column.name.to_bits());
        varint::put(out, column.ids.len() as u64);
        put(out, column.ids.iter().map(|&id| u64::from(id)));
        put(out, column.values.iter().map(|v| v.to_bits()));
    }
}

fn encode_frame(
    out: &mut Vec<u8>,
    events: &[Event],
    orders: &[(Key, Vec<Value>)],
    meta: Option<&Meta>,
) {
    out.push(u8::from(meta.is_some()));
    if let Some(meta) = meta {
        encode_meta(out, meta);
    }
    varint::put(out, events.len() as u64);
    for event in events {
        varint::put(out, event.name.to_bits());
        varint::put(out, event.detail.to_bits());
        for time in [event.begin, event.end] {
            out.push(u8::from(time.is_some()));
            varint::put(out, zigzag(time.unwrap_or(0)));
        }
    }
    varint::put(out, orders.len() as u64);
    for (key, versions) in orders {
        varint::put(out, u64::from(key.0));
        varint::put(out, versions.len() as u64);
        put(out, versions.iter().map(|v| v.to_bits()));
    }
}

fn encode_meta(out: &mut Vec<u8>, meta: &Meta) {
    out.push(u8::from(meta.complete));
    out.push(u8::from(meta.clock == Clock::Events));
    out.push(u8::from(meta.initial.default.is_some()));
    varint::put(out, meta.initial.default.unwrap_or(Value::ABSENT).to_bits());
    varint::put(out, meta.initial.given.len() as u64);
    put(out, meta.initial.given.iter().map(|(k, _)| u64::from(k.0)));
    put(out, meta.initial.given.iter().map(|(_, v)| v.to_bits()));
    varint::put(out, meta.info.len() as u64);
    put(out, meta.info.iter().flat_map(|(n, v)| [n.to_bits(), v.to_bits()]));
}

// ---- decoding ----

/// Decodes a body, or says which part of it makes no sense.
pub(crate) fn decode(body: Vec<u8>) -> Result<Block, &'static str> {
    let mut reader = VarintReader::new(&body);
    let mut count = || reader.get_u32().ok_or("the counts of names");
    let before = NameCounts { values: count()?, keys: count()?, sessions: count()? };
    let values = decode_values(&mut reader, before).ok_or("the values")?;
    let known_values = before.values + values.len() as u32;
    let keys = decode_names(&mut reader, known_values).ok_or("the names of keys")?;
    let sessions = decode_names(&mut reader, known_values).ok_or("the names of sessions")?;
    let fits = |n: u32, more: usize| u32::try_from(more).ok().and_then(|m| n.checked_add(m));
    let known = NameCounts {
        values: known_values,
        keys: fits(before.keys, keys.len()).ok_or("the names of keys")?,
        sessions: fits(before.sessions, sessions.len()).ok_or("the names of sessions")?,
    };
    let mut decoder = Decoder { reader, known };
    let columns = decoder.columns()?;
    let meta = decoder.meta().ok_or("the facts about the run")?;
    let events = decoder.events().ok_or("the events")?;
    let orders = decoder.orders().ok_or("the version orders")?;
    if !decoder.reader.at_end() {
        return Err("the end");
    }
    let body = if values.is_empty() { Vec::new() } else { body };
    Ok(Block { before, values, body, keys, sessions, columns, meta, events, orders })
}

fn decode_values(
    reader: &mut VarintReader<'_>,
    before: NameCounts,
) -> Option<Vec<(EntryKind, Range<usize>)>> {
    let count = reader.get_u32()?;
    before.values.checked_add(count)?;
    let mut values = Vec::new();
    for i in 0..count {
        let kind = EntryKind::from_u8(reader.take(1)?[0])?;
        let bytes = reader.take_counted()?;
        // The parts of a list or row come before it.
        sound_entry(kind, bytes, before.values + i).then_some(())?;
        values.push((kind, reader.pos - bytes.len()..reader.pos));
    }
    Some(values)
}

/// Whether the bytes mean something of that kind.
fn sound_entry(kind: EntryKind, bytes: &[u8], known_values: u32) -> bool {
    let words = || {
        let (words, rest) = bytes.as_chunks::<8>();
        let sound = |w: &[u8; 8]| Value::from_bits(u64::from_le_bytes(*w), known_values).is_some();
        rest.is_empty() && words.iter().all(sound)
    };
    match kind {
        EntryKind::BigInt => bytes.len() == 16,
        EntryKind::Float => bytes.len() == 8,
        EntryKind::Text | EntryKind::Symbol => std::str::from_utf8(bytes).is_ok(),
        EntryKind::Bytes => true,
        EntryKind::List => words(),
        EntryKind::Row => bytes.len().is_multiple_of(16) && words(),
    }
}

fn decode_names(reader: &mut VarintReader<'_>, known_values: u32) -> Option<Vec<Value>> {
    let count = reader.get_u32()? as usize;
    // An unknown name (`_`) is not a name.
    get(reader, count, |bits| {
        Value::from_bits(bits, known_values).filter(|name| *name != Value::UNOBSERVED)
    })
}

struct Decoder<'a> {
    reader: VarintReader<'a>,
    known: NameCounts,
}

impl Decoder<'_> {
    fn columns(&mut self) -> Result<Columns, &'static str> {
        let mut count = || self.reader.get_u32().map(|n| n as usize).ok_or("the counts");
        let (txns, stmts, ops, elements) = (count()?, count()?, count()?, count()?);
        let mut c = Columns::default();
        self.txns(&mut c, txns, stmts, ops).ok_or("the transactions")?;
        self.txn_evidence(&mut c, txns).ok_or("the evidence of transactions")?;
        self.stmts(&mut c, stmts, ops).ok_or("the statements")?;
        self.ops(&mut c, ops).ok_or("the operations")?;
        self.elements(&mut c, elements).ok_or("the elements of lists")?;
        self.attrs(&mut c, [txns, stmts, ops]).ok_or("the attributes")?;
        Ok(c)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.reader.take(1)?[0] {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value> {
        Value::from_bits(self.reader.get()?, self.known.values)
    }

    /// Lengths, added up; the last sum must be the given total.
    fn ends(&mut self, count: usize, total: usize) -> Option<Vec<u32>> {
        let mut ends = get(&mut self.reader, count, |n| u32::try_from(n).ok())?;
        let mut sum = 0u32;
        for end in &mut ends {
            sum = sum.checked_add(*end)?;
            *end = sum;
        }
        (sum as usize == total).then_some(ends)
    }

    fn txns(&mut self, c: &mut Columns, txns: usize, stmts: usize, ops: usize) -> Option<()> {
        c.explicit_stmts = self.flag()?;
        if !c.explicit_stmts && stmts != ops {
            return None;
        }
        let known = u64::from(self.known.sessions);
        c.sessions = get(&mut self.reader, txns, |n| (n < known).then_some(SessionId(n as u32)))?;
        let outcomes = self.reader.take(txns)?;
        let outcome = |&b: &u8| Outcome::ALL.get(usize::from(b)).copied();
        c.outcomes = outcomes.iter().map(outcome).collect::<Option<_>>()?;
        c.txn_ends = self.ends(txns, stmts)?;
        Some(())
    }

    fn txn_evidence(&mut self, c: &mut Columns, txns: usize) -> Option<()> {
        self.labels(c, txns)?;
        get_lazy(&mut self.reader, txns, &mut c.txn_begin)?;
        get_lazy(&mut self.reader, txns, &mut c.txn_end)?;
        for ts in [&mut c.start_ts, &mut c.commit_ts] {
            timestamps(&mut self.reader, txns, ts)?;
        }
        Some(())
    }

    fn labels(&mut self, c: &mut Columns, txns: usize) -> Option<()> {
        let count = self.reader.get_u32()? as usize;
        if count == 0 {
            return Some(());
        }
        let ids = if count < txns { Some(get_ids(&mut self.reader, count, txns)?) } else { None };
        if count > txns {
            return None;
        }
        let known = self.known.values;
        let labels = get(&mut self.reader, count, |bits| {
            Value::from_bits(bits, known).filter(|v| *v != Value::UNOBSERVED)
        })?;
        for (i, label) in labels.into_iter().enumerate() {
            let at = ids.as_ref().map_or(i, |ids| ids[i] as usize);
            c.labels.push_at(at, Some(label));
        }
        Some(())
    }

    fn stmts(&mut self, c: &mut Columns, stmts: usize, ops: usize) -> Option<()> {
        if c.explicit_stmts {
            c.stmt_ends = self.ends(stmts, ops)?;
        }
        get_lazy(&mut self.reader, stmts, &mut c.stmt_begin)?;
        get_lazy(&mut self.reader, stmts, &mut c.stmt_end)
    }

    fn ops(&mut self, c: &mut Columns, ops: usize) -> Option<()> {
        let codes = self.reader.take(ops)?;
        c.codes = codes.iter().map(|&b| OpCode::from_byte(b)).collect::<Option<_>>()?;
        let known = u64::from(self.known.keys);
        c.keys = get(&mut self.reader, ops, |n| {
            (n <= known).then_some(Key((n as u32).wrapping_sub(1)))
        })?;
        let keyed = |(code, key): (&OpCode, &Key)| code.kind().has_key() == (*key != Key::NONE);
        c.codes.iter().zip(&c.keys).all(keyed).then_some(())?;
        c.payloads = get(&mut self.reader, ops, Some)?;
        Some(())
    }

    /// The elements, and the payloads that refer to them.
    fn elements(&mut self, c: &mut Columns, elements: usize) -> Option<()> {
        let raw = get(&mut self.reader, elements, Some)?;
        let mut start = 0usize;
        for (&code, word) in c.codes.iter().zip(&mut c.payloads) {
            if !code.kind().has_elements() {
                Value::from_bits(*word, self.known.values)?;
                continue;
            }
            if *word == 0 {
                // Only a list read can lack its result this way.
                *word = (code.kind() == OpKind::ListRead).then_some(Run::UNOBSERVED)?;
                continue;
            }
            let len = usize::try_from(*word - 1).ok().filter(|&len| len <= Run::MAX_LEN)?;
            let run = raw.get(start..start.checked_add(len)?)?;
            self.sound_run(code.kind(), run).then_some(())?;
            *word = Run { start: start as u64, len: len as u32 }.pack();
            start += len;
        }
        c.elements = raw.into_iter().map(Value::from_trusted_bits).collect();
        (start == elements).then_some(())
    }

    fn sound_run(&self, kind: OpKind, run: &[u64]) -> bool {
        let value = |bits: &u64| Value::from_bits(*bits, self.known.values).is_some();
        match kind {
            OpKind::Cas => run.len() == 2 && run.iter().all(value),
            OpKind::PredicateRead if run.len() == 2 => {
                value(&run[0]) && run[1] == Value::UNOBSERVED.to_bits()
            }
            OpKind::PredicateRead => {
                let key = |bits: &u64| *bits < u64::from(self.known.keys);
                run.len() % 2 == 1
                    && value(&run[0])
                    && run[1..].chunks_exact(2).all(|row| key(&row[0]) && value(&row[1]))
            }
            _ => run.iter().all(value),
        }
    }

    fn attrs(&mut self, c: &mut Columns, counts: [usize; 3]) -> Option<()> {
        let columns = self.reader.get_u32()? as usize;
        if columns > MAX_ATTRIBUTES {
            return None;
        }
        for _ in 0..columns {
            let entity = Entity::from_u8(self.reader.take(1)?[0])?;
            let name = self.value()?;
            let present = self.reader.get_u32()? as usize;
            let ids = get_ids(&mut self.reader, present, counts[entity as usize])?;
            let known = self.known.values;
            let values = get(&mut self.reader, present, |bits| Value::from_bits(bits, known))?;
            let twice = |c: &AttrColumn| c.entity == entity && c.name == name;
            if c.attrs.columns.iter().any(twice) {
                return None;
            }
            c.attrs.columns.push(AttrColumn { entity, name, ids, values });
        }
        Some(())
    }

    fn meta(&mut self) -> Option<Option<Meta>> {
        if !self.flag()? {
            return Some(None);
        }
        let complete = self.flag()?;
        let clock = if self.flag()? { Clock::Events } else { Clock::Nanoseconds };
        let has_default = self.flag()?;
        let default = self.value()?;
        let (known_keys, known_values) = (u64::from(self.known.keys), self.known.values);
        let given = self.reader.get_u32()? as usize;
        let keys = get(&mut self.reader, given, |n| (n < known_keys).then_some(Key(n as u32)))?;
        let values = get(&mut self.reader, given, |bits| Value::from_bits(bits, known_values))?;
        let info = self.reader.get_u32()? as usize;
        let info = get(&mut self.reader, info.checked_mul(2)?, |bits| {
            Value::from_bits(bits, known_values)
        })?;
        // Each key has one initial value, each fact one name.
        let mut names: Vec<Value> = info.iter().copied().step_by(2).collect();
        let mut given_keys = keys.clone();
        let twice = has_twice(&mut names) || has_twice(&mut given_keys);
        (!twice).then_some(())?;
        Some(Some(Meta {
            info: info.chunks_exact(2).map(|p| (p[0], p[1])).collect(),
            initial: InitialState {
                default: has_default.then_some(default),
                given: keys.into_iter().zip(values).collect(),
            },
            clock,
            complete,
        }))
    }

    fn events(&mut self) -> Option<Vec<Event>> {
        let count = self.reader.get()?;
        let mut events = Vec::new();
        for _ in 0..count {
            let (name, detail) = (self.value()?, self.value()?);
            let (begin, end) = (self.time()?, self.time()?);
            events.push(Event { name, begin, end, detail });
        }
        Some(events)
    }

    fn time(&mut self) -> Option<Option<i64>> {
        let present = self.flag()?;
        let time = unzigzag(self.reader.get()?);
        Some(present.then_some(time))
    }

    fn orders(&mut self) -> Option<Vec<(Key, Vec<Value>)>> {
        let count = self.reader.get()?;
        let mut orders = Vec::new();
        for _ in 0..count {
            let key = self.reader.get_u32().filter(|&k| k < self.known.keys)?;
            let len = self.reader.get_u32()? as usize;
            let known = self.known.values;
            let versions = get(&mut self.reader, len, |bits| Value::from_bits(bits, known))?;
            orders.push((Key(key), versions));
        }
        let mut keys: Vec<Key> = orders.iter().map(|(key, _)| *key).collect();
        (!has_twice(&mut keys)).then_some(orders)
    }
}

fn has_twice<T: Ord>(items: &mut [T]) -> bool {
    items.sort_unstable();
    items.windows(2).any(|w| w[0] == w[1])
}

fn timestamps(reader: &mut VarintReader<'_>, txns: usize, ts: &mut TimestampColumn) -> Option<()> {
    get_lazy(reader, txns, &mut ts.physical)?;
    get_lazy(reader, txns, &mut ts.logical)?;
    // A logical part without a physical one would be lost.
    ts.logical.iter().all(|(i, _)| ts.physical.time(i).is_some()).then_some(())
}
