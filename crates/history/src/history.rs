//! The history itself: immutable, columnar, with views for code that reads one transaction at a time.

use std::ops::Range;

use crate::attributes::{AttrColumn, Entity, names};
use crate::columns::Columns;
use crate::evidence::{EndedAt, ErrorClass, Interval, LockMode, Outcome, Snapshot, Timestamp};
use crate::evidence_names;
use crate::group::grouped;
use crate::ids::{Key, OpId, SessionId, StmtId, TxnId};
use crate::lost_commit::LostCommit;
use crate::meta::{Event, Meta};
use crate::op::{Op, OpCode, OpKind};
use crate::pool::Pool;
use crate::session_event::SessionEvent;
use crate::stream_promise::StreamPromise;
use crate::value::Value;

/// What happened: sessions, transactions, statements, operations, and the evidence beside them.
///
/// Made by a [`HistoryBuilder`](crate::HistoryBuilder), never changed afterwards.
pub struct History {
    pool: Pool,
    meta: Meta,
    columns: Columns,
    events: Vec<Event>,
    orders: Vec<(Key, Vec<Value>)>,
    /// The transactions of each session, in session order.
    session_txns: Vec<TxnId>,
    session_ends: Vec<u32>,
}

impl History {
    pub(crate) fn new(
        pool: Pool,
        meta: Meta,
        columns: Columns,
        events: Vec<Event>,
        orders: Vec<(Key, Vec<Value>)>,
    ) -> History {
        let (session_txns, session_ends) = group_by_session(&columns.sessions, &pool);
        History { pool, meta, columns, events, orders, session_txns, session_ends }
    }

    /// Names and values.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What is known of the run as a whole.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// A fact about the run (see [`info`](crate::info) for the names).
    pub fn info(&self, name: &str) -> Option<Value> {
        let entry = self.meta.info.iter().find(|(n, _)| self.pool.as_text(*n) == Some(name));
        entry.map(|&(_, v)| v)
    }

    /// A fact about the run that is a text.
    pub fn info_text(&self, name: &str) -> Option<&str> {
        self.pool.as_text(self.info(name)?)
    }

    /// Whether operations speak of columns of rows rather than of whole values: what a read returned is then
    /// not one value that some transaction wrote.
    ///
    /// ```
    /// use isolde_history::notation::parse;
    /// let history = parse("meta rows by-column\na: w(r,{v:1}) r(r,{v:1,w:2})").unwrap();
    /// assert!(history.rows_by_column());
    /// assert!(!parse("a: w(r,{v:1})").unwrap().rows_by_column());
    /// ```
    pub fn rows_by_column(&self) -> bool {
        self.meta.rows_by_column(&self.pool)
    }

    /// Everything on the time line: faults, and what recorders say of sessions and of commits.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Faults and other things that happened to the system: the events that are not about sessions,
    /// commits or what is still to come.
    pub fn faults(&self) -> impl Iterator<Item = &Event> + Clone {
        let about = |event: &Event| {
            SessionEvent::of(&self.pool, event).is_some()
                || LostCommit::of(&self.pool, event).is_some()
                || StreamPromise::of(&self.pool, event).is_some()
        };
        self.events.iter().filter(move |event| !about(event))
    }

    /// Commits that the server had confirmed and has lost, as the recorder found out.
    pub fn lost_commits(&self) -> impl Iterator<Item = LostCommit> + '_ {
        self.events.iter().filter_map(|event| LostCommit::of(&self.pool, event))
    }

    /// Heartbeats and ends of sessions, in the order in which they were recorded.
    pub fn session_events(&self) -> impl Iterator<Item = SessionEvent> + '_ {
        self.events.iter().filter_map(|event| SessionEvent::of(&self.pool, event))
    }

    /// What the source promised of what was then still to come, in the order in which it did.
    pub fn promises(&self) -> impl Iterator<Item = StreamPromise> + '_ {
        self.events.iter().filter_map(|event| StreamPromise::of(&self.pool, event))
    }

    /// The version order of some keys, oldest first, as the recorder gave it.
    pub fn version_orders(&self) -> &[(Key, Vec<Value>)] {
        &self.orders
    }

    /// How many transactions there are.
    pub fn txn_count(&self) -> usize {
        self.columns.txn_count()
    }

    /// How many statements there are.
    pub fn stmt_count(&self) -> usize {
        self.columns.stmt_count()
    }

    /// Whether every operation is a statement of its own.
    pub fn has_plain_statements(&self) -> bool {
        !self.columns.explicit_stmts
    }

    /// How many operations there are.
    pub fn op_count(&self) -> usize {
        self.columns.op_count()
    }

    /// How many different keys there are.
    pub fn key_count(&self) -> usize {
        self.pool.key_names().len()
    }

    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.pool.session_names().len()
    }

    /// All transactions, in the order in which they were delivered.
    pub fn txns(&self) -> impl ExactSizeIterator<Item = Txn<'_>> + DoubleEndedIterator {
        (0..self.txn_count() as u32).map(|i| self.txn(TxnId(i)))
    }

    /// One transaction.
    ///
    /// # Panics
    /// If the history has no transaction of that number.
    #[inline]
    pub fn txn(&self, id: TxnId) -> Txn<'_> {
        assert!(id.index() < self.txn_count(), "no transaction {id:?}");
        Txn { history: self, id }
    }

    /// The transactions of a session, in session order.
    pub fn session(&self, session: SessionId) -> &[TxnId] {
        let i = session.index();
        let start = if i == 0 { 0 } else { self.session_ends[i - 1] as usize };
        &self.session_txns[start..self.session_ends[i] as usize]
    }

    /// All operations.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'_>> {
        (0..self.op_count()).map(|i| self.op_at(i))
    }

    /// One operation.
    #[inline]
    pub fn op(&self, id: OpId) -> Op<'_> {
        self.op_at(id.index())
    }

    /// One operation, for callers that know its key: operations of one key lie far apart, and a column
    /// less to look at is a third of the time.
    #[inline]
    pub fn op_on(&self, key: Key, id: OpId) -> Op<'_> {
        let i = id.index();
        debug_assert_eq!(self.columns.keys[i], key);
        let (code, payload) = (self.columns.codes[i], self.columns.payloads[i]);
        Op { id, code, key, payload, elements: &self.columns.elements }
    }

    #[inline]
    fn op_at(&self, i: usize) -> Op<'_> {
        Op {
            id: OpId(i as u32),
            code: self.columns.codes[i],
            key: self.columns.keys[i],
            payload: self.columns.payloads[i],
            elements: &self.columns.elements,
        }
    }

    /// The key of every operation, as a column.
    pub fn op_keys(&self) -> &[Key] {
        &self.columns.keys
    }

    /// The session of every transaction, as a column.
    pub fn txn_sessions(&self) -> &[SessionId] {
        &self.columns.sessions
    }

    /// The outcome of every transaction, as a column.
    pub fn txn_outcomes(&self) -> &[Outcome] {
        &self.columns.outcomes
    }

    /// The transaction that an operation belongs to, by binary search.
    pub fn txn_of(&self, op: OpId) -> TxnId {
        let end_of = |t: usize| self.columns.ops_of(self.columns.stmts_of(t)).end;
        let (mut low, mut high) = (0, self.txn_count());
        while low < high {
            let mid = usize::midpoint(low, high);
            if end_of(mid) <= op.index() { low = mid + 1 } else { high = mid }
        }
        TxnId(low as u32)
    }

    /// Bytes on the heap, counted.
    pub fn heap_bytes(&self) -> usize {
        self.columns.heap_bytes()
            + self.pool.heap_bytes()
            + self.session_txns.capacity() * 4
            + self.session_ends.capacity() * 4
            + self.events.capacity() * size_of::<Event>()
            + self.orders.iter().map(|(_, v)| v.capacity() * 8 + 32).sum::<usize>()
    }

    /// How many elements the lists of all operations have.
    pub fn element_count(&self) -> usize {
        self.columns.elements.len()
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }
}

/// The transactions by session, in session order, and where those of each session end.
fn group_by_session(sessions: &[SessionId], pool: &Pool) -> (Vec<TxnId>, Vec<u32>) {
    grouped(pool.session_names().len(), TxnId(0), || {
        sessions.iter().enumerate().map(|(txn, session)| (session.index(), TxnId(txn as u32)))
    })
}

/// One transaction of a history.
#[derive(Clone, Copy)]
pub struct Txn<'h> {
    history: &'h History,
    id: TxnId,
}

impl<'h> Txn<'h> {
    /// Its identifier.
    pub const fn id(&self) -> TxnId {
        self.id
    }

    /// The session that ran it.
    pub fn session(&self) -> SessionId {
        self.history.columns.sessions[self.id.index()]
    }

    /// Its position among the transactions of its session, from 0.
    pub fn position(&self) -> usize {
        self.history.session(self.session()).partition_point(|t| *t < self.id)
    }

    /// What became of it.
    pub fn outcome(&self) -> Outcome {
        self.history.columns.outcomes[self.id.index()]
    }

    /// What the source called it.
    pub fn label(&self) -> Option<Value> {
        self.history.columns.labels.get(self.id.index())
    }

    /// The client's interval.
    pub fn interval(&self) -> Interval {
        let i = self.id.index();
        let c = &self.history.columns;
        Interval { begin: c.txn_begin.time(i), end: c.txn_end.time(i) }
    }

    /// The database's start timestamp.
    pub fn start_ts(&self) -> Option<Timestamp> {
        self.history.columns.start_ts.get(self.id.index())
    }

    /// The database's commit timestamp.
    pub fn commit_ts(&self) -> Option<Timestamp> {
        self.history.columns.commit_ts.get(self.id.index())
    }

    /// The statements, in program order.
    pub fn stmts(&self) -> impl ExactSizeIterator<Item = Stmt<'h>> + use<'h> {
        let history = self.history;
        let range = history.columns.stmts_of(self.id.index());
        range.map(move |i| Stmt { history, id: StmtId(i as u32) })
    }

    /// The operations of all statements, in program order.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'h>> + use<'h> {
        let history = self.history;
        self.op_range().map(move |i| history.op_at(i))
    }

    /// The operations as a range of columns.
    #[inline]
    pub fn op_range(&self) -> Range<usize> {
        let c = &self.history.columns;
        c.ops_of(c.stmts_of(self.id.index()))
    }

    /// An attribute by name (see [`names`]).
    pub fn attr(&self, name: &str) -> Option<Value> {
        self.history.attr(Entity::Txn, self.id.0, name)
    }

    /// All attributes.
    pub fn attrs(&self) -> impl Iterator<Item = (Value, Value)> + use<'h> {
        self.history.columns.attrs.of(Entity::Txn, self.id.0)
    }

    /// The recorder's own number of it in its session, from which lost transactions can be told. For all
    /// transactions, [`History::seqs`] is faster.
    pub fn seq(&self) -> Option<i64> {
        self.history.wide_int(self.attr(names::SEQ)?)
    }

    /// The snapshot it read from, as the server told.
    pub fn snapshot(&self) -> Option<Snapshot> {
        Snapshot::from_value(&self.history.pool, self.attr(names::SNAPSHOT)?)
    }

    /// The server's number of it, to which snapshots refer.
    pub fn xid(&self) -> Option<i64> {
        self.history.wide_int(self.attr(names::XID)?)
    }

    /// How often the server had been started again before it; 0 if it is not said.
    pub fn restart(&self) -> i64 {
        self.attr(names::RESTART).and_then(|at| self.history.wide_int(at)).unwrap_or(0)
    }

    /// Whether it was declared read-only.
    pub fn read_only(&self) -> Option<bool> {
        self.attr(names::READ_ONLY)?.as_bool()
    }

    /// The client's interval of COMMIT or ROLLBACK itself, as far as it is known. It ends when the
    /// transaction's own interval does.
    pub fn ending(&self) -> Interval {
        let interval = self.interval();
        evidence_names::ending(&self.history.pool, self.attr(names::END_SENT), interval)
    }

    /// Where the server ended it by itself, if it did and the recorder knows.
    pub fn ended_at(&self) -> Option<EndedAt> {
        let at = self.attr(names::SERVER_ENDED_AT)?;
        evidence_names::ended_at(&self.history.pool, at, self.stmts().len())
    }

    /// What kind of error ended it.
    pub fn error_class(&self) -> Option<ErrorClass> {
        ErrorClass::from_name(self.history.pool.as_text(self.attr(names::ERROR_CLASS)?)?)
    }
}

/// One statement of a history.
#[derive(Clone, Copy)]
pub struct Stmt<'h> {
    history: &'h History,
    id: StmtId,
}

impl<'h> Stmt<'h> {
    /// Its identifier.
    pub const fn id(&self) -> StmtId {
        self.id
    }

    /// Its operations.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'h>> + use<'h> {
        let history = self.history;
        let i = self.id.index();
        history.columns.ops_of(i..i + 1).map(move |i| history.op_at(i))
    }

    /// The client's interval.
    pub fn interval(&self) -> Interval {
        let i = self.id.index();
        let c = &self.history.columns;
        Interval { begin: c.stmt_begin.time(i), end: c.stmt_end.time(i) }
    }

    /// An attribute by name (see [`names`]).
    pub fn attr(&self, name: &str) -> Option<Value> {
        self.history.attr(Entity::Stmt, self.id.0, name)
    }

    /// All attributes.
    pub fn attrs(&self) -> impl Iterator<Item = (Value, Value)> + use<'h> {
        self.history.columns.attrs.of(Entity::Stmt, self.id.0)
    }

    /// The snapshot it read from, as the server told.
    pub fn snapshot(&self) -> Option<Snapshot> {
        Snapshot::from_value(&self.history.pool, self.attr(names::SNAPSHOT)?)
    }

    /// The lock mode it asked for.
    pub fn lock(&self) -> Option<LockMode> {
        LockMode::from_name(self.history.pool.as_text(self.attr(names::LOCK)?)?)
    }

    /// How many rows it changed.
    pub fn affected(&self) -> Option<i64> {
        self.attr(names::AFFECTED)?.as_int()
    }
}

impl History {
    fn attr(&self, entity: Entity, id: u32, name: &str) -> Option<Value> {
        let name = self.attr_column(entity, name)?.name;
        self.columns.attr(entity, id, name)
    }

    fn attr_column(&self, entity: Entity, name: &str) -> Option<&AttrColumn> {
        let mut columns = self.columns.attrs.columns.iter().filter(|c| c.entity == entity);
        columns.find(|c| self.pool.as_text(c.name) == Some(name))
    }

    /// An attribute of all transactions that have it, in their order: the column itself, where
    /// [`Txn::attr`] looks it up by name each time.
    pub fn txn_attrs(&self, name: &str) -> impl Iterator<Item = (TxnId, Value)> + '_ {
        let column = self.attr_column(Entity::Txn, name).into_iter();
        column.flat_map(|c| c.ids.iter().map(|id| TxnId(*id)).zip(c.values.iter().copied()))
    }

    /// An attribute of all statements that have it, in their order.
    pub fn stmt_attrs(&self, name: &str) -> impl Iterator<Item = (StmtId, Value)> + '_ {
        let column = self.attr_column(Entity::Stmt, name).into_iter();
        column.flat_map(|c| c.ids.iter().map(|id| StmtId(*id)).zip(c.values.iter().copied()))
    }

    /// An attribute of all transactions that is an integer, where it is one.
    pub fn txn_ints(&self, name: &str) -> impl Iterator<Item = (TxnId, i64)> + '_ {
        self.txn_attrs(name).filter_map(|(txn, value)| Some((txn, self.wide_int(value)?)))
    }

    /// The recorder's own number of each transaction in its session (see [`Txn::seq`]), where it has one.
    ///
    /// ```
    /// let history = isolde_history::notation::parse("a: w(x,1) {seq=4}\na: w(x,2)\nb: w(x,3) {seq=7}").unwrap();
    /// let seqs: Vec<_> = history.seqs().map(|(txn, seq)| (txn.index(), seq)).collect();
    /// assert_eq!(seqs, [(0, 4), (2, 7)]);
    /// assert_eq!(history.txns().last().and_then(|txn| txn.seq()), Some(7));
    /// ```
    pub fn seqs(&self) -> impl Iterator<Item = (TxnId, i64)> + '_ {
        self.txn_ints(names::SEQ)
    }

    fn wide_int(&self, value: Value) -> Option<i64> {
        self.pool.as_wide_int(value).and_then(|int| i64::try_from(int).ok())
    }

    /// An attribute of an operation by name (see [`names`]).
    pub fn op_attr(&self, op: OpId, name: &str) -> Option<Value> {
        self.attr(Entity::Op, op.0, name)
    }

    /// All attributes of an operation.
    pub fn op_attrs(&self, op: OpId) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.columns.attrs.of(Entity::Op, op.0)
    }

    /// Whether there is any operation of a kind. It is a matter of a moment, unlike counting.
    ///
    /// ```
    /// use isolde_history::{OpKind, notation};
    /// let history = notation::parse("a: w(x,1) r(x,1)").unwrap();
    /// assert!(history.has_ops(OpKind::Read) && !history.has_ops(OpKind::Append));
    /// ```
    pub fn has_ops(&self, kind: OpKind) -> bool {
        // Without a branch for each, a processor compares dozens at once.
        let any = |codes: &[OpCode]| codes.iter().fold(false, |any, code| any | code.is(kind));
        self.columns.codes.chunks(1 << 10).any(any)
    }

    /// How many operations of each kind there are.
    pub fn op_counts(&self) -> [usize; OpKind::ALL.len()] {
        let mut counts = [0; OpKind::ALL.len()];
        for code in &self.columns.codes {
            counts[code.kind() as usize] += 1;
        }
        counts
    }
}
