//! The columns of a history, or of one block of it.

use crate::attributes::{Attributes, Entity, MAX_ATTRIBUTES};
use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::evidence::{Outcome, Timestamp};
use crate::ids::{Key, SessionId};
use crate::labels::Labels;
use crate::lazy::{Lazy, Times};
use crate::op::{OpCode, Run};
use crate::remap::Remap;
use crate::value::Value;

/// Transactions as columns: a transaction is a run of statements, a statement a run of operations,
/// each given by where it ends.
///
/// Invariant: `stmt_ends` is stored only if some statement has not exactly one operation;
/// otherwise a statement is an operation and the column is empty. Histories that mean the same
/// therefore have the same columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    // One entry a transaction.
    pub(crate) sessions: Vec<SessionId>,
    pub(crate) outcomes: Vec<Outcome>,
    /// Where the transaction's statements end.
    pub(crate) txn_ends: Vec<u32>,
    pub(crate) labels: Labels,
    pub(crate) txn_begin: Times,
    pub(crate) txn_end: Times,
    pub(crate) start_ts: TimestampColumn,
    pub(crate) commit_ts: TimestampColumn,
    // One entry a statement.
    pub(crate) stmt_ends: Vec<u32>,
    pub(crate) explicit_stmts: bool,
    pub(crate) stmt_begin: Times,
    pub(crate) stmt_end: Times,
    // One entry an operation.
    pub(crate) codes: Vec<OpCode>,
    pub(crate) keys: Vec<Key>,
    pub(crate) payloads: Vec<u64>,
    /// What list reads, compare-and-sets and predicate reads refer to, in the order of operations.
    pub(crate) elements: Vec<Value>,
    pub(crate) attrs: Attributes,
}

/// Database timestamps; the logical parts take memory only if there are any.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimestampColumn {
    pub(crate) physical: Times,
    pub(crate) logical: Lazy<i64>,
}

impl TimestampColumn {
    const fn new() -> TimestampColumn {
        TimestampColumn { physical: Times::none(), logical: Lazy::new(0) }
    }

    fn push_at(&mut self, index: usize, ts: Option<Timestamp>) {
        if let Some(ts) = ts {
            self.physical.push_at(index, ts.physical);
            self.logical.push_at(index, ts.logical);
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Timestamp> {
        let physical = self.physical.time(index)?;
        Some(Timestamp { physical, logical: self.logical.get(index) })
    }

    fn append(&mut self, base: usize, other: &TimestampColumn) {
        self.physical.append(base, &other.physical);
        self.logical.append(base, &other.logical);
    }

    fn clear(&mut self) {
        self.physical.clear();
        self.logical.clear();
    }

    fn heap_bytes(&self) -> usize {
        self.physical.heap_bytes() + self.logical.heap_bytes()
    }
}

/// How many transactions, statements or operations a history may have.
const MAX_ROWS: usize = u32::MAX as usize - 1;

impl Default for Columns {
    fn default() -> Columns {
        Columns {
            sessions: Vec::new(),
            outcomes: Vec::new(),
            txn_ends: Vec::new(),
            labels: Labels::default(),
            txn_begin: Times::none(),
            txn_end: Times::none(),
            start_ts: TimestampColumn::new(),
            commit_ts: TimestampColumn::new(),
            stmt_ends: Vec::new(),
            explicit_stmts: false,
            stmt_begin: Times::none(),
            stmt_end: Times::none(),
            codes: Vec::new(),
            keys: Vec::new(),
            payloads: Vec::new(),
            elements: Vec::new(),
            attrs: Attributes::default(),
        }
    }
}

impl Columns {
    pub(crate) fn txn_count(&self) -> usize {
        self.sessions.len()
    }

    pub(crate) fn op_count(&self) -> usize {
        self.codes.len()
    }

    pub(crate) fn stmt_count(&self) -> usize {
        if self.explicit_stmts { self.stmt_ends.len() } else { self.codes.len() }
    }

    /// The statements of a transaction.
    #[inline]
    pub(crate) fn stmts_of(&self, txn: usize) -> std::ops::Range<usize> {
        let start = if txn == 0 { 0 } else { self.txn_ends[txn - 1] };
        start as usize..self.txn_ends[txn] as usize
    }

    /// The operations of a range of statements.
    #[inline]
    pub(crate) fn ops_of(&self, stmts: std::ops::Range<usize>) -> std::ops::Range<usize> {
        if !self.explicit_stmts {
            return stmts;
        }
        let at = |n: usize| if n == 0 { 0 } else { self.stmt_ends[n - 1] as usize };
        at(stmts.start)..at(stmts.end)
    }

    /// Adds a transaction.
    pub(crate) fn push(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        let index = self.txn_count();
        self.check_room(txn.codes.len(), txn.stmt_ends.len(), txn.elements.len())?;
        let first_stmt = self.stmt_count();
        let first_op = self.op_count();
        self.push_statements(txn, first_op);
        self.push_ops(txn);
        self.sessions.push(txn.session);
        self.outcomes.push(txn.outcome);
        self.txn_ends.push(self.stmt_count() as u32);
        self.labels.push_at(index, txn.label);
        self.txn_begin.push_time(index, txn.interval.begin);
        self.txn_end.push_time(index, txn.interval.end);
        self.start_ts.push_at(index, txn.start);
        self.commit_ts.push_at(index, txn.commit);
        for &(stmt, interval) in &txn.stmt_intervals {
            let at = first_stmt + stmt as usize;
            self.stmt_begin.push_time(at, interval.begin);
            self.stmt_end.push_time(at, interval.end);
        }
        for &(entity, id, name, value) in &txn.attrs {
            let base = [index, first_stmt, first_op][entity as usize];
            if !self.attrs.push(entity, base as u32 + id, name, value) {
                return Err(SinkError::limit("names of attributes", MAX_ATTRIBUTES as u64));
            }
        }
        Ok(())
    }

    fn check_room(&self, ops: usize, stmts: usize, elements: usize) -> Result<(), SinkError> {
        let fits = |have: usize, more: usize| have.saturating_add(more) <= MAX_ROWS;
        if !fits(self.txn_count(), 1) {
            return Err(SinkError::limit("transactions", MAX_ROWS as u64));
        }
        if !fits(self.op_count(), ops) || !fits(self.stmt_count(), stmts) {
            return Err(SinkError::limit("operations", MAX_ROWS as u64));
        }
        if self.elements.len() as u64 + elements as u64 > Run::MAX_START {
            return Err(SinkError::limit("elements of lists", Run::MAX_START));
        }
        Ok(())
    }

    fn push_statements(&mut self, txn: &TxnDraft, first_op: usize) {
        let plain = txn.stmt_ends.len() == txn.codes.len()
            && txn.stmt_ends.iter().enumerate().all(|(i, &end)| end as usize == i + 1);
        if plain && !self.explicit_stmts {
            return;
        }
        self.make_statements_explicit();
        self.stmt_ends.extend(txn.stmt_ends.iter().map(|end| end + first_op as u32));
    }

    pub(crate) fn make_statements_explicit(&mut self) {
        if !self.explicit_stmts {
            self.stmt_ends = (1..=self.codes.len() as u32).collect();
            self.explicit_stmts = true;
        }
    }

    fn push_ops(&mut self, txn: &TxnDraft) {
        let shift = self.elements.len() as u64;
        self.codes.extend_from_slice(&txn.codes);
        self.keys.extend_from_slice(&txn.keys);
        if txn.elements.is_empty() {
            self.payloads.extend_from_slice(&txn.payloads);
            return;
        }
        self.elements.extend_from_slice(&txn.elements);
        let payloads = txn.codes.iter().zip(&txn.payloads);
        self.payloads.extend(payloads.map(|(code, &word)| shift_run(*code, word, shift)));
    }

    /// Makes room for so many transactions and operations.
    pub(crate) fn reserve(&mut self, txns: usize, ops: usize) {
        self.sessions.reserve_exact(txns);
        self.outcomes.reserve_exact(txns);
        self.txn_ends.reserve_exact(txns);
        self.codes.reserve_exact(ops);
        self.keys.reserve_exact(ops);
        self.payloads.reserve_exact(ops);
    }

    /// Makes room for so many transactions and operations in all, judging by those that are here
    /// which evidence the others will have.
    pub(crate) fn reserve_evidence(&mut self, txns: usize, ops: usize) {
        let stmts = if self.explicit_stmts { self.stmt_ends.len() } else { self.codes.len() };
        let scaled = |n: usize| (n as f64 * ops as f64 / self.codes.len().max(1) as f64) as usize;
        let (all_stmts, all_elements) = (scaled(stmts), scaled(self.elements.len()));
        self.labels.reserve_total(txns);
        for times in [&mut self.txn_begin, &mut self.txn_end] {
            times.reserve_total(txns);
        }
        for ts in [&mut self.start_ts, &mut self.commit_ts] {
            ts.physical.reserve_total(txns);
            ts.logical.reserve_total(txns);
        }
        for times in [&mut self.stmt_begin, &mut self.stmt_end] {
            times.reserve_total(all_stmts);
        }
        if self.explicit_stmts {
            self.stmt_ends.reserve(all_stmts.saturating_sub(self.stmt_ends.len()));
        }
        self.elements.reserve(all_elements.saturating_sub(self.elements.len()));
    }

    /// Appends the columns of another part of the history, whose identifiers are mapped.
    pub(crate) fn append(&mut self, other: &Columns, map: &Remap) -> Result<(), SinkError> {
        self.check_room(other.op_count(), other.stmt_count(), other.elements.len())?;
        let bases = [self.txn_count(), self.stmt_count(), self.op_count()];
        let shift = self.elements.len() as u64;
        self.append_statements(other, bases);
        let same_keys = map.keys.is_empty();
        if same_keys {
            self.keys.extend_from_slice(&other.keys);
        } else {
            self.keys.extend(other.keys.iter().map(|&k| map.key(k)));
        }
        if map.values.is_empty() && other.elements.is_empty() {
            self.payloads.extend_from_slice(&other.payloads);
        } else {
            self.append_payloads(other, map, shift);
        }
        self.codes.extend_from_slice(&other.codes);
        self.append_elements(other, map);
        if map.sessions.is_empty() {
            self.sessions.extend_from_slice(&other.sessions);
        } else {
            self.sessions.extend(other.sessions.iter().map(|s| map.sessions[s.index()]));
        }
        self.outcomes.extend_from_slice(&other.outcomes);
        self.labels.append(bases[0], &other.labels, |v| map.value(v));
        self.txn_begin.append(bases[0], &other.txn_begin);
        self.txn_end.append(bases[0], &other.txn_end);
        self.start_ts.append(bases[0], &other.start_ts);
        self.commit_ts.append(bases[0], &other.commit_ts);
        self.stmt_begin.append(bases[1], &other.stmt_begin);
        self.stmt_end.append(bases[1], &other.stmt_end);
        let bases = bases.map(|b| b as u32);
        if !self.attrs.append(bases, &other.attrs, |v| map.value(v)) {
            return Err(SinkError::limit("names of attributes", MAX_ATTRIBUTES as u64));
        }
        Ok(())
    }

    fn append_statements(&mut self, other: &Columns, [_, first_stmt, first_op]: [usize; 3]) {
        self.txn_ends.extend(other.txn_ends.iter().map(|end| end + first_stmt as u32));
        if other.explicit_stmts {
            self.make_statements_explicit();
            self.stmt_ends.extend(other.stmt_ends.iter().map(|end| end + first_op as u32));
        } else if self.explicit_stmts {
            let first = first_op as u32;
            self.stmt_ends.extend((1..=other.codes.len() as u32).map(|end| end + first));
        }
    }

    fn append_payloads(&mut self, other: &Columns, map: &Remap, shift: u64) {
        let words = other.codes.iter().zip(&other.payloads);
        self.payloads.extend(words.map(|(&code, &word)| {
            if code.kind().has_elements() {
                shift_run(code, word, shift)
            } else {
                map.value(Value::from_trusted_bits(word)).to_bits()
            }
        }));
    }

    fn append_elements(&mut self, other: &Columns, map: &Remap) {
        let start = self.elements.len();
        self.elements.extend_from_slice(&other.elements);
        map.elements(&other.codes, &other.payloads, &mut self.elements[start..]);
    }

    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
        self.outcomes.clear();
        self.txn_ends.clear();
        self.labels.clear();
        self.txn_begin.clear();
        self.txn_end.clear();
        self.start_ts.clear();
        self.commit_ts.clear();
        self.stmt_ends.clear();
        self.explicit_stmts = false;
        self.stmt_begin.clear();
        self.stmt_end.clear();
        self.codes.clear();
        self.keys.clear();
        self.payloads.clear();
        self.elements.clear();
        self.attrs.clear();
    }

    pub(crate) fn shrink(&mut self) {
        self.sessions.shrink_to_fit();
        self.outcomes.shrink_to_fit();
        self.txn_ends.shrink_to_fit();
        self.labels.shrink();
        self.txn_begin.shrink();
        self.txn_end.shrink();
        self.start_ts.physical.shrink();
        self.start_ts.logical.shrink();
        self.commit_ts.physical.shrink();
        self.commit_ts.logical.shrink();
        self.stmt_ends.shrink_to_fit();
        self.stmt_begin.shrink();
        self.stmt_end.shrink();
        self.codes.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.payloads.shrink_to_fit();
        self.elements.shrink_to_fit();
        self.attrs.shrink();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.sessions.capacity() * 4
            + self.outcomes.capacity()
            + self.txn_ends.capacity() * 4
            + self.labels.heap_bytes()
            + self.txn_begin.heap_bytes()
            + self.txn_end.heap_bytes()
            + self.start_ts.heap_bytes()
            + self.commit_ts.heap_bytes()
            + self.stmt_ends.capacity() * 4
            + self.stmt_begin.heap_bytes()
            + self.stmt_end.heap_bytes()
            + self.codes.capacity()
            + self.keys.capacity() * 4
            + self.payloads.capacity() * 8
            + self.elements.capacity() * 8
            + self.attrs.heap_bytes()
    }

    /// One transaction of these columns as a draft, for sinks that take them one by one.
    pub(crate) fn draft(&self, txn: usize, draft: &mut TxnDraft) -> Result<(), SinkError> {
        draft.reset(self.sessions[txn]);
        draft.outcome = self.outcomes[txn];
        draft.label = self.labels.get(txn);
        draft.interval.begin = self.txn_begin.time(txn);
        draft.interval.end = self.txn_end.time(txn);
        draft.start = self.start_ts.get(txn);
        draft.commit = self.commit_ts.get(txn);
        let stmts = self.stmts_of(txn);
        let ops = self.ops_of(stmts.clone());
        let first_op = ops.start as u32;
        for stmt in stmts.clone() {
            draft.stmt_ends.push(self.ops_of(stmt..stmt + 1).end as u32 - first_op);
            let interval = crate::evidence::Interval {
                begin: self.stmt_begin.time(stmt),
                end: self.stmt_end.time(stmt),
            };
            draft.statement_interval(interval);
        }
        draft.codes.extend_from_slice(&self.codes[ops.clone()]);
        draft.keys.extend_from_slice(&self.keys[ops.clone()]);
        self.draft_payloads(ops.clone(), draft);
        self.draft_attrs(&[txn..txn + 1, stmts, ops], draft);
        Ok(())
    }

    fn draft_payloads(&self, ops: std::ops::Range<usize>, draft: &mut TxnDraft) {
        for op in ops {
            let (code, word) = (self.codes[op], self.payloads[op]);
            if !code.kind().has_elements() || word == Run::UNOBSERVED {
                draft.payloads.push(word);
                continue;
            }
            let run = Run::unpack(word);
            let start = draft.elements.len() as u64;
            draft.elements.extend_from_slice(&self.elements[run.range()]);
            draft.payloads.push(Run { start, len: run.len }.pack());
        }
    }

    pub(crate) fn draft_attrs(&self, ranges: &[std::ops::Range<usize>; 3], draft: &mut TxnDraft) {
        for column in &self.attrs.columns {
            let range = &ranges[column.entity as usize];
            let from = column.ids.partition_point(|&id| (id as usize) < range.start);
            let ids = column.ids[from..].iter().zip(&column.values[from..]);
            for (&id, &value) in ids.take_while(|(id, _)| (**id as usize) < range.end) {
                let local = id - range.start as u32;
                draft.attrs.push((column.entity, local, column.name, value));
            }
        }
    }

    /// The attributes of an entity, for views.
    pub(crate) fn attr(&self, entity: Entity, id: u32, name: Value) -> Option<Value> {
        self.attrs.get(entity, id, name)
    }
}

#[inline]
fn shift_run(code: OpCode, word: u64, shift: u64) -> u64 {
    if !code.kind().has_elements() || word == Run::UNOBSERVED {
        return word;
    }
    let run = Run::unpack(word);
    Run { start: run.start + shift, len: run.len }.pack()
}
