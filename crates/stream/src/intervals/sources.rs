//! Who wrote what a read saw. That is asked only of reads that saw none of the versions that they can have seen, to say
//! what is wrong with them, so that nothing is kept for it: the transactions themselves are searched.
//!
//! Only what had been sent before the read was answered can have been seen. So the answer does not depend on what
//! comes later.

use isolde_history::{Effect, History, Interval, Key, Op, OpId, OpKind, Outcome, TxnId, Value};

use super::content::{Content, Match, Observed};
use super::span::Span;
use super::tracer::Tracer;
use crate::content::{NameId, name_id};

/// A write of what a read saw, by how well it explains the read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Origin {
    /// A version that was committed, and certainly overwritten by then.
    Overwritten,
    /// A version that cannot have been committed by then.
    TooNew,
    /// A value that its writer overwrote before it committed.
    Intermediate,
    /// A write that was taken back, or of a transaction that was.
    Aborted,
}

/// What a read saw.
#[derive(Debug)]
pub(super) struct Sought {
    pub(super) row: NameId,
    pub(super) observed: Observed,
    /// When its snapshot was taken, if it has one.
    pub(super) snapshot: Option<Span>,
    /// When it was answered.
    answered: i64,
}

impl Sought {
    /// What a read of a row saw; nothing if it is no read of it, or if it is not known.
    pub(super) fn of(
        tracer: &Tracer<'_>,
        read: OpId,
        row: NameId,
        snapshot: Option<Span>,
    ) -> Option<Sought> {
        let history = tracer.history();
        let observed = observed(tracer, &history.op(read), row)?;
        let answered = interval_of(history, read).end.unwrap_or(i64::MAX);
        Some(Sought { row, observed, snapshot, answered })
    }

    /// The same, as if it had been answered at the end of all times: for what was written later.
    pub(super) fn ever(&self) -> Sought {
        Sought { observed: self.observed.clone(), answered: i64::MAX, ..*self }
    }

    /// The same of each column that it saw.
    pub(super) fn cells(&self) -> Vec<Sought> {
        let Observed::Columns(cells) = &self.observed else { return Vec::new() };
        let one = |cell| Sought { observed: Observed::Columns(vec![cell]), ..*self };
        cells.iter().copied().map(one).collect()
    }

    /// How well a write of the row explains the read; not at all if it wrote something else, or too late.
    pub(super) fn origin(&self, tracer: &Tracer<'_>, write: &Op<'_>) -> Option<Origin> {
        let history = tracer.history();
        let content = Content::written(history.pool(), write, tracer.by_column())?;
        let is_same = write.effect() != Effect::Failed
            && content.matches(&self.observed, |_| None) == Match::Yes;
        let sent = interval_of(history, write.id()).begin;
        if !is_same || sent.is_some_and(|sent| sent > self.answered) {
            return None;
        }
        let txn = history.txn_of(write.id());
        let aborted = history.txn(txn).outcome() == Outcome::Aborted;
        if aborted || write.undone() {
            return Some(Origin::Aborted);
        }
        if !is_last(history, txn, write) {
            return Some(Origin::Intermediate);
        }
        let too_new = |snapshot| !tracer.trace(txn).commit.may_precede(snapshot);
        Some(match self.snapshot.is_some_and(too_new) {
            true => Origin::TooNew,
            false => Origin::Overwritten,
        })
    }

    /// Of some writes of the row the one that explains the read best; of several that do equally well, the newest.
    pub(super) fn best<'h>(
        &self,
        tracer: &Tracer<'h>,
        writes: impl Iterator<Item = Op<'h>>,
    ) -> Option<(Origin, OpId)> {
        let newness = |write: OpId| {
            let txn = tracer.history().txn_of(write);
            (std::cmp::Reverse(tracer.trace(txn).commit), std::cmp::Reverse(write))
        };
        let known = writes.filter_map(|write| Some((self.origin(tracer, &write)?, write.id())));
        known.min_by_key(|(origin, write)| (*origin, newness(*write)))
    }
}

/// What an operation saw of a row.
fn observed(tracer: &Tracer<'_>, op: &Op<'_>, row: NameId) -> Option<Observed> {
    let (pool, by_column) = (tracer.history().pool(), tracer.by_column());
    let is_row = |key: Key| key != Key::NONE && name_id(pool, pool.key_name(key)) == row;
    match op.kind() {
        OpKind::PredicateRead => {
            let mut rows = op.result_set()?;
            match rows.find(|(key, _)| is_row(*key)) {
                Some((_, value)) => Observed::of(pool, value, by_column),
                // That it was not returned is what it is about.
                None => Some(Observed::Absent),
            }
        }
        _ if !is_row(op.key()) => None,
        OpKind::Cas => Observed::of(pool, op.expected()?, by_column),
        OpKind::InsertIfAbsent => Some(Observed::Absent),
        _ => Observed::read(pool, op, by_column),
    }
}

/// Whether a row held what a read saw before the first transaction.
pub(super) fn is_initial(tracer: &Tracer<'_>, sought: &Sought) -> bool {
    let history = tracer.history();
    let (pool, initial) = (history.pool(), &history.meta().initial);
    let is_row = |key: &Key| name_id(pool, pool.key_name(*key)) == sought.row;
    let given = initial.given.iter().find(|(key, _)| is_row(key)).map(|(_, value)| *value);
    let content = |value: Value| Content::of(pool, value, tracer.by_column());
    let first = given.or(initial.default).map(content);
    first.is_some_and(|content| content.matches(&sought.observed, |_| None) == Match::Yes)
}

/// Whether nothing after a write in its transaction overwrote it.
fn is_last(history: &History, txn: TxnId, write: &Op<'_>) -> bool {
    let later = history.txn(txn).ops().filter(|op| {
        op.key() == write.key() && op.kind().writes() && op.effect() == Effect::Done && !op.undone()
    });
    later.last().is_none_or(|last| last.id() <= write.id())
}

/// When the statement of an operation was sent and answered, or else its transaction.
fn interval_of(history: &History, op: OpId) -> Interval {
    let txn = history.txn(history.txn_of(op));
    let own = txn.stmts().find(|stmt| stmt.ops().any(|other| other.id() == op));
    let (own, whole) = (own.map(|stmt| stmt.interval()).unwrap_or_default(), txn.interval());
    Interval { begin: own.begin.or(whole.begin), end: own.end.or(whole.end) }
}
