//! The sink that keeps everything.

use hashbrown::HashSet;

use crate::columns::Columns;

use crate::draft::TxnDraft;
use crate::error::{SinkError, Warning};
use crate::history::History;
use crate::ids::Key;
use crate::meta::{Event, Meta};
use crate::pool::{POOL_LIMIT, Pool};
use crate::remap::Remap;
use crate::sink::Sink;
use crate::value::{Datum, Value};

/// Builds a [`History`] from what a reader or recorder pushes.
#[derive(Default)]
pub struct HistoryBuilder {
    pub(crate) pool: Pool,
    pub(crate) meta: Meta,
    pub(crate) columns: Columns,
    pub(crate) events: Vec<Event>,
    pub(crate) orders: Vec<(Key, Vec<Value>)>,
    pub(crate) ordered: Ordered,
    pub(crate) warnings: Warnings,
}

/// The keys whose version order is known, each once: a second one would contradict the first, or
/// say it again.
#[derive(Default)]
pub(crate) struct Ordered(HashSet<Key>);

impl Ordered {
    /// Notes a key, unless it has an order already.
    pub(crate) fn add(&mut self, key: Key) -> Result<(), SinkError> {
        if self.0.insert(key) {
            return Ok(());
        }
        Err(SinkError::Refused("the key has a version order already".to_owned()))
    }
}

/// Warnings, of which only the first few are kept word for word.
#[derive(Clone, Default, Debug, PartialEq)]
pub struct Warnings {
    /// The first [`Warnings::KEPT`].
    pub kept: Vec<Warning>,
    /// How many there were in all.
    pub count: u64,
}

impl Warnings {
    /// How many warnings are kept.
    pub const KEPT: usize = 20;

    /// Adds one.
    pub fn push(&mut self, warning: Warning) {
        self.count += 1;
        if self.kept.len() < Warnings::KEPT {
            self.kept.push(warning);
        }
    }

    fn append(&mut self, other: Warnings) {
        let dropped = other.count - other.kept.len() as u64;
        for warning in other.kept {
            self.push(warning);
        }
        self.count += dropped;
    }
}

impl HistoryBuilder {
    /// An empty builder.
    pub fn new() -> HistoryBuilder {
        HistoryBuilder::default()
    }

    /// An empty builder with room for so many transactions and operations.
    pub fn with_capacity(txns: usize, ops: usize) -> HistoryBuilder {
        let mut builder = HistoryBuilder::default();
        builder.columns.reserve(txns, ops);
        builder
    }

    /// The finished history. Warnings, if any, are lost: see [`HistoryBuilder::finish_with_warnings`].
    pub fn finish(self) -> History {
        self.finish_with_warnings().0
    }

    /// The finished history and what the user should know about its source.
    pub fn finish_with_warnings(mut self) -> (History, Warnings) {
        self.pool.freeze();
        self.columns.shrink();
        let history = History::new(self.pool, self.meta, self.columns, self.events, self.orders);
        (history, self.warnings)
    }

    /// Appends another part of the same history, as if its transactions had been pushed here. The
    /// parts' own metadata is ignored.
    pub fn append(&mut self, part: HistoryBuilder) -> Result<(), SinkError> {
        if part.columns.txn_count() == 0 && part.events.is_empty() && part.orders.is_empty() {
            self.warnings.append(part.warnings);
            return Ok(());
        }
        let map = self.pool.adopt(&part.pool);
        self.columns.append(&part.columns, &map)?;
        self.events.extend(part.events.iter().map(|event| event.mapped(&map)));
        for (key, mut versions) in part.orders {
            for v in &mut versions {
                *v = map.value(*v);
            }
            self.order(map.key(key), versions)?;
        }
        self.warnings.append(part.warnings);
        self.check_pool()
    }

    /// Takes the version order of a key that has none yet.
    pub(crate) fn order(&mut self, key: Key, versions: Vec<Value>) -> Result<(), SinkError> {
        self.ordered.add(key)?;
        self.orders.push((key, versions));
        Ok(())
    }

    /// Makes room for a history that is so many times as large as what is here.
    pub(crate) fn reserve_for(&mut self, times: f64) {
        let scaled = |n: usize| (n as f64 * times * 1.01) as usize;
        let (txns, ops) = (scaled(self.columns.txn_count()), scaled(self.columns.op_count()));
        self.columns.reserve(txns, ops);
        self.columns.reserve_evidence(txns, ops);
    }

    fn check_pool(&self) -> Result<(), SinkError> {
        if self.pool.is_full() {
            return Err(SinkError::limit("different names and values", u64::from(POOL_LIMIT)));
        }
        Ok(())
    }
}

impl Pool {
    /// Interns every name and value of another pool; the result says how its identifiers read
    /// here. Tables that change nothing are left out.
    pub(crate) fn adopt(&mut self, other: &Pool) -> Remap {
        let mut map = Remap::default();
        self.adopt_more(other, &mut map);
        if map.keys.iter().enumerate().all(|(i, k)| k.index() == i) {
            map.keys.clear();
        }
        if map.values.iter().enumerate().all(|(i, v)| v.pool_index() == Some(i as u32)) {
            map.values.clear();
        }
        map
    }

    /// Interns what the other pool has learned since the map was made, and extends the map.
    pub(crate) fn adopt_more(&mut self, other: &Pool, map: &mut Remap) {
        self.adopt_values(other, map);
        for &name in &other.key_names()[map.keys.len()..] {
            map.keys.push(self.key(map.value(name)));
        }
        for &name in &other.session_names()[map.sessions.len()..] {
            map.sessions.push(self.session(map.value(name)));
        }
    }

    /// The same for values alone.
    pub(crate) fn adopt_values(&mut self, other: &Pool, map: &mut Remap) {
        for i in map.values.len() as u32..other.entries().len() {
            let (kind, bytes) = other.entries().get(i);
            let value = match other.datum(Value::pooled(i)) {
                // The parts come before the whole, so they are mapped already.
                Datum::List(parts) => {
                    let parts: Vec<Value> = parts.iter().map(|v| map.value(v)).collect();
                    self.list(&parts)
                }
                Datum::Row(parts) => {
                    let columns: Vec<(Value, Value)> =
                        parts.pairs().map(|(c, v)| (map.value(c), map.value(v))).collect();
                    self.row(&columns)
                }
                _ => self.entry(kind, bytes),
            };
            map.values.push(value);
        }
    }
}

impl Sink for HistoryBuilder {
    #[inline]
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.columns.push(txn)?;
        self.check_pool()
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.events.push(event);
        Ok(())
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.order(key, versions.to_vec())
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
}
