//! A draft as a sink reads it: borrowed views, the same that a history gives.

use std::ops::Range;

use crate::attributes::Entity;
use crate::draft::TxnDraft;
use crate::evidence::Interval;
use crate::ids::OpId;
use crate::op::Op;
use crate::value::Value;

impl TxnDraft {
    /// The operations, in program order. Their identifiers count from 0 within the transaction.
    ///
    /// ```
    /// use isolde_history::{OpKind, Pool, TxnDraft, Value};
    /// let mut pool = Pool::new();
    /// let mut txn = TxnDraft::default();
    /// txn.reset(pool.session(Value::from_u32(1)));
    /// txn.write(pool.text_key("x"), Value::from_u32(7));
    /// let written: Vec<_> = txn.ops().map(|op| (op.kind(), op.value())).collect();
    /// assert_eq!(written, [(OpKind::Write, Value::from_u32(7))]);
    /// ```
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'_>> + Clone {
        self.ops_in(0..self.codes.len())
    }

    /// The statements, in program order.
    pub fn stmts(&self) -> impl ExactSizeIterator<Item = DraftStmt<'_>> {
        // Intervals are in the order of the statements that have one: one walk serves both.
        let mut intervals = self.stmt_intervals.iter().peekable();
        let mut from = 0;
        self.stmt_ends.iter().enumerate().map(move |(at, &end)| {
            let ops = from..end as usize;
            from = end as usize;
            let mut interval = Interval::default();
            while let Some((_, when)) = intervals.next_if(|(stmt, _)| *stmt as usize <= at) {
                interval = *when;
            }
            DraftStmt { draft: self, at: at as u32, ops, interval }
        })
    }

    /// The attributes of the transaction itself, names with values. One that was set twice comes
    /// twice, and the last counts. A walk over all attributes of the draft.
    pub fn attrs(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.attrs_of(Entity::Txn, 0)
    }

    /// The attributes of an operation, by its place in [`ops`](TxnDraft::ops), as
    /// [`attrs`](TxnDraft::attrs) has them.
    pub fn op_attrs(&self, op: OpId) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.attrs_of(Entity::Op, op.0)
    }

    /// All attributes in the order in which they were set: what each belongs to, its place within
    /// the transaction (0 for the transaction itself), name and value. For drafts so large that a
    /// walk for each statement is too much.
    pub fn all_attrs(&self) -> impl ExactSizeIterator<Item = (Entity, u32, Value, Value)> + '_ {
        self.attrs.iter().copied()
    }

    pub(crate) fn ops_in(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Op<'_>> + Clone {
        range.map(|i| Op {
            id: OpId(i as u32),
            code: self.codes[i],
            key: self.keys[i],
            payload: self.payloads[i],
            elements: &self.elements,
        })
    }

    fn attrs_of(&self, entity: Entity, id: u32) -> impl Iterator<Item = (Value, Value)> + '_ {
        let mine = self.attrs.iter().filter(move |a| (a.0, a.1) == (entity, id));
        mine.map(|&(_, _, name, value)| (name, value))
    }

    /// The value of an attribute: the last one, if it was set twice.
    pub(crate) fn last_attr(&self, entity: Entity, id: u32, name: Value) -> Option<Value> {
        let mut backwards = self.attrs.iter().rev();
        backwards.find(|a| (a.0, a.1, a.2) == (entity, id, name)).map(|a| a.3)
    }
}

/// One statement of a draft.
#[derive(Clone, Debug)]
pub struct DraftStmt<'d> {
    draft: &'d TxnDraft,
    at: u32,
    ops: Range<usize>,
    interval: Interval,
}

impl<'d> DraftStmt<'d> {
    /// Its place among the statements of the transaction, from 0.
    pub const fn position(&self) -> u32 {
        self.at
    }

    /// Its operations.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = Op<'d>> + Clone + use<'d> {
        self.draft.ops_in(self.ops.clone())
    }

    /// The client's interval.
    pub const fn interval(&self) -> Interval {
        self.interval
    }

    /// The attributes, as [`TxnDraft::attrs`] has those of the transaction.
    pub fn attrs(&self) -> impl Iterator<Item = (Value, Value)> + use<'d> {
        self.draft.attrs_of(Entity::Stmt, self.at)
    }

    pub(crate) fn last_attr(&self, name: Value) -> Option<Value> {
        self.draft.last_attr(Entity::Stmt, self.at, name)
    }
}
