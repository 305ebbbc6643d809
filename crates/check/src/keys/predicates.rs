//! Predicate reads, taken apart into reads of single keys.
//!
//! A predicate is an unknown set of rows, to which no absent one belongs. A result shows that its rows
//! belong to it, and that they were read. Of a key that is not in the result it shows something if
//! every value that the key can have is known to belong: then the key was seen absent. Where some
//! value is known to belong and another may or may not, it is not known what was seen, and the answer
//! cannot be "holds". Of a key that no read of the predicate ever returned it shows nothing: it may be
//! of another table. The verdict has a note that says so.

use hashbrown::HashMap;
use isolde_history::{Effect, History, OpId, OpKind, Outcome, TxnId, Value};

use crate::keys::index::Touch;

/// A read of one key by a predicate read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRead {
    pub(crate) touch: Touch,
    pub(crate) value: Value,
    /// Whether the row is one that was not returned.
    pub(crate) missing: bool,
}

/// All predicate reads of a history.
#[derive(Default)]
pub(crate) struct Predicates {
    /// Those of transactions that may count, in the order of the history.
    reads: Vec<(Touch, Value)>,
    /// The rows that they returned, by key.
    rows: HashMap<usize, Vec<RowRead>>,
    /// Rows that are known to satisfy a predicate, and a predicate read that shows it.
    matching: HashMap<(Value, usize, Value), OpId>,
    /// Whether there are so many that absence is not looked at.
    too_many: bool,
    /// Whether the history holds all that ran.
    complete: bool,
}

/// What predicate reads say of a key.
#[derive(Default)]
pub(crate) struct SaidOfKey {
    /// The reads, in the order of the history.
    pub(crate) reads: Vec<RowRead>,
    /// A predicate read that may have seen the key in more than one way.
    pub(crate) undecided: Option<OpId>,
    /// Whether a transaction writes the key, and some predicate never returned it.
    pub(crate) unsaid: bool,
}

/// How many predicate reads are shown as evidence of which rows satisfy a predicate.
const SHOWN_ROWS: usize = 64;
/// How many pairs of a predicate read and a key are looked at.
const MAX_PAIRS: usize = 1 << 22;

impl Predicates {
    pub(crate) fn new(history: &History) -> Predicates {
        let mut all = Predicates { complete: history.meta().complete, ..Predicates::default() };
        if !history.has_ops(OpKind::PredicateRead) {
            return all;
        }
        for txn in history.txns() {
            for op in txn.ops().filter(|op| op.kind() == OpKind::PredicateRead) {
                let Some(rows) = op.result_set().filter(|_| op.effect() == Effect::Done) else {
                    continue;
                };
                let touch = Touch { op: op.id(), txn: txn.id() };
                let counts = txn.outcome() != Outcome::Aborted;
                if counts {
                    all.reads.push((touch, op.value()));
                }
                for (key, value) in rows {
                    let row = (op.value(), key.index(), value);
                    all.matching.entry(row).or_insert(op.id());
                    if counts {
                        all.rows.entry(key.index()).or_default().push(RowRead {
                            touch,
                            value,
                            missing: false,
                        });
                    }
                }
            }
        }
        all.too_many = all.reads.len().saturating_mul(history.key_count()) > MAX_PAIRS;
        all
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reads.is_empty()
    }

    /// The keys of which predicate reads may say something, if only that they were absent.
    pub(crate) fn keys(&self) -> impl Iterator<Item = usize> {
        self.matching.keys().map(|(_, key, _)| *key)
    }

    /// The predicate read that shows that a row satisfies a predicate.
    pub(crate) fn shown_by(&self, predicate: Value, key: usize, value: Value) -> Option<OpId> {
        self.matching.get(&(predicate, key, value)).copied()
    }

    /// Some predicate reads that show which rows satisfy a predicate: the first ones, since the order
    /// of a map is no order.
    pub(crate) fn evidence(&self, predicate: Value) -> Vec<OpId> {
        let rows = self.matching.iter().filter(|((p, ..), _)| *p == predicate);
        let mut ops: Vec<OpId> = rows.map(|(_, op)| *op).collect();
        ops.sort_unstable();
        ops.dedup();
        ops.truncate(SHOWN_ROWS);
        ops
    }

    /// What predicate reads say of a key that can have some values, and was written by some
    /// transactions, each with its first write.
    pub(crate) fn of(&self, key: usize, values: &[Value], writers: &[(TxnId, OpId)]) -> SaidOfKey {
        let returned = self.rows.get(&key).map_or(&[][..], Vec::as_slice);
        let mut said = SaidOfKey { reads: returned.to_vec(), ..SaidOfKey::default() };
        if writers.is_empty() && values.is_empty() {
            return said;
        }
        if self.too_many {
            said.undecided = self.reads.first().map(|(touch, _)| touch.op);
            return said;
        }
        // Of each predicate: whether some value of the key is known to belong to it, and whether all.
        let mut belongs: HashMap<Value, (bool, bool)> = HashMap::new();
        let mut rows = returned.iter().peekable();
        for (touch, predicate) in &self.reads {
            if rows.next_if(|row| row.touch.op == touch.op).is_some() {
                // The same key may come back twice.
                while rows.next_if(|row| row.touch.op == touch.op).is_some() {}
                continue;
            }
            let (some, all) = *belongs.entry(*predicate).or_insert_with(|| {
                let known = |v: &Value| self.matching.contains_key(&(*predicate, key, *v));
                (values.iter().any(known), values.iter().all(known))
            });
            if !some {
                said.unsaid |= !writers.is_empty();
                continue;
            }
            let at = writers.partition_point(|(txn, _)| *txn < touch.txn);
            let own = writers.get(at).is_some_and(|(t, op)| *t == touch.txn && *op < touch.op);
            if all && !own && self.complete {
                let (touch, value) = (*touch, Value::ABSENT);
                said.reads.push(RowRead { touch, value, missing: true });
            } else {
                // In an incomplete history, the key may have values that are not known.
                said.undecided = said.undecided.or(Some(touch.op));
            }
        }
        said.reads.sort_by_key(|row| row.touch.op);
        said
    }
}
