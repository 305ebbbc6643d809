//! A transaction while it is being read or recorded.

use crate::attributes::Entity;
use crate::error::SinkError;
use crate::evidence::{Interval, Outcome, Snapshot, Timestamp};
use crate::ids::{Key, SessionId};
use crate::op::{Effect, OpCode, OpKind, Run};
use crate::pool::Pool;
use crate::remap::Remap;
use crate::value::Value;

/// One transaction on its way into a [`Sink`](crate::Sink): a scratch buffer that a reader fills,
/// hands over, [`reset`](TxnDraft::reset)s and fills again.
///
/// Each operation is a statement of its own unless it is added between
/// [`begin_statement`](TxnDraft::begin_statement) and [`end_statement`](TxnDraft::end_statement).
///
/// ```
/// use isolde_history::{HistoryBuilder, Sink, TxnDraft, Value};
/// let mut builder = HistoryBuilder::new();
/// let session = builder.pool().session(Value::from_u32(1));
/// let x = builder.pool().text_key("x");
/// let mut txn = TxnDraft::default();
/// txn.reset(session);
/// txn.read(x, Value::from_u32(0));
/// txn.write(x, Value::from_u32(1));
/// builder.transaction(&txn)?;
/// let history = builder.finish();
/// assert_eq!(history.ops().count(), 2);
/// # Ok::<(), isolde_history::SinkError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct TxnDraft {
    /// The session that runs it.
    pub session: SessionId,
    /// What became of it.
    pub outcome: Outcome,
    /// What the source calls it.
    pub label: Option<Value>,
    /// The client's interval, from before BEGIN to after COMMIT.
    pub interval: Interval,
    /// The database's start timestamp.
    pub start: Option<Timestamp>,
    /// The database's commit timestamp.
    pub commit: Option<Timestamp>,
    pub(crate) codes: Vec<OpCode>,
    pub(crate) keys: Vec<Key>,
    pub(crate) payloads: Vec<u64>,
    pub(crate) elements: Vec<Value>,
    /// Where each statement ends, as a number of operations.
    pub(crate) stmt_ends: Vec<u32>,
    /// Intervals of the statements that have one.
    pub(crate) stmt_intervals: Vec<(u32, Interval)>,
    pub(crate) attrs: Vec<(Entity, u32, Value, Value)>,
    in_statement: bool,
    /// The savepoints that can be rolled back to, with their operations.
    savepoints: Vec<(Value, u32)>,
    /// The operations since the first of them that are not undone: each enters and leaves once, so
    /// that rolling back again and again stays linear.
    live: Vec<u32>,
}

impl TxnDraft {
    /// Forgets everything and starts a committed transaction of that session.
    pub fn reset(&mut self, session: SessionId) {
        self.session = session;
        self.outcome = Outcome::Committed;
        self.label = None;
        self.interval = Interval::default();
        self.start = None;
        self.commit = None;
        self.clear_ops();
    }

    /// Forgets the operations, statements and attributes; the rest stays.
    pub fn clear_ops(&mut self) {
        self.codes.clear();
        self.keys.clear();
        self.payloads.clear();
        self.elements.clear();
        self.stmt_ends.clear();
        self.stmt_intervals.clear();
        self.attrs.clear();
        self.in_statement = false;
        self.savepoints.clear();
        self.live.clear();
    }

    /// How many operations it has so far.
    pub fn op_count(&self) -> usize {
        self.codes.len()
    }

    /// How many statements it has so far.
    pub fn stmt_count(&self) -> usize {
        self.stmt_ends.len()
    }

    /// A read that returned a value.
    #[inline]
    pub fn read(&mut self, key: Key, value: Value) {
        self.op(OpKind::Read, Effect::Done, key, value);
    }

    /// A write of a value.
    #[inline]
    pub fn write(&mut self, key: Key, value: Value) {
        self.op(OpKind::Write, Effect::Done, key, value);
    }

    /// An append of a value to a list.
    #[inline]
    pub fn append(&mut self, key: Key, value: Value) {
        self.op(OpKind::Append, Effect::Done, key, value);
    }

    /// A read of a list; `None` if the client never learned the result.
    pub fn list_read(&mut self, key: Key, elements: Option<&[Value]>) -> Result<(), SinkError> {
        let payload = match elements {
            None => Run::UNOBSERVED,
            Some(elements) => self.run(elements.iter().copied())?,
        };
        self.push(OpCode::new(OpKind::ListRead, Effect::Done), key, payload);
        Ok(())
    }

    /// A compare-and-set and whether it was done.
    pub fn cas(&mut self, key: Key, expected: Value, new: Value, effect: Effect) {
        // Two elements always fit, so the error cannot occur; an unobserved run stands in for it.
        let payload = self.run([expected, new].into_iter()).unwrap_or(Run::UNOBSERVED);
        self.push(OpCode::new(OpKind::Cas, effect), key, payload);
    }

    /// An insert-if-absent and whether it was done.
    pub fn insert_if_absent(&mut self, key: Key, value: Value, effect: Effect) {
        self.op(OpKind::InsertIfAbsent, effect, key, value);
    }

    /// A delete and whether it was done.
    pub fn delete(&mut self, key: Key, effect: Effect) {
        self.op(OpKind::Delete, effect, key, Value::UNOBSERVED);
    }

    /// A predicate read with the rows it returned; `None` if the client never learned them.
    pub fn predicate_read(
        &mut self,
        predicate: Value,
        rows: Option<&[(Key, Value)]>,
    ) -> Result<(), SinkError> {
        let key_word = |k: Key| Value::from_trusted_bits(u64::from(k.0));
        let payload = match rows {
            None => self.run([predicate, Value::UNOBSERVED].into_iter())?,
            Some(rows) => {
                let words = rows.iter().flat_map(|&(k, v)| [key_word(k), v]);
                self.run(std::iter::once(predicate).chain(words))?
            }
        };
        self.push(OpCode::new(OpKind::PredicateRead, Effect::Done), Key::NONE, payload);
        Ok(())
    }

    /// A savepoint.
    pub fn savepoint(&mut self, name: Value) {
        self.savepoints.push((name, self.codes.len() as u32));
        self.op(OpKind::Savepoint, Effect::Done, Key::NONE, name);
    }

    /// The release of a savepoint, and of those after it. `false`, and nothing happens, if there
    /// is none of that name.
    #[must_use]
    pub fn release(&mut self, name: Value) -> bool {
        let Some(at) = self.savepoints.iter().rposition(|s| s.0 == name) else { return false };
        self.savepoints.truncate(at);
        self.op(OpKind::Release, Effect::Done, Key::NONE, name);
        true
    }

    /// A rollback to a savepoint: everything after it is undone. `false`, and nothing happens, if
    /// there is none of that name.
    #[must_use]
    pub fn rollback_to(&mut self, name: Value) -> bool {
        let Some(at) = self.savepoints.iter().rposition(|s| s.0 == name) else { return false };
        let op = self.savepoints[at].1;
        self.savepoints.truncate(at + 1);
        while let Some(last) = self.live.pop_if(|last| *last > op) {
            let code = &mut self.codes[last as usize];
            *code = code.with_undone();
        }
        self.op(OpKind::RollbackTo, Effect::Done, Key::NONE, name);
        true
    }

    /// Any operation whose payload is one value.
    #[inline]
    pub(crate) fn op(&mut self, kind: OpKind, effect: Effect, key: Key, value: Value) {
        self.push(OpCode::new(kind, effect), key, value.to_bits());
    }

    /// Says of the last operation whether it was done.
    pub fn set_effect(&mut self, effect: Effect) {
        if let Some(last) = self.codes.last_mut() {
            *last = OpCode::new(last.kind(), effect);
        }
    }

    #[inline]
    fn push(&mut self, code: OpCode, key: Key, payload: u64) {
        if !self.savepoints.is_empty() {
            self.live.push(self.codes.len() as u32);
        }
        self.codes.push(code);
        self.keys.push(key);
        self.payloads.push(payload);
        if !self.in_statement {
            self.stmt_ends.push(self.codes.len() as u32);
        }
    }

    fn run(&mut self, elements: impl Iterator<Item = Value>) -> Result<u64, SinkError> {
        let start = self.elements.len();
        self.elements.extend(elements);
        let len = self.elements.len() - start;
        if len > Run::MAX_LEN {
            return Err(SinkError::limit("elements in one list", Run::MAX_LEN as u64));
        }
        Ok(Run { start: start as u64, len: len as u32 }.pack())
    }

    /// Starts a statement of any number of operations, even none.
    pub fn begin_statement(&mut self) {
        self.in_statement = true;
    }

    /// Ends the statement.
    pub fn end_statement(&mut self) {
        self.in_statement = false;
        self.stmt_ends.push(self.codes.len() as u32);
    }

    /// The client's interval of the last statement.
    pub fn statement_interval(&mut self, interval: Interval) {
        if let Some(last) = self.stmt_ends.len().checked_sub(1)
            && !interval.is_empty()
        {
            self.stmt_intervals.push((last as u32, interval));
        }
    }

    /// Gives the transaction an attribute.
    pub fn attr(&mut self, name: Value, value: Value) {
        self.set_attr(Entity::Txn, 0, name, value);
    }

    /// Gives the last statement an attribute.
    pub fn stmt_attr(&mut self, name: Value, value: Value) {
        if let Some(last) = self.stmt_ends.len().checked_sub(1) {
            self.set_attr(Entity::Stmt, last as u32, name, value);
        }
    }

    /// Gives the last operation an attribute.
    pub fn op_attr(&mut self, name: Value, value: Value) {
        if let Some(last) = self.codes.len().checked_sub(1) {
            self.set_attr(Entity::Op, last as u32, name, value);
        }
    }

    fn set_attr(&mut self, entity: Entity, id: u32, name: Value, value: Value) {
        self.attrs.push((entity, id, name, value));
    }

    /// Reads the identifiers of one pool as those of another.
    pub(crate) fn remap(&mut self, map: &Remap) {
        self.session = map.sessions.get(self.session.index()).copied().unwrap_or(self.session);
        self.label = self.label.map(|v| map.value(v));
        map.elements(&self.codes, &self.payloads, &mut self.elements);
        for (code, word) in self.codes.iter().zip(&mut self.payloads) {
            if !code.kind().has_elements() {
                *word = map.value(Value::from_trusted_bits(*word)).to_bits();
            }
        }
        for key in &mut self.keys {
            *key = map.key(*key);
        }
        for (_, _, name, value) in &mut self.attrs {
            *name = map.value(*name);
            *value = map.value(*value);
        }
    }

    /// Gives the transaction a snapshot.
    pub fn snapshot(&mut self, pool: &mut Pool, snapshot: &Snapshot) {
        let name = pool.text(crate::attributes::names::SNAPSHOT);
        let value = snapshot.to_value(pool);
        self.attr(name, value);
    }
}

impl Snapshot {
    /// The snapshot as the row that attributes hold.
    pub fn to_value(&self, pool: &mut Pool) -> Value {
        let running: Vec<Value> = self.in_progress.iter().map(|&x| pool.int(x)).collect();
        let columns = [
            (pool.text("xmin"), pool.int(self.xmin)),
            (pool.text("xmax"), pool.int(self.xmax)),
            (pool.text("xip"), pool.list(&running)),
        ];
        pool.row(&columns)
    }

    /// The snapshot that such a row means.
    pub fn from_value(pool: &Pool, value: Value) -> Option<Snapshot> {
        let crate::Datum::Row(row) = pool.datum(value) else { return None };
        let field = |name: &str| row.pairs().find(|&(c, _)| pool.as_text(c) == Some(name));
        let int = |v: Value| pool.as_wide_int(v).and_then(|i| i64::try_from(i).ok());
        let crate::Datum::List(running) = pool.datum(field("xip")?.1) else { return None };
        Some(Snapshot {
            xmin: int(field("xmin")?.1)?,
            xmax: int(field("xmax")?.1)?,
            in_progress: running.iter().map(int).collect::<Option<_>>()?,
        })
    }
}
