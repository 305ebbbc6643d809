//! One transaction of a history, handed to a sink that has a pool of its own.

use hashbrown::{HashMap, HashSet};

use crate::attributes::{Entity, names};
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::history::{History, Txn};
use crate::ids::{Key, TxnId};
use crate::meta::{InitialState, Meta};
use crate::op::{Op, OpKind, Run};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::value::{Datum, Value};

impl History {
    /// Pushes one transaction into a sink, which need not share the pool: with all that is known of it, but
    /// only those operations for which `keep` says yes. Savepoints, and what becomes of them, always stay, so
    /// that the sink undoes what was undone. A statement stays even if none of its operations does. The sequence
    /// number is left out: among a few transactions of a session it would only say that others are missing.
    ///
    /// The sink's pool learns the names and values that are needed, and no others. Where the whole history is
    /// wanted, [`replay`](History::replay) is faster.
    ///
    /// ```
    /// use isolde_history::{HistoryBuilder, OpKind, TxnId, notation};
    /// let history = notation::parse("a: r(x,old) w(y,new)\nb: r(y,new)")?;
    /// let mut writes = HistoryBuilder::new();
    /// history.copy_txn(TxnId(0), &mut |op| op.kind() == OpKind::Write, &mut writes).unwrap();
    /// let writes = writes.finish();
    /// assert_eq!((writes.op_count(), writes.key_count()), (1, 1));
    /// # Ok::<(), isolde_history::ReadError>(())
    /// ```
    ///
    /// # Panics
    /// If the history has no transaction of that number.
    pub fn copy_txn(
        &self,
        txn: TxnId,
        keep: &mut dyn FnMut(&Op<'_>) -> bool,
        sink: &mut dyn Sink,
    ) -> Result<(), SinkError> {
        self.copy_txn_by(&mut TxnDraft::default(), txn, keep, sink)
    }

    /// The same by a draft whose memory is used again.
    ///
    /// # Panics
    /// If the history has no transaction of that number.
    pub fn copy_txn_by(
        &self,
        draft: &mut TxnDraft,
        txn: TxnId,
        keep: &mut dyn FnMut(&Op<'_>) -> bool,
        sink: &mut dyn Sink,
    ) -> Result<(), SinkError> {
        let txn = self.txn(txn);
        let mut copier = Copier { from: self.pool(), to: sink.pool(), known: HashMap::new() };
        let session = copier.value(self.pool().session_name(txn.session()));
        draft.reset(copier.to.session(session));
        draft.outcome = txn.outcome();
        draft.label = txn.label().map(|label| copier.value(label));
        draft.interval = txn.interval();
        draft.start = txn.start_ts();
        draft.commit = txn.commit_ts();
        let attrs = &self.columns().attrs.columns;
        let has_op_attrs = attrs.iter().any(|column| column.entity == Entity::Op);
        let kept = copier.statements(txn, keep, draft, has_op_attrs);
        self.copy_attrs(txn, &kept, &mut copier, draft);
        sink.transaction(draft)
    }

    /// Makes a draft of what a transaction did, of its session, label and outcome: without times and attributes, which
    /// take most of the time where there are many. Only by which paths statements came to their rows stays: it says what
    /// they did.
    ///
    /// # Panics
    /// If the history has no transaction of that number.
    pub fn draft_ops(&self, draft: &mut TxnDraft, txn: TxnId, pool: &mut Pool) {
        let txn = self.txn(txn);
        let mut copier = Copier { from: self.pool(), to: pool, known: HashMap::new() };
        let session = copier.value(self.pool().session_name(txn.session()));
        draft.reset(copier.to.session(session));
        draft.outcome = txn.outcome();
        draft.label = txn.label().map(|label| copier.value(label));
        copier.statements(txn, &mut |_| true, draft, false);
        draft.stmt_intervals.clear();
        let stmts = self.columns().stmts_of(txn.id().index());
        let is_path = |name: Value| self.pool().as_text(name) == Some(names::PATH);
        let mut columns = self.columns().attrs.columns.iter();
        if let Some(paths) = columns.find(|c| c.entity == Entity::Stmt && is_path(c.name)) {
            let from = paths.ids.partition_point(|id| (*id as usize) < stmts.start);
            let of_txn = paths.ids[from..].iter().zip(&paths.values[from..]);
            for (id, path) in of_txn.take_while(|(id, _)| (**id as usize) < stmts.end) {
                let (name, path) = (copier.value(paths.name), copier.value(*path));
                draft.attrs.push((Entity::Stmt, id - stmts.start as u32, name, path));
            }
        }
    }

    /// Tells a sink what is known of the run as a whole: the facts, and of the initial state the default and some of the
    /// values that keys start with.
    pub fn copy_meta(&self, given: &[(Key, Value)], sink: &mut dyn Sink) {
        let mut copier = Copier { from: self.pool(), to: sink.pool(), known: HashMap::new() };
        *sink.meta() = copier.meta(self.meta(), given);
    }

    fn copy_attrs(
        &self,
        txn: Txn<'_>,
        kept: &[Option<u32>],
        copier: &mut Copier<'_>,
        draft: &mut TxnDraft,
    ) {
        let at = txn.id().index();
        let ranges = [at..at + 1, self.columns().stmts_of(at), txn.op_range()];
        self.columns().draft_attrs(&ranges, draft);
        draft.attrs.retain_mut(|(entity, id, name, value)| {
            if *entity == Entity::Txn && self.pool().as_text(*name) == Some(names::SEQ) {
                return false;
            }
            if *entity == Entity::Op {
                let Some(place) = kept[*id as usize] else { return false };
                *id = place;
            }
            *name = copier.value(*name);
            *value = copier.value(*value);
            true
        });
    }
}

/// Reads identifiers of one pool as those of another, which learns them when they are needed.
pub(crate) struct Copier<'p> {
    pub(crate) from: &'p Pool,
    pub(crate) to: &'p mut Pool,
    /// By their index in the one pool, what they are in the other.
    pub(crate) known: HashMap<u32, Value>,
}

impl Copier<'_> {
    /// What is known of a run as a whole, with some of the values that keys start with.
    pub(crate) fn meta(&mut self, meta: &Meta, given: &[(Key, Value)]) -> Meta {
        let info = meta.info.iter().map(|(name, value)| (self.value(*name), self.value(*value)));
        let info = info.collect();
        let default = meta.initial.default.map(|value| self.value(value));
        let given = given.iter().map(|&(key, value)| (self.key(key), self.value(value)));
        let initial = InitialState { default, given: given.collect() };
        Meta { info, initial, clock: meta.clock, complete: meta.complete }
    }

    /// Adds the statements with the operations that stay. For each operation of the transaction: its place
    /// in the draft, if it is asked for.
    fn statements(
        &mut self,
        txn: Txn<'_>,
        keep: &mut dyn FnMut(&Op<'_>) -> bool,
        draft: &mut TxnDraft,
        places: bool,
    ) -> Vec<Option<u32>> {
        let mut kept = Vec::with_capacity(if places { txn.op_range().len() } else { 0 });
        for stmt in txn.stmts() {
            for op in stmt.ops() {
                let of_savepoint =
                    matches!(op.kind(), OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release);
                let stays = of_savepoint || keep(&op);
                if places {
                    kept.push(stays.then_some(draft.codes.len() as u32));
                }
                if stays {
                    self.operation(&op, draft);
                }
            }
            draft.stmt_ends.push(draft.codes.len() as u32);
            draft.statement_interval(stmt.interval());
        }
        kept
    }

    pub(crate) fn operation(&mut self, op: &Op<'_>, draft: &mut TxnDraft) {
        let payload = if !op.kind().has_elements() {
            self.value(Value::from_trusted_bits(op.payload)).to_bits()
        } else if op.payload == Run::UNOBSERVED {
            op.payload
        } else {
            let run = Run::unpack(op.payload);
            let start = draft.elements.len();
            let rows = op.kind() == OpKind::PredicateRead && run.len % 2 == 1;
            for (at, &word) in op.elements[run.range()].iter().enumerate() {
                // In a result set every other word after the predicate is a key.
                draft.elements.push(if rows && at % 2 == 1 {
                    let key = self.key(Key(word.to_bits() as u32));
                    Value::from_trusted_bits(u64::from(key.0))
                } else {
                    self.value(word)
                });
            }
            Run { start: start as u64, len: run.len }.pack()
        };
        draft.codes.push(op.code);
        draft.keys.push(self.key(op.key()));
        draft.payloads.push(payload);
    }

    pub(crate) fn key(&mut self, key: Key) -> Key {
        if key == Key::NONE {
            return key;
        }
        let name = self.value(self.from.key_name(key));
        self.to.key(name)
    }

    pub(crate) fn value(&mut self, value: Value) -> Value {
        let Some(index) = value.pool_index() else { return value };
        if let Some(&known) = self.known.get(&index) {
            return known;
        }
        let (kind, bytes) = self.from.entries().get(index);
        if !kind.has_parts() {
            let learned = self.to.entry(kind, bytes);
            self.known.insert(index, learned);
            return learned;
        }
        for index in self.unknown_parts(index) {
            self.learn(index);
        }
        self.known.get(&index).copied().unwrap_or(value)
    }

    /// The value itself and what it is made of, as far as it is not known yet. A pool has parts before
    /// wholes, so that in ascending order each can be learned from those before it, however deep they nest.
    fn unknown_parts(&self, index: u32) -> Vec<u32> {
        let mut found = vec![index];
        let mut seen: HashSet<u32> = found.iter().copied().collect();
        let mut at = 0;
        while let Some(&index) = found.get(at) {
            at += 1;
            let (Datum::List(parts) | Datum::Row(parts)) = self.from.datum(Value::pooled(index))
            else {
                continue;
            };
            for part in parts.iter().filter_map(Value::pool_index) {
                if !self.known.contains_key(&part) && seen.insert(part) {
                    found.push(part);
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn learn(&mut self, index: u32) {
        let part = |value: Value| {
            let known = value.pool_index().and_then(|index| self.known.get(&index));
            known.copied().unwrap_or(value)
        };
        let learned = match self.from.datum(Value::pooled(index)) {
            Datum::List(parts) => {
                let parts: Vec<Value> = parts.iter().map(part).collect();
                self.to.list(&parts)
            }
            Datum::Row(parts) => {
                let columns: Vec<(Value, Value)> =
                    parts.pairs().map(|(column, value)| (part(column), part(value))).collect();
                self.to.row(&columns)
            }
            _ => {
                let (kind, bytes) = self.from.entries().get(index);
                self.to.entry(kind, bytes)
            }
        };
        self.known.insert(index, learned);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, proptest};
    use proptest::prop_assert_eq;

    use super::*;
    use crate::notation::{parse, to_text, write_txn};
    use crate::{HistoryBuilder, arbitrary};

    fn copied(history: &History, keep: &mut dyn FnMut(&Op<'_>) -> bool) -> History {
        let mut sink = HistoryBuilder::new();
        sink.meta().initial = InitialState::every(Value::ABSENT);
        // Identifiers that mean something else there.
        sink.pool().text("elsewhere");
        for txn in history.txns() {
            history.copy_txn(txn.id(), keep, &mut sink).unwrap();
        }
        sink.finish()
    }

    #[test]
    fn all_that_is_known_of_a_transaction_goes_along() {
        let text = "a T1: r(x,\"two words\") [w(x,{c:[1,[2,q]]}) w(y,2)]@[3,4] @[1,5] ts(1,2) {wall=3}\n\
                    b: list(z,[p,q]) pred(\"v > 1\",x=u,y=2) cas(x,m,n) abort\n\
                    a: list(z,_) r(x,_) unknown\n";
        let history = parse(text).unwrap();
        assert_eq!(to_text(&copied(&history, &mut |_| true)), to_text(&history));
    }

    #[test]
    fn only_what_is_kept_is_copied_and_only_its_names() {
        let history = parse("a: r(x,old) [w(y,new) r(z,zed)]@[3,4]\n").unwrap();
        let copy = copied(&history, &mut |op| op.kind() == OpKind::Write);
        assert_eq!(to_text(&copy), "a: [] w(y,new)@[3,4]\n");
        let names: Vec<_> =
            copy.pool().key_names().iter().map(|k| copy.pool().as_text(*k)).collect();
        assert_eq!(names, [Some("y")]);
        // Beside them: the one that was there.
        assert_eq!(copy.pool().entries().len(), 4);
    }

    #[test]
    fn what_was_undone_stays_undone() {
        let text = "a: savepoint(s) w(x,1) r(x,1) rollback(s) w(x,2) release(s)\n";
        let copy = copied(&parse(text).unwrap(), &mut |op| op.kind() == OpKind::Write);
        let undone: Vec<_> = copy.ops().map(|op| (op.kind(), op.undone())).collect();
        let kinds = [OpKind::Savepoint, OpKind::Write, OpKind::RollbackTo, OpKind::Write];
        assert_eq!(undone[..4], [0, 1, 2, 3].map(|at| (kinds[at], at == 1)));
    }

    #[test]
    fn attributes_follow_their_operations() {
        let history = parse("a: r(x,1){path=scan} w(x,2) r(x,2){path=index}\n").unwrap();
        let copy = copied(&history, &mut |op| op.value() != Value::from_u32(1));
        let paths: Vec<_> = copy.ops().map(|op| copy.op_attr(op.id(), "path")).collect();
        assert_eq!(paths.len(), 2);
        assert!(paths[0].is_none() && copy.pool().as_text(paths[1].unwrap()) == Some("index"));
    }

    #[test]
    fn a_value_may_nest_as_deep_as_it_likes_and_share_its_parts() {
        let mut source = HistoryBuilder::new();
        let mut value = source.pool().text("leaf");
        for _ in 0..100_000 {
            value = source.pool().list(&[value, value]);
        }
        let mut txn = TxnDraft::default();
        txn.reset(source.pool().session(Value::from_u32(1)));
        let key = source.pool().text_key("x");
        txn.write(key, value);
        source.transaction(&txn).unwrap();
        let copy = copied(&source.finish(), &mut |_| true);
        assert_eq!(copy.pool().entries().len(), 100_000 + 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn copying_everything_copies_everything(recipe in arbitrary::recipe()) {
            let history = recipe.build();
            let copy = copied(&history, &mut |_| true);
            prop_assert_eq!(copy.txn_count(), history.txn_count());
            let line = |history: &History, txn: Txn<'_>| {
                let mut text = String::new();
                write_txn(history, txn, &mut text);
                text
            };
            for (copied, txn) in copy.txns().zip(history.txns()) {
                prop_assert_eq!(line(&copy, copied), line(&history, txn));
            }
        }
    }
}
