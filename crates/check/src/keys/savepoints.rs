//! When writes were undone by a rollback to a savepoint.

use hashbrown::{HashMap, HashSet};
use isolde_history::{History, OpId, OpKind, Txn, TxnId, Value};

/// The transactions with savepoints, which are few.
#[derive(Default)]
pub(crate) struct Savepoints {
    txns: HashSet<TxnId>,
    undone_at: HashMap<OpId, OpId>,
}

impl Savepoints {
    pub(crate) fn new(history: &History) -> Savepoints {
        let mut savepoints = Savepoints::default();
        if history.has_ops(OpKind::Savepoint) {
            for txn in history.txns() {
                savepoints.add(txn);
            }
        }
        savepoints
    }

    fn add(&mut self, txn: Txn<'_>) {
        let mut writes: Vec<OpId> = Vec::new();
        let mut open: Vec<(Value, usize)> = Vec::new();
        for op in txn.ops() {
            match op.kind() {
                OpKind::Savepoint => {
                    self.txns.insert(txn.id());
                    open.push((op.value(), writes.len()));
                }
                OpKind::RollbackTo => {
                    let Some(at) = open.iter().rposition(|s| s.0 == op.value()) else { continue };
                    self.undone_at.extend(writes.drain(open[at].1..).map(|w| (w, op.id())));
                    open.truncate(at + 1);
                }
                OpKind::Release => {
                    // With the savepoint go those that were set after it.
                    let at = open.iter().rposition(|s| s.0 == op.value());
                    open.truncate(at.unwrap_or(open.len()));
                }
                kind if kind.writes() => writes.push(op.id()),
                _ => {}
            }
        }
    }

    /// Whether a transaction has savepoints.
    #[inline]
    pub(crate) fn any_in(&self, txn: TxnId) -> bool {
        !self.txns.is_empty() && self.txns.contains(&txn)
    }

    /// The rollback that undid a write, or an operation after all if none did.
    #[inline]
    pub(crate) fn undone_at(&self, write: OpId) -> OpId {
        if self.undone_at.is_empty() {
            return OpId(u32::MAX);
        }
        self.undone_at.get(&write).copied().unwrap_or(OpId(u32::MAX))
    }
}
