//! From a recorded transaction to its [`Trace`]: what each statement did by the rules of the server's profile.

use hashbrown::HashMap;
use isolde_history::{Effect, History, LockMode, Op, OpId, OpKind, Stmt, Txn, TxnId, Value, names};
use isolde_spec::{LockScope, LockingReads, PlainReads, Profile, SnapshotAt};

use super::content::{Content, Observed};
use super::lock_modes::are_compatible;
use super::ranges::{KeyHold, TableKey, pair};
use super::span::Span;
use super::times::Times;
use super::trace::{DATABASE, Fate, Hold, Looked, OwnWrite, Read, Sees, Trace, Turn, Write};
use crate::bodies::TxnRef;
use crate::content::{NameId, name_id, word};

/// Reads the transactions of one batch.
pub(crate) struct Tracer<'h> {
    history: &'h History,
    profile: &'h Profile,
    batch: u32,
    /// Whether values that are rows speak of columns.
    by_column: bool,
    /// Whether statements say how they lock, how they read, when their snapshot was taken, and that they failed: it takes
    /// time to ask each.
    says: [bool; 5],
}

impl<'h> Tracer<'h> {
    pub(crate) fn new(history: &'h History, profile: &'h Profile, batch: u32) -> Tracer<'h> {
        let by_column = history.rows_by_column();
        let says =
            [names::LOCK, names::READ_MODE, names::SNAPSHOT_INTERVAL, names::ERROR, names::RANGE];
        let says = says.map(|name| history.stmt_attrs(name).next().is_some());
        Tracer { history, profile, batch, by_column, says }
    }

    /// Whether values that are rows speak of columns.
    pub(crate) fn by_column(&self) -> bool {
        self.by_column
    }

    /// What it reads.
    pub(crate) fn history(&self) -> &'h History {
        self.history
    }

    /// What is known of a transaction.
    pub(crate) fn trace(&self, id: TxnId) -> Trace {
        let txn = self.history.txn(id);
        let times = Times::of(self.history, &txn, self.profile);
        let mut course = Course::new(self, &times);
        for (number, stmt) in txn.stmts().enumerate() {
            course.statement(number, &stmt);
        }
        course.finish(&txn, self.turn(&txn, &times))
    }

    fn turn(&self, txn: &Txn<'_>, times: &Times) -> Turn {
        let interval = txn.interval();
        let pool = self.history.pool();
        Turn {
            ended: interval.end.unwrap_or_else(|| times.last_known()),
            began: interval.begin.unwrap_or(i64::MIN),
            session: name_id(pool, pool.session_name(txn.session())),
            position: txn.position() as u32,
        }
    }

    /// The lock that a statement asks for by name.
    fn lock(&self, stmt: &Stmt<'_>) -> Option<LockMode> {
        let lock = if self.says[0] { stmt.lock() } else { None };
        lock.filter(|mode| *mode != LockMode::None)
    }

    /// How a statement says that it reads.
    fn read_mode(&self, stmt: &Stmt<'h>) -> Option<&'h str> {
        let mode = if self.says[1] { stmt.attr(names::READ_MODE) } else { None };
        mode.and_then(|mode| self.history.pool().as_text(mode))
    }

    /// When a statement says that the snapshot of its transaction was taken.
    fn snapshot_interval(&self, stmt: &Stmt<'_>) -> Option<Span> {
        let said = if self.says[2] { stmt.attr(names::SNAPSHOT_INTERVAL) } else { None };
        let (sent, answered) = pair(self.history.pool(), said?)?;
        Some(Span { sent: sent.as_int()?, answered: answered.as_int()? })
    }

    /// Whether the text of a statement says that it reads or writes a table, whether or not it found a row. (SELECT 1 takes a
    /// snapshot in PostgreSQL, but not in SQLite.)
    fn is_query(&self, stmt: &Stmt<'_>) -> bool {
        let text = stmt.attr(names::SQL).and_then(|sql| self.history.pool().as_text(sql));
        let mut words = text.unwrap_or_default().split_whitespace();
        let first = words.next().unwrap_or_default();
        let starts = |word: &&str| first.eq_ignore_ascii_case(word);
        let writes = ["INSERT", "UPDATE", "DELETE"].iter().any(starts);
        let reads = starts(&"SELECT") && words.any(|word| word.eq_ignore_ascii_case("FROM"));
        (writes || reads) && !self.has_failed(stmt)
    }

    /// The range of keys that a statement says it looked at.
    fn range(&self, stmt: &Stmt<'_>) -> Option<(TableKey, i64)> {
        let said = if self.says[4] { stmt.attr(names::RANGE) } else { None };
        let pool = self.history.pool();
        let (first, last) = pair(pool, said?)?;
        let (first, last) = (TableKey::of(pool, first)?, TableKey::of(pool, last)?);
        (first.table == last.table).then_some((first, last.number))
    }

    /// Whether a statement failed.
    fn has_failed(&self, stmt: &Stmt<'_>) -> bool {
        self.says[3] && stmt.attr(names::ERROR).is_some()
    }

    fn row(&self, op: &Op<'_>) -> NameId {
        let pool = self.history.pool();
        name_id(pool, pool.key_name(op.key()))
    }
}

/// Whether a read certainly looks into a table. One that finds nothing may have a condition that cannot be true (`WHERE
/// id = NULL`), and then a server need not look.
fn certainly_looks(op: &Op<'_>) -> bool {
    match op.kind() {
        OpKind::Read | OpKind::ListRead => true,
        OpKind::PredicateRead => op.result_set().is_some_and(|mut rows| rows.next().is_some()),
        _ => false,
    }
}

/// A row that was read, and what was seen.
struct ReadRow {
    row: NameId,
    op: u32,
    observed: Observed,
}

/// A savepoint, and what had been done by then.
struct Savepoint {
    name: Value,
    writes: usize,
    holds: usize,
    /// Whether the transaction had done nothing before.
    is_first: bool,
}

/// Whether an operation is about the transaction itself, and touches no row.
fn is_control(kind: OpKind) -> bool {
    matches!(kind, OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release)
}

/// A transaction, statement by statement.
struct Course<'t, 'h> {
    tracer: &'t Tracer<'h>,
    times: &'t Times,
    reads: Vec<Read>,
    looks: Vec<Looked>,
    writes: Vec<Write>,
    /// Which writes of a row stand so far, the last one last.
    own: HashMap<NameId, Vec<usize>>,
    holds: Vec<Hold>,
    ranges: Vec<KeyHold>,
    inserted: Vec<KeyHold>,
    savepoints: Vec<Savepoint>,
    /// How the statement says that it reads.
    mode: Option<&'h str>,
    /// The number of the statement, if all that it returns is of one snapshot of its own.
    joint: Option<u32>,
    /// Whether something was done to rows.
    has_begun: bool,
    /// When the first statement was sent that failed and went back to no savepoint yet.
    failed_at: Option<i64>,
    /// Whether the snapshot may have been given back.
    is_without_snapshot: bool,
    snapshot: Option<Span>,
    /// From the first statement on that may have taken the snapshot, if none certainly has.
    may_have_snapshot: Option<Span>,
}

impl<'t, 'h> Course<'t, 'h> {
    fn new(tracer: &'t Tracer<'h>, times: &'t Times) -> Course<'t, 'h> {
        Course {
            tracer,
            times,
            reads: Vec::new(),
            looks: Vec::new(),
            writes: Vec::new(),
            own: HashMap::new(),
            holds: Vec::new(),
            ranges: Vec::new(),
            inserted: Vec::new(),
            savepoints: Vec::new(),
            mode: None,
            joint: None,
            has_begun: false,
            failed_at: None,
            is_without_snapshot: false,
            snapshot: None,
            may_have_snapshot: None,
        }
    }

    fn statement(&mut self, number: usize, stmt: &Stmt<'h>) {
        let span = self.times.stmts[number];
        let lock = self.tracer.lock(stmt);
        self.note_snapshot(stmt, span, lock);
        self.mode = self.tracer.read_mode(stmt);
        self.joint = self.has_one_snapshot(stmt).then_some(number as u32);
        if self.tracer.has_failed(stmt) {
            self.failed_at = self.failed_at.or(Some(span.sent));
        }
        for op in stmt.ops() {
            match op.kind() {
                OpKind::Savepoint => self.set_savepoint(op.value()),
                OpKind::RollbackTo => self.roll_back_to(op.value(), span),
                OpKind::Release => self.release(op.value()),
                OpKind::PredicateRead => self.rows_of_predicate(&op, span, lock),
                kind if kind.writes() => self.write(number, &op, span),
                _ => {
                    let pool = self.tracer.history.pool();
                    if let Some(seen) = Observed::read(pool, &op, self.tracer.by_column) {
                        let (row, op) = (self.tracer.row(&op), op.id().0);
                        self.read(number, ReadRow { row, op, observed: seen }, span, lock);
                    }
                }
            }
            self.has_begun |= !is_control(op.kind());
        }
        if self.tracer.profile.range_locks {
            self.lock_range(number, stmt, span, lock);
        }
    }

    /// Whether a statement returns several rows of one snapshot. One that writes, too, may look again at rows that others
    /// have changed meanwhile (PostgreSQL's EvalPlanQual, InnoDB's current reads): what it returns may be of several times.
    fn has_one_snapshot(&self, stmt: &Stmt<'h>) -> bool {
        let several =
            || stmt.ops().len() > 1 || stmt.ops().any(|op| op.kind() == OpKind::PredicateRead);
        self.tracer.profile.reads == PlainReads::StatementSnapshot
            && several()
            && !stmt.ops().any(|op| op.kind().writes() || is_control(op.kind()))
            && !self.tracer.has_failed(stmt)
    }

    /// What a plain read sees where each statement has a snapshot.
    fn of_statement(&self, span: Span) -> Sees {
        self.joint.map_or(Sees::At(span), |number| Sees::Statement(number, span))
    }

    /// A statement that locks rows locks the range that it looked at, whether it found a row or not.
    fn lock_range(&mut self, number: usize, stmt: &Stmt<'h>, span: Span, lock: Option<LockMode>) {
        let reads_lock = self.tracer.profile.modes.read != LockMode::None;
        let locks = lock.is_some() || reads_lock || stmt.ops().any(|op| op.kind().writes());
        let Some((first, last)) = self.tracer.range(stmt).filter(|_| locks) else { return };
        let op = stmt.ops().next().map_or(u32::MAX, |op| op.id().0);
        if let Some(hold) = self.key_hold(number, (first, last), op, span) {
            self.ranges.push(hold);
        }
    }

    /// A lock on keys from the answer to a statement on, if it was still there then.
    fn key_hold(
        &self,
        number: usize,
        (first, last): (TableKey, i64),
        op: u32,
        span: Span,
    ) -> Option<KeyHold> {
        let until = self.times.until;
        let is_held = number < self.times.failed && span.answered <= until;
        is_held.then_some(KeyHold { first, last, op, from: span.answered, until })
    }

    /// Which statement takes the snapshot depends on the server.
    fn note_snapshot(&mut self, stmt: &Stmt<'h>, span: Span, lock: Option<LockMode>) {
        if let Some(said) = self.tracer.snapshot_interval(stmt) {
            self.snapshot = Some(said);
        }
        if self.snapshot.is_some() {
            return;
        }
        let took = match self.tracer.profile.snapshot_at {
            SnapshotAt::Begin => {
                Some(Span { sent: self.times.began, answered: self.times.begun.min(span.answered) })
            }
            SnapshotAt::FirstStatement => {
                let is_query = self.tracer.is_query(stmt);
                self.first_that(stmt, span, is_query, |op| !is_control(op.kind()))
            }
            SnapshotAt::FirstRead | SnapshotAt::ByFirstRead if lock.is_none() => {
                self.first_that(stmt, span, false, certainly_looks)
            }
            SnapshotAt::FirstRead | SnapshotAt::ByFirstRead => None,
        };
        if self.tracer.profile.snapshot_at == SnapshotAt::ByFirstRead {
            let does = stmt.ops().len() == 0 || stmt.ops().any(|op| !is_control(op.kind()));
            self.may_have_snapshot = self.may_have_snapshot.or(does.then_some(span));
        }
        self.snapshot = took;
    }

    /// The first statement that takes the snapshot, certainly or because it has such an operation. A statement without
    /// operations, or one that found nothing, may have taken it before.
    fn first_that(
        &mut self,
        stmt: &Stmt<'h>,
        span: Span,
        certainly: bool,
        takes: impl Fn(&Op<'h>) -> bool,
    ) -> Option<Span> {
        let from = self.may_have_snapshot.map_or(span, |earlier| earlier.hull(span));
        if stmt.ops().all(|op| op.kind() == OpKind::PredicateRead) {
            self.may_have_snapshot = Some(from);
        }
        (certainly || stmt.ops().any(|op| takes(&op))).then_some(from)
    }

    fn read(&mut self, number: usize, read: ReadRow, span: Span, lock: Option<LockMode>) {
        let ReadRow { row, op, observed } = read;
        let profile = self.tracer.profile;
        let mode = lock.unwrap_or(profile.modes.read);
        let is_locked = profile.locks == LockScope::Rows && mode != LockMode::None;
        let is_there = observed.is_row();
        // Before the transaction has its snapshot, a locking read sees what is newest.
        let by_snapshot =
            profile.locking_reads == LockingReads::Snapshot && self.snapshot.is_some();
        let sees = match (lock, profile.reads) {
            _ if self.mode == Some("uncommitted") => None,
            (None, _) if self.mode == Some("locking") => Some(Sees::At(span)),
            (None, PlainReads::Uncommitted) => None,
            (None, PlainReads::StatementSnapshot) => Some(self.of_statement(span)),
            (None, PlainReads::TransactionSnapshot) => Some(Sees::Snapshot),
            (Some(_), _) if by_snapshot => Some(Sees::Snapshot),
            // What is not there is not locked: it was not there at some instant.
            (None, PlainReads::Locked) if !is_there => Some(Sees::At(span)),
            // The row may have been deleted and inserted again while the statement waited for it.
            (Some(_), _) if !is_there => None,
            // A lock that goes together with that of an update keeps no writer out: what is newest is what was committed then.
            _ if is_locked
                && !are_compatible(mode, profile.modes.update)
                && span.answered <= self.times.until =>
            {
                Some(Sees::Newest(span.answered))
            }
            _ => Some(Sees::At(span)),
        };
        if is_locked && is_there {
            self.hold(number, row, op, mode, span);
        }
        if let Some(sees) = sees {
            let own = self.own(row);
            self.reads.push(Read { row, op, sees, observed, is_missing: false, own });
        }
    }

    /// What the transaction has written to a row so far.
    fn own(&self, row: NameId) -> Option<OwnWrite> {
        let stands = self.own.get(&row)?;
        let first = &self.writes[*stands.first()?];
        let mut content = first.content.clone();
        for next in &stands[1..] {
            content = content.overwritten_by(&self.writes[*next].content);
        }
        Some(OwnWrite { content, locked: first.locked, inserted: first.inserts })
    }

    /// The rows that a predicate read returned were there. Which ones it did not return, and must have, is asked later.
    fn rows_of_predicate(&mut self, op: &Op<'h>, span: Span, lock: Option<LockMode>) {
        let pool = self.tracer.history.pool();
        let rows = op.result_set().into_iter().flatten();
        let rows: Vec<(NameId, Option<Observed>)> = rows
            .map(|(key, value)| {
                let seen = Observed::of(pool, value, self.tracer.by_column);
                (name_id(pool, pool.key_name(key)), seen)
            })
            .collect();
        let sees = match self.tracer.profile.reads {
            _ if lock.is_some() || self.mode.is_some() => None,
            PlainReads::Uncommitted => None,
            PlainReads::TransactionSnapshot => Some(Sees::Snapshot),
            PlainReads::StatementSnapshot => Some(self.of_statement(span)),
            PlainReads::Locked => Some(Sees::At(span)),
        };
        if let Some(sees) = sees.filter(|_| op.result_set().is_some()) {
            let (op, predicate) = (op.id().0, word(pool, op.value()));
            self.looks.push(Looked { op, predicate, sees, rows: rows.clone() });
        }
        for (row, seen) in rows {
            if let Some(seen) = seen {
                let (op, observed) = (op.id().0, seen);
                self.read(usize::MAX, ReadRow { row, op, observed }, span, lock);
            }
        }
    }

    fn write(&mut self, number: usize, op: &Op<'h>, span: Span) {
        // What a statement that failed would have written was never there.
        if op.effect() != Effect::Done || number >= self.times.failed {
            return;
        }
        let (history, profile) = (self.tracer.history, self.tracer.profile);
        let Some(content) = Content::written(history.pool(), op, self.tracer.by_column) else {
            return;
        };
        let row = self.tracer.row(op);
        let (mode, inserts) = match op.kind() {
            OpKind::InsertIfAbsent => (profile.modes.insert, true),
            OpKind::Delete => (profile.modes.delete, false),
            _ => (profile.modes.update, false),
        };
        self.saw_before_writing(row, op, span);
        if profile.locks == LockScope::Rows {
            self.hold(number, row, op.id().0, mode, span);
        }
        if inserts && profile.range_locks {
            let key = TableKey::of(history.pool(), history.pool().key_name(op.key()));
            let hold =
                key.and_then(|key| self.key_hold(number, (key, key.number), op.id().0, span));
            self.inserted.extend(hold);
        }
        let at = self.writes.len();
        self.writes.push(Write { row, op: op.id().0, content, locked: span.answered, inserts });
        self.own.entry(row).or_default().push(at);
    }

    /// An insert saw that the row was not there, and a compare-and-set what it compared with: each of the newest version,
    /// with the row locked.
    fn saw_before_writing(&mut self, row: NameId, op: &Op<'h>, span: Span) {
        let pool = self.tracer.history.pool();
        let seen = match op.kind() {
            OpKind::InsertIfAbsent => Some(Observed::Absent),
            OpKind::Cas => {
                op.expected().and_then(|old| Observed::of(pool, old, self.tracer.by_column))
            }
            _ => None,
        };
        let profile = self.tracer.profile;
        let Some(observed) = seen else { return };
        let sees = match profile.locks {
            LockScope::Rows if span.answered > self.times.until => Sees::At(span),
            LockScope::Rows => Sees::Newest(span.answered),
            LockScope::Database | LockScope::WholeTransactions => Sees::Snapshot,
            LockScope::None => return,
        };
        let own = self.own(row);
        self.reads.push(Read { row, op: op.id().0, sees, observed, is_missing: false, own });
    }

    fn hold(&mut self, number: usize, row: NameId, op: u32, mode: LockMode, span: Span) {
        // Of a predicate read the statement is not numbered: it returned, so it did not fail.
        let failed = number != usize::MAX && number >= self.times.failed;
        let until = self.times.until;
        if mode != LockMode::None && !failed && span.answered <= until {
            self.holds.push(Hold { row, op, mode, from: span.answered, until });
        }
    }

    fn set_savepoint(&mut self, name: Value) {
        let (writes, holds) = (self.writes.len(), self.holds.len());
        self.savepoints.push(Savepoint { name, writes, holds, is_first: !self.has_begun });
    }

    /// After a rollback to a savepoint before all other statements, servers may have given back everything: the
    /// transaction is as good as new, and may take another snapshot.
    fn roll_back_to(&mut self, name: Value, span: Span) {
        let Some(at) = self.savepoints.iter().rposition(|own| own.name == name) else { return };
        self.savepoints.truncate(at + 1);
        let Savepoint { writes, holds, is_first, .. } = self.savepoints[at];
        for stands in self.own.values_mut() {
            stands.retain(|write| *write < writes);
        }
        self.own.retain(|_, stands| !stands.is_empty());
        self.is_without_snapshot |= is_first;
        if is_first {
            // What it has read until then was another transaction's, to the server.
            self.reads.clear();
            self.looks.clear();
        }
        // A statement that failed may have let go of locks before.
        let until = self.failed_at.take().unwrap_or(span.sent);
        // A row that was inserted since is gone, and the lock on it; and what writes may insert.
        let history = self.tracer.history;
        let inserts = |kind| !matches!(kind, OpKind::Delete | OpKind::Cas);
        let since = self.writes[writes..].iter().map(|write| write.op);
        let gone: Vec<u32> = since.filter(|op| inserts(history.op(OpId(*op)).kind())).collect();
        for hold in self.holds[holds..].iter_mut().filter(|hold| gone.contains(&hold.op)) {
            hold.until = hold.until.min(until);
        }
        for hold in self.inserted.iter_mut().chain(&mut self.ranges) {
            hold.until = hold.until.min(until);
        }
        if is_first || self.tracer.profile.savepoints_release_locks {
            for hold in &mut self.holds[holds..] {
                hold.until = hold.until.min(until);
            }
        }
    }

    fn release(&mut self, name: Value) {
        if let Some(at) = self.savepoints.iter().rposition(|own| own.name == name) {
            self.savepoints.truncate(at);
        }
    }

    fn finish(mut self, txn: &Txn<'_>, mut turn: Turn) -> Trace {
        if self.times.fate == Fate::Unknown {
            // What it read, it had read by then; when it committed, if it did, nobody will ever know.
            turn.ended = self.times.end.sent;
        }
        let read_only = txn.read_only() == Some(true) || self.writes.is_empty();
        let writes = self.last_writes();
        self.lock_database(&writes);
        // A snapshot that no statement certainly took may have been taken by any of them, or never.
        let snapshot = match self.tracer.profile.reads {
            PlainReads::TransactionSnapshot if !self.is_without_snapshot => self.snapshot,
            _ => None,
        };
        self.reads.retain(|read| read.sees != Sees::Snapshot || snapshot.is_some());
        self.looks.retain(|looked| looked.sees != Sees::Snapshot || snapshot.is_some());
        let Times { end: commit, fate, .. } = *self.times;
        Trace {
            txn: TxnRef::new(self.tracer.batch, txn.id()),
            turn,
            fate,
            commit,
            snapshot,
            read_only,
            reads: self.reads,
            looks: self.looks,
            writes,
            holds: self.holds,
            ranges: self.ranges,
            inserted: self.inserted,
        }
    }

    /// Of each row what was written last and stands, locked since the first write that stands.
    fn last_writes(&mut self) -> Vec<Write> {
        let mut rows: Vec<(usize, Write)> = Vec::new();
        for stands in self.own.values() {
            let first = &self.writes[stands[0]];
            let mut content = first.content.clone();
            for next in &stands[1..] {
                content = content.overwritten_by(&self.writes[*next].content);
            }
            let last = &self.writes[stands[stands.len() - 1]];
            let (locked, inserts) = (first.locked, first.inserts);
            rows.push((stands[0], Write { row: last.row, op: last.op, content, locked, inserts }));
        }
        rows.sort_unstable_by_key(|(first, _)| *first);
        rows.into_iter().map(|(_, write)| write).collect()
    }

    /// Where the whole database is locked, it is so from the first write on, or from the beginning.
    fn lock_database(&mut self, writes: &[Write]) {
        let first = match self.tracer.profile.locks {
            LockScope::Database => {
                let first = writes.iter().min_by_key(|write| write.locked);
                first.map(|write| (write.locked, write.op))
            }
            LockScope::WholeTransactions => {
                self.times.stmts.first().map(|first| (first.answered, u32::MAX))
            }
            LockScope::Rows | LockScope::None => None,
        };
        let until = self.times.until;
        if let Some((from, op)) = first.filter(|(from, _)| self.times.failed > 0 && *from <= until)
        {
            self.holds.push(Hold { row: DATABASE, op, mode: LockMode::Exclusive, from, until });
        }
    }
}
