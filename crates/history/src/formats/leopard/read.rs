//! Reads slice after slice: which operations are a transaction, and what became of it.

use hashbrown::HashSet;

use crate::attributes::{Entity, names};
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::{Interval, Outcome};
use crate::formats::leopard::slices::Files;
use crate::formats::leopard::table;
use crate::formats::leopard::trace::{LeopardOperation, Told, Tuple, element};
use crate::formats::leopard::words::{
    LOCKS, READ_MODES, SNAPSHOT_COLUMN, ThreadClock, TraceKind, attributes, level_of_word,
    snapshot_times, usual_start_end,
};
use crate::ids::Key;
use crate::meta::{Clock, InitialState, info};
use crate::op::{Effect, OpKind};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Json;
use crate::value::{Datum, Value};

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let files = Files::of(source)?;
    for other in &files.others {
        sink.warn(other.warning("ignored: slices are named loader-<thread>.<slice>.json"));
    }
    let initial = table::read(&files.tables, sink.pool())?;
    let (rows, by_column) = (sink.pool().text(info::ROWS), sink.pool().text(info::BY_COLUMN));
    let meta = sink.meta();
    meta.clock = Clock::Nanoseconds;
    meta.initial = InitialState { given: initial, ..InitialState::every(Value::ABSENT) };
    meta.set(rows, by_column);
    let mut reader = TraceReader { sink, session: ThreadState::default(), seen: Seen::default() };
    let mut loader = 0;
    let mut last: Option<&Input> = None;
    for &(number, input) in &files.slices {
        if number != loader {
            // A thread does not go on in the slices of another one.
            reader.end_thread(last.unwrap_or(input))?;
            loader = number;
        }
        reader.slice(input).map_err(|fault| input.text_error(fault))?;
        last = Some(input);
    }
    last.map_or(Ok(()), |input| reader.end_thread(input))
}

/// What is kept from operation to operation.
struct TraceReader<'s> {
    sink: &'s mut dyn Sink,
    session: ThreadState,
    seen: Seen,
}

/// The names that must not come again.
#[derive(Default)]
struct Seen {
    threads: HashSet<Value>,
    txns: HashSet<Value>,
}

/// The thread whose operations are being read.
#[derive(Default)]
struct ThreadState {
    name: Option<Value>,
    clock: ThreadClock,
    draft: TxnDraft,
    open: Option<OpenTxn>,
}

/// A transaction that has not ended yet.
struct OpenTxn {
    name: Value,
    text: String,
    /// The number that its next operation usually has; `START` has 0.
    next: u64,
    start_end: Option<i64>,
    /// A COMMIT that failed: either ROLLBACK follows, or nobody knows what became of it.
    failed_commit: Option<LeopardOperation>,
}

impl TraceReader<'_> {
    fn slice(&mut self, input: &Input) -> Result<(), Fault> {
        let mut json = Json::new(&input.bytes);
        json.begin_array()?;
        while json.next_item()? {
            if let Some(trace) = element(&mut json, self.sink)? {
                self.operation(trace)?;
            }
        }
        json.finish()
    }

    fn operation(&mut self, mut trace: LeopardOperation) -> Result<(), Fault> {
        let at = trace.at;
        if self.session.name != Some(trace.thread) {
            self.close().map_err(|error| error.shifted(at))?;
            if !self.seen.threads.insert(trace.thread) {
                let complaint = "the operations of a thread do not stand together";
                return Err(Fault::wrong(at, complaint)
                    .hint("each thread has slices of its own, loader-<thread>.<slice>.json"));
            }
            self.session.name = Some(trace.thread);
            self.session.clock = ThreadClock::default();
        }
        let told = self.session.clock.advance(trace.interval);
        told.map_err(|complaint| Fault::wrong(at, complaint))?;
        let begins = self.session.open.as_ref().is_none_or(|open| open.name != trace.txn);
        if begins {
            self.close().map_err(|error| error.shifted(at))?;
            self.begin(&trace)?;
            if trace.kind == TraceKind::Start {
                return self.start(trace);
            }
        }
        self.check_failed_commit(&trace)?;
        self.number(&mut trace);
        match (trace.kind, trace.savepoint) {
            (TraceKind::Commit | TraceKind::Rollback, None) => self.ending(trace),
            (TraceKind::Start, None) => Err(Fault::wrong(at, "the transaction is started twice")),
            _ => self.session.statement(&trace, self.sink.pool()),
        }
    }

    /// Opens the transaction of an operation.
    fn begin(&mut self, trace: &LeopardOperation) -> Result<(), Fault> {
        if !self.seen.txns.insert(trace.txn) {
            let complaint = "the transaction was over: it had ended, or another one had begun";
            return Err(Fault::wrong(trace.at, complaint));
        }
        let session = self.sink.pool().session(trace.thread);
        let ThreadState { draft, open, .. } = &mut self.session;
        draft.reset(session);
        draft.outcome = Outcome::Unknown;
        draft.label = Some(trace.txn);
        draft.interval.begin = trace.interval.begin;
        let text = trace.txn_text.clone();
        let (next, start_end, failed_commit) = (1, None, None);
        *open = Some(OpenTxn { name: trace.txn, text, next, start_end, failed_commit });
        Ok(())
    }

    /// START: what it says beyond its time and the level are attributes of the transaction.
    fn start(&mut self, mut trace: LeopardOperation) -> Result<(), Fault> {
        let at = trace.at;
        no_rows(&trace)?;
        if trace.savepoint.is_some() {
            return Err(Fault::wrong(at, "a savepoint outside of a transaction"));
        }
        if let Some(open) = &mut self.session.open {
            trace.operation = trace.operation.filter(|id| !is_numbered(id, &open.text, 0));
            open.start_end = trace.interval.end;
        }
        let pool = self.sink.pool();
        let draft = &mut self.session.draft;
        if let Some(level) = trace.level.take() {
            let (name, level) = (pool.text(names::LEVEL), pool.text(&level_of_word(&level)));
            set(draft, Entity::Txn, name, level, at)?;
        }
        let exception = trace.exception.take().map(|text| (pool.text("exception"), text));
        for (name, value) in exception.into_iter().chain(raw_members(trace, pool)) {
            set(draft, Entity::Txn, name, value, at)?;
        }
        Ok(())
    }

    /// Only ROLLBACK can follow a COMMIT that failed: it is then a statement like others.
    fn check_failed_commit(&mut self, trace: &LeopardOperation) -> Result<(), Fault> {
        let Some(open) = &mut self.session.open else { return Ok(()) };
        let Some(commit) = open.failed_commit.take() else { return Ok(()) };
        if trace.kind != TraceKind::Rollback || trace.savepoint.is_some() {
            let complaint = "after a COMMIT that failed, only ROLLBACK can follow";
            return Err(Fault::wrong(trace.at, complaint));
        }
        self.session.statement(&commit, self.sink.pool())
    }

    /// Forgets the name of an operation that has the next number in its transaction.
    fn number(&mut self, trace: &mut LeopardOperation) {
        let Some(open) = &mut self.session.open else { return };
        let number = open.next;
        open.next += 1;
        trace.operation = trace.operation.take().filter(|id| !is_numbered(id, &open.text, number));
    }

    fn ending(&mut self, trace: LeopardOperation) -> Result<(), Fault> {
        no_rows(&trace)?;
        let at = trace.at;
        if trace.kind == TraceKind::Commit && trace.exception.is_some() {
            if let Some(open) = &mut self.session.open {
                open.failed_commit = Some(trace);
            }
            return Ok(());
        }
        self.session.draft.outcome = match (trace.kind, trace.interval.end) {
            (TraceKind::Rollback, _) => Outcome::Aborted,
            (_, Some(_)) => Outcome::Committed,
            (_, None) => Outcome::Unknown,
        };
        self.session.end(trace, self.sink.pool())?;
        self.close().map_err(|error| error.shifted(at))
    }

    /// Hands over the transaction that is open, however far it came. Faults stand at 0.
    fn close(&mut self) -> Result<(), Fault> {
        let Some(open) = self.session.open.take() else { return Ok(()) };
        let pool = self.sink.pool();
        if let Some(commit) = open.failed_commit {
            self.session.end(commit, pool)?;
        }
        let draft = &mut self.session.draft;
        let first = draft.stmt_intervals.first().filter(|(stmt, _)| *stmt == 0);
        let first = first.map_or(Interval::default(), |(_, interval)| *interval);
        let usual = usual_start_end(draft.interval.begin, first);
        if let Some(end) = open.start_end.filter(|end| Some(*end) != usual) {
            let (name, end) = (pool.text(names::BEGIN_ANSWERED), pool.int(end));
            set(draft, Entity::Txn, name, end, 0)?;
        }
        self.sink.transaction(draft).map_err(|error| Fault::sink(0, &error))
    }

    /// The thread does nothing any more; what is wrong with its last transaction is told at the end of a file.
    fn end_thread(&mut self, last: &Input) -> Result<(), ReadError> {
        let closed = self.close();
        self.session.name = None;
        closed.map_err(|fault| last.text_error(fault.shifted(last.bytes.len())))
    }
}

impl ThreadState {
    /// COMMIT or ROLLBACK: when it was sent and answered, and whatever else it says.
    fn end(&mut self, mut trace: LeopardOperation, pool: &mut Pool) -> Result<(), Fault> {
        let at = trace.at;
        let draft = &mut self.draft;
        draft.interval.end = trace.interval.end;
        if let Some(sent) = trace.interval.begin {
            let (name, sent) = (pool.text(names::END_SENT), pool.int(sent));
            set(draft, Entity::Txn, name, sent, at)?;
        }
        if let Some(error) = trace.exception.take() {
            set(draft, Entity::Txn, pool.text(names::ERROR), error, at)?;
        }
        let level =
            trace.level.take().map(|level| (pool.text("isolationLevel"), pool.text(&level)));
        let members: Vec<(Value, Value)> =
            raw_members(trace, pool).into_iter().chain(level).collect();
        if members.is_empty() {
            return Ok(());
        }
        let row = pool.row(&members);
        set(draft, Entity::Txn, pool.text(attributes::ENDING), row, at)
    }

    /// An operation that is a statement of the transaction.
    fn statement(&mut self, trace: &LeopardOperation, pool: &mut Pool) -> Result<(), Fault> {
        let draft = &mut self.draft;
        draft.begin_statement();
        let before = draft.op_count();
        let mut locked: Vec<Value> = Vec::new();
        let mut said: Option<TraceKind> = None;
        if trace.kind.has_rows() {
            for tuple in &trace.reads {
                match (tuple.primary_key, tuple.table) {
                    (None, Some(table)) => {
                        no_more_than_a_table(tuple)?;
                        locked.push(table);
                    }
                    _ => read_row(draft, pool, tuple)?,
                }
            }
            for tuple in &trace.writes {
                write_row(draft, pool, trace, tuple)?;
            }
            let reads = trace.writes.is_empty();
            said = Some(if reads { TraceKind::Select } else { trace.kind });
        } else if trace.kind == TraceKind::SetSnapshot {
            said = Some(TraceKind::SetSnapshot);
        } else {
            no_rows(trace)?;
            if let Some(name) = trace.savepoint.filter(|_| trace.exception.is_none()) {
                savepoint(draft, trace, name)?;
                said = Some(trace.kind);
            }
        }
        draft.end_statement();
        draft.statement_interval(trace.interval);
        let named = draft.op_count() > before && !trace.kind.has_rows();
        let mut stmt = StatementAttributes { draft, pool, at: trace.at };
        if said != Some(trace.kind) {
            let kind = stmt.pool.text(trace.kind.name());
            stmt.set(attributes::KIND, kind)?;
        }
        if trace.kind == TraceKind::SetSnapshot {
            stmt.snapshot(trace)?;
        }
        if !locked.is_empty() {
            let locked = stmt.pool.list(&locked);
            stmt.set(attributes::LOCKED_TABLES, locked)?;
        }
        stmt.evidence(trace, named)
    }
}

/// Says something of the last statement.
struct StatementAttributes<'a> {
    draft: &'a mut TxnDraft,
    pool: &'a mut Pool,
    at: usize,
}

impl StatementAttributes<'_> {
    fn set(&mut self, name: &str, value: Value) -> Result<(), Fault> {
        let name = self.pool.text(name);
        set(self.draft, Entity::Stmt, name, value, self.at)
    }

    /// What the members of an operation say of it. A savepoint may be `named` by an operation already.
    fn evidence(&mut self, trace: &LeopardOperation, named: bool) -> Result<(), Fault> {
        if let Some(lock) = trace.lock {
            let lock = self.pool.text(lock.name());
            self.set(names::LOCK, lock)?;
        }
        if let Some(mode) = trace.read_mode {
            let mode = self.pool.text(mode);
            self.set(names::READ_MODE, mode)?;
        }
        if let Some(id) = &trace.operation {
            let id = self.pool.text(id);
            self.set("operationID", id)?;
        }
        if let Some(level) = &trace.level {
            let level = self.pool.text(level);
            self.set("isolationLevel", level)?;
        }
        let savepoint = trace.savepoint.filter(|_| !named);
        for (name, value) in [
            (names::PREDICATE, trace.predicate),
            (names::ERROR, trace.exception),
            (names::SQL, trace.sql),
            (attributes::SAVEPOINT, savepoint),
        ] {
            if let Some(value) = value {
                self.set(name, value)?;
            }
        }
        for &(name, value) in &trace.extras {
            set(self.draft, Entity::Stmt, name, value, self.at)?;
        }
        Ok(())
    }

    /// The interval in which a snapshot was taken that the server was asked for.
    fn snapshot(&mut self, trace: &LeopardOperation) -> Result<(), Fault> {
        let expected = || {
            Fault::expected(
                trace.at,
                "one tuple with \"valueMap\": {\"SNAPSHOT\": \"start,finish\"}",
            )
        };
        let mut tuples = trace.reads.iter().chain(&trace.writes);
        let (Some(tuple), None) = (tuples.next(), tuples.next()) else { return Err(expected()) };
        let Told::Columns(columns) = tuple.values else { return Err(expected()) };
        let times = snapshot_of_row(self.pool, columns).ok_or_else(expected)?;
        if tuple.real.is_some() || !tuple.extras.is_empty() {
            return Err(expected());
        }
        let times = [self.pool.int(times.0), self.pool.int(times.1)];
        let times = self.pool.list(&times);
        self.set(names::SNAPSHOT_INTERVAL, times)?;
        if tuple.table.is_some() || tuple.primary_key.is_some() {
            let row = [tuple.table, tuple.primary_key].map(|name| name.unwrap_or(Value::ABSENT));
            let row = self.pool.list(&row);
            self.set(attributes::SNAPSHOT_OF, row)?;
        }
        Ok(())
    }
}

fn snapshot_of_row(pool: &Pool, row: Value) -> Option<(i64, i64)> {
    let Datum::Row(columns) = pool.datum(row) else { return None };
    let mut pairs = columns.pairs();
    let (Some((name, text)), None) = (pairs.next(), pairs.next()) else { return None };
    (pool.as_text(name)? == SNAPSHOT_COLUMN).then_some(())?;
    snapshot_times(pool.as_text(text)?)
}

fn read_row(draft: &mut TxnDraft, pool: &mut Pool, tuple: &Tuple) -> Result<(), Fault> {
    let key = row_key(tuple, pool)?;
    let value = match tuple.values {
        Told::Nothing => Value::UNOBSERVED,
        Told::Absent => Value::ABSENT,
        Told::Columns(columns) => columns,
    };
    draft.read(key, value);
    row_attributes(draft, pool, tuple)
}

fn write_row(
    draft: &mut TxnDraft,
    pool: &mut Pool,
    trace: &LeopardOperation,
    tuple: &Tuple,
) -> Result<(), Fault> {
    let key = row_key(tuple, pool)?;
    // What came back with an error did nothing.
    let effect = if trace.exception.is_some() { Effect::Failed } else { Effect::Done };
    let kind = match trace.kind {
        TraceKind::Update => OpKind::Write,
        TraceKind::Insert => OpKind::InsertIfAbsent,
        TraceKind::Delete => OpKind::Delete,
        _ => return Err(Fault::wrong(tuple.at, "a SELECT writes no row")),
    };
    match (kind, tuple.values) {
        (OpKind::Delete, values) => {
            draft.delete(key, effect);
            if let Told::Columns(columns) = values {
                set(draft, Entity::Op, pool.text(attributes::VALUES), columns, tuple.at)?;
            }
        }
        (_, Told::Columns(columns)) => draft.op(kind, effect, key, columns),
        _ => return Err(Fault::expected(tuple.at, "a row with the columns that were written")),
    }
    row_attributes(draft, pool, tuple)
}

fn row_key(tuple: &Tuple, pool: &mut Pool) -> Result<Key, Fault> {
    let (Some(table), Some(primary_key)) = (tuple.table, tuple.primary_key) else {
        return Err(Fault::expected(tuple.at, "a row with \"table\" and \"primaryKey\""));
    };
    let name = pool.list(&[table, primary_key]);
    Ok(pool.key(name))
}

fn row_attributes(draft: &mut TxnDraft, pool: &mut Pool, tuple: &Tuple) -> Result<(), Fault> {
    let real = tuple.real.map(|real| (pool.text(attributes::REAL_VALUES), real));
    for (name, value) in real.into_iter().chain(tuple.extras.iter().copied()) {
        set(draft, Entity::Op, name, value, tuple.at)?;
    }
    Ok(())
}

/// A tuple without a primary key locks its table, and says nothing of any row.
fn no_more_than_a_table(tuple: &Tuple) -> Result<(), Fault> {
    let columns = matches!(tuple.values, Told::Columns(_)) || tuple.real.is_some();
    if columns || !tuple.extras.is_empty() {
        return Err(Fault::wrong(tuple.at, "columns of a row that has no primary key"));
    }
    Ok(())
}

fn savepoint(draft: &mut TxnDraft, trace: &LeopardOperation, name: Value) -> Result<(), Fault> {
    let there = match trace.kind {
        TraceKind::Rollback => draft.rollback_to(name),
        TraceKind::Commit => draft.release(name),
        _ => {
            draft.savepoint(name);
            true
        }
    };
    let complaint = "the transaction has no such savepoint";
    if there { Ok(()) } else { Err(Fault::wrong(trace.at, complaint)) }
}

/// Neither the beginning nor the end of a transaction has rows.
fn no_rows(trace: &LeopardOperation) -> Result<(), Fault> {
    let complaint = || format!("{} has no rows", trace.kind.word());
    match trace.reads.iter().chain(&trace.writes).next() {
        Some(tuple) => Err(Fault::wrong(tuple.at, complaint())),
        None => Ok(()),
    }
}

/// Whether an operation has that number in its transaction.
fn is_numbered(id: &str, txn: &str, number: u64) -> bool {
    let rest = id.strip_prefix(txn).and_then(|rest| rest.strip_prefix(','));
    rest.is_some_and(|rest| rest.parse() == Ok(number) && rest == number.to_string())
}

/// What an operation says beside its time, its rows, its level and its exception, under the names that the file
/// has for it.
fn raw_members(trace: LeopardOperation, pool: &mut Pool) -> Vec<(Value, Value)> {
    let lock = LOCKS.iter().find(|lock| Some(lock.1) == trace.lock).map(|lock| lock.0);
    let mode = READ_MODES.iter().find(|mode| Some(mode.1) == trace.read_mode).map(|mode| mode.0);
    let words = [("traceLockMode", lock), ("readMode", mode)];
    let words = words.map(|(name, word)| (name, word.map(|word| pool.text(word))));
    let id = trace.operation.map(|id| pool.text(&id));
    let others = [("operationID", id), ("predicateLock", trace.predicate), ("sql", trace.sql)];
    let there = words.into_iter().chain(others);
    let mut members: Vec<(Value, Value)> =
        there.filter_map(|(name, value)| Some((pool.text(name), value?))).collect();
    members.extend(trace.extras);
    members
}

/// Gives the transaction, its last statement or its last operation an attribute that it does not have yet.
fn set(
    draft: &mut TxnDraft,
    entity: Entity,
    name: Value,
    value: Value,
    at: usize,
) -> Result<(), Fault> {
    let id = match entity {
        Entity::Txn => Some(0),
        Entity::Stmt => draft.stmt_count().checked_sub(1),
        Entity::Op => draft.op_count().checked_sub(1),
    };
    let same =
        |attr: &&(Entity, u32, Value, Value)| attr.0 == entity && Some(attr.1 as usize) == id;
    // Those of one statement or operation stand together; of a transaction there are few.
    let mut there = draft.attrs.iter().rev().take_while(|attr| entity == Entity::Txn || same(attr));
    if there.any(|attr| same(&attr) && attr.2 == name) {
        return Err(Fault::wrong(at, "two members say the same thing"));
    }
    match entity {
        Entity::Txn => draft.attr(name, value),
        Entity::Stmt => draft.stmt_attr(name, value),
        Entity::Op => draft.op_attr(name, value),
    }
    Ok(())
}
