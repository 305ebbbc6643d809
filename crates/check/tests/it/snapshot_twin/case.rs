//! What both levels need: who shows whom, who wrote what, what an operation saw.

use std::collections::BTreeSet;

use isolde_history::{
    Clock, Effect, History, InitialState, LockMode, Op, OpKind, Outcome, Snapshot, TxnId, Value,
};
use isolde_spec::{Level, Promise};

/// A transaction, with all that is asked of it.
pub(super) struct Txn<'h> {
    pub session: usize,
    pub outcome: Outcome,
    pub xid: Option<i64>,
    pub restart: i64,
    pub snapshot: Option<Snapshot>,
    pub stmts: Vec<Stmt<'h>>,
    pub wrote: bool,
    pub begin: Option<i64>,
    pub end: Option<i64>,
    pub commit_sent: Option<i64>,
}

pub(super) struct Stmt<'h> {
    pub ops: Vec<Op<'h>>,
    pub snapshot: Option<Snapshot>,
    pub locks: bool,
    pub begin: Option<i64>,
    pub end: Option<i64>,
}

impl<'h> Txn<'h> {
    pub fn ops(&self) -> impl DoubleEndedIterator<Item = &Op<'h>> {
        self.stmts.iter().flat_map(|stmt| &stmt.ops)
    }

    /// The writes of a key that stand.
    pub fn writes(&self, key: u32) -> impl DoubleEndedIterator<Item = &Op<'h>> {
        self.ops().filter(move |op| op.key().0 == key && stands(op))
    }
}

/// Whether it is a write that was done and not undone.
pub(super) fn stands(op: &Op<'_>) -> bool {
    op.kind().writes() && op.effect() == Effect::Done && !op.undone()
}

pub(super) struct Case<'h> {
    pub history: &'h History,
    pub promise: Promise,
    pub skew: i64,
    pub complete: bool,
    pub txns: Vec<Txn<'h>>,
}

impl<'h> Case<'h> {
    pub fn new(history: &'h History, promise: Promise, clock_skew: i64) -> Case<'h> {
        let txns = history.txns().map(|txn| {
            let stmts = txn.stmts().map(|stmt| Stmt {
                ops: stmt.ops().collect(),
                snapshot: stmt.snapshot(),
                locks: stmt.lock().is_some_and(|lock| lock != LockMode::None),
                begin: stmt.interval().begin,
                end: stmt.interval().end,
            });
            Txn {
                session: txn.session().index(),
                outcome: txn.outcome(),
                xid: txn.xid(),
                restart: txn.restart(),
                snapshot: txn.snapshot(),
                stmts: stmts.collect(),
                wrote: txn.ops().any(|op| stands(&op)),
                begin: txn.interval().begin,
                end: txn.interval().end,
                commit_sent: txn.ending().begin.or(txn.interval().begin),
            }
        });
        let skew = if history.meta().clock == Clock::Events { 0 } else { clock_skew };
        let complete = history.meta().complete && !has_gap(history);
        Case { history, promise, skew, complete, txns: txns.collect() }
    }

    pub fn keys(&self) -> std::ops::Range<u32> {
        0..self.history.key_count() as u32
    }

    /// Whether a snapshot of the reader shows a numbered writer.
    ///
    /// PostgreSQL does not list the transaction that asks, so a statement's snapshot never shows its own.
    pub fn shows(&self, snapshot: &Snapshot, reader: usize, writer: usize) -> bool {
        if reader == writer && self.promise.level == Level::ReadCommitted {
            return false;
        }
        let (reader, writer) = (&self.txns[reader], &self.txns[writer]);
        match writer.restart.cmp(&reader.restart) {
            _ if writer.xid.is_none() => false,
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => writer.xid.is_some_and(|xid| snapshot.shows(xid)),
        }
    }

    /// The numbered transactions that may have committed.
    pub fn numbered(&self) -> Vec<usize> {
        let live = |t: &usize| self.txns[*t].outcome != Outcome::Aborted;
        (0..self.txns.len()).filter(live).filter(|t| self.txns[*t].xid.is_some()).collect()
    }

    /// Whether two of them have one number: then numbers say nothing.
    pub fn shares_a_number(&self) -> bool {
        let all = self.numbered();
        let number = |t: usize| (self.txns[t].restart, self.txns[t].xid);
        all.iter().any(|a| all.iter().any(|b| a != b && number(*a) == number(*b)))
    }

    /// Which of them a snapshot of a transaction shows.
    pub fn shown(&self, snapshot: &Snapshot, of: usize) -> BTreeSet<usize> {
        self.numbered().into_iter().filter(|w| self.shows(snapshot, of, *w)).collect()
    }

    /// Whether two of the snapshots contradict each other.
    pub fn apart(&self, snapshots: &[(usize, &Snapshot)]) -> bool {
        let sets: Vec<_> = snapshots.iter().map(|(t, s)| self.shown(s, *t)).collect();
        sets.iter().any(|a| sets.iter().any(|b| !a.is_subset(b) && !b.is_subset(a)))
    }

    pub fn is_list(&self, key: u32) -> bool {
        let list = |op: &Op<'_>| matches!(op.kind(), OpKind::Append | OpKind::ListRead);
        self.history.ops().any(|op| op.key().0 == key && list(&op))
    }

    /// What a register holds first; nothing if it has no first version.
    pub fn initial(&self, key: u32) -> Option<Value> {
        let InitialState { default, given } = &self.history.meta().initial;
        given.iter().find(|(k, _)| k.0 == key).map(|(_, v)| *v).or(*default)
    }

    /// Whether a transaction that is not in the history may have written what was seen.
    pub fn may_be_missing(&self, op: &Op<'_>) -> bool {
        if self.complete {
            return false;
        }
        let Some(value) = observed(op) else { return true };
        let writes = |o: &Op<'_>| o.effect() == Effect::Done && o.kind().writes();
        let of_key = self.history.ops().filter(|o| o.key() == op.key());
        let all: Vec<Value> = of_key.filter(writes).map(|o| left(&o)).collect();
        let different: BTreeSet<u64> = all.iter().map(|v| v.to_bits()).collect();
        let initial = self.initial(op.key().0) == Some(value);
        let count = all.iter().filter(|v| **v == value).count() + usize::from(initial);
        let deletes = self.history.ops().any(|o| o.kind() == OpKind::Delete);
        let once = count == 1 && different.len() == all.len();
        !once || (deletes && value == Value::ABSENT)
    }
}

/// The value that a write left.
pub(super) fn left(op: &Op<'_>) -> Value {
    if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() }
}

/// The value that an operation on a register saw, unless it was refused.
pub(super) fn observed(op: &Op<'_>) -> Option<Value> {
    match (op.kind(), op.effect()) {
        (OpKind::Read, Effect::Done) => Some(op.value()),
        (OpKind::Cas, Effect::Done) => op.expected(),
        (OpKind::InsertIfAbsent, Effect::Done) => Some(Value::ABSENT),
        _ => None,
    }
}

/// Whether an operation could have seen that in a register.
pub(super) fn fits(op: &Op<'_>, value: Value) -> bool {
    let refused = op.effect() == Effect::Failed;
    match op.kind() {
        OpKind::Read => op.value() == value,
        OpKind::Cas => (op.expected() == Some(value)) != refused,
        OpKind::InsertIfAbsent => (value == Value::ABSENT) != refused,
        _ => true,
    }
}

/// Whether a transaction is missing between two of a session, by their sequence numbers.
fn has_gap(history: &History) -> bool {
    let sessions = 0..history.session_count() as u32;
    sessions.into_iter().any(|session| {
        let of = |(txn, _): &(TxnId, i64)| history.txn(*txn).session().0 == session;
        let numbers: Vec<i64> = history.seqs().filter(of).map(|(_, number)| number).collect();
        numbers.windows(2).any(|pair| pair[1] != pair[0] + 1)
    })
}

/// What a transaction has written so far, with savepoints.
#[derive(Default)]
pub(super) struct Buffer<'o, 'h> {
    writes: Vec<&'o Op<'h>>,
    savepoints: Vec<(Value, usize)>,
    ever: BTreeSet<u32>,
}

impl<'o, 'h> Buffer<'o, 'h> {
    pub fn run(&mut self, op: &'o Op<'h>) {
        let at = |savepoints: &[(Value, usize)]| {
            savepoints.iter().rposition(|(name, _)| *name == op.value())
        };
        match op.kind() {
            OpKind::Savepoint => self.savepoints.push((op.value(), self.writes.len())),
            OpKind::RollbackTo => {
                if let Some(at) = at(&self.savepoints) {
                    self.writes.truncate(self.savepoints[at].1);
                    self.savepoints.truncate(at + 1);
                }
            }
            OpKind::Release => {
                if let Some(at) = at(&self.savepoints) {
                    self.savepoints.truncate(at);
                }
            }
            kind if kind.writes() && op.effect() == Effect::Done => {
                self.writes.push(op);
                self.ever.insert(op.key().0);
            }
            _ => {}
        }
    }

    /// The own writes of a key that are not undone yet.
    pub fn of(&self, key: u32) -> Vec<Value> {
        self.writes.iter().filter(|op| op.key().0 == key).map(|op| left(op)).collect()
    }

    /// Whether the key was ever written, if only to be undone.
    pub fn touched(&self, key: u32) -> bool {
        self.ever.contains(&key)
    }
}
