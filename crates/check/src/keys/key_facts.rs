//! What was done to one key: which reads returned values of other transactions, which writes other
//! transactions may see, and which operations broke the rules inside a transaction.
//!
//! Which write a read returned comes later, in [`super::provenance`]. The facts of a key are made in
//! memory that is used again for the next one.

use std::cell::RefCell;
use std::sync::Arc;

use hashbrown::HashMap;
use isolde_history::{Effect, History, Key, Op, OpId, OpKind, TxnId, Value};
use isolde_spec::Anomaly;

use crate::keys::accesses::{ListRead, ReadFact, Source, WriteFact};
use crate::keys::findings::{Doubt, LocalFinding};
use crate::keys::index::Touch;
use crate::keys::predicates::{RowRead, SaidOfKey};
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::Standing;
use crate::keys::value_table::ValueTable;
use crate::maybe_index::MaybeIndex;

/// The facts of one key.
#[derive(Default)]
pub(crate) struct KeyFacts {
    pub(crate) key: usize,
    pub(crate) reads: Vec<ReadFact>,
    pub(crate) writes: Vec<WriteFact>,
    /// The source of every read, once it is known which transactions committed.
    pub(crate) sources: Vec<Source>,
    /// Which writes have which value.
    pub(crate) values: ValueTable,
    pub(crate) list_reads: Vec<ListRead>,
    /// Whether the key holds a list.
    pub(crate) is_list: bool,
    /// Breaches of the rules inside a transaction.
    pub(crate) breaches: Vec<LocalFinding>,
    /// The first operation of which it is not known whether it was done.
    pub(crate) unsure: Option<OpId>,
    /// The first operation that wrote an unobserved value, or a list that shows one.
    pub(crate) unlearned: Option<OpId>,
    /// How many operations answered that they did nothing.
    pub(crate) failed: u64,
    /// Those of them that say something about the version that they saw.
    pub(crate) refused: Vec<(OpId, TxnId)>,
    /// Operations that were refused although the transaction itself had just written what they asked for: that
    /// write, and the operation.
    pub(crate) refused_own: Vec<(OpId, OpId)>,
    /// Whether predicate reads are taken to say nothing of the key, because none returned it.
    pub(crate) unsaid: bool,
    /// A predicate read of which it is not known what it saw of the key.
    pub(crate) undecided: Option<OpId>,
    /// The first operation, if the key is used as a list and as something else: what an append means
    /// there (Porcupine's pieces of text, say) is not decided here.
    pub(crate) mixed: Option<OpId>,
    /// Whether rows that predicate reads did not return bind like rows that were read; if not, they
    /// only show which transaction was seen.
    pub(crate) missing_binds: bool,
    /// Reads that did not return the last own write.
    not_own: Vec<(OpId, ReadFact)>,
    run: TxnSoFar,
    /// What was found of values that several wrote, by the first write of each.
    equal: RefCell<HashMap<u32, Arc<Equal>>>,
}

/// The writes of one value.
pub(crate) struct Equal {
    pub(crate) first: u32,
    /// Those that others may see, of up to three transactions: enough to know whether a reader, which
    /// may be one of them, has none, one or several to choose from.
    pub(crate) visible: Vec<u32>,
    /// One that was rolled back.
    pub(crate) aborted: Option<u32>,
}

/// What the transaction under way has done to the key so far.
struct TxnSoFar {
    txn: Option<TxnId>,
    standing: Standing,
    /// The last write that stands.
    write: MaybeIndex,
    /// The last read before the first write.
    read: MaybeIndex,
    /// The last operation that wrote, if only to be rolled back.
    wrote: Option<OpId>,
    /// Own writes that stand or stood when the last operation came, each with the rollback that
    /// undid it. Kept for lists, and in transactions with savepoints.
    own: Vec<Own>,
    own_unsure: bool,
}

impl Default for TxnSoFar {
    fn default() -> TxnSoFar {
        let own = Vec::new();
        TxnSoFar {
            txn: None,
            standing: Standing::RolledBack,
            write: MaybeIndex::NONE,
            read: MaybeIndex::NONE,
            wrote: None,
            own,
            own_unsure: false,
        }
    }
}

#[derive(Clone, Copy)]
struct Own {
    op: OpId,
    value: Value,
    until: OpId,
}

/// How many operations are fetched at once.
const BATCH: usize = 8;

/// Hands over the operations of a key. They lie far apart in a large history: fetched together, they
/// come in the time of one.
#[inline]
fn each<'h>(
    keys: &SortedKeys<'h>,
    standings: &[Standing],
    key: usize,
    mut work: impl FnMut(Touch, Op<'h>, Standing),
) {
    let name = Key(key as u32);
    let fetch = |touch: &Touch| {
        let op = keys.history.op_on(name, touch.op);
        (*touch, op, standings[touch.txn.index()])
    };
    for touches in keys.index.parts_of(key) {
        let (batches, rest) = touches.as_chunks::<BATCH>();
        for batch in batches {
            // Written out: as a map over the array it is a call, and this is the hottest loop of all.
            let [a, b, c, d, e, f, g, h] = batch;
            let fetched =
                [fetch(a), fetch(b), fetch(c), fetch(d), fetch(e), fetch(f), fetch(g), fetch(h)];
            for (touch, op, standing) in fetched {
                work(touch, op, standing);
            }
        }
        for (touch, op, standing) in rest.iter().map(fetch) {
            work(touch, op, standing);
        }
    }
}

const LIST: u8 = 1;
const OTHER: u8 = 2;

impl KeyFacts {
    /// What makes it unknown which versions the key had.
    pub(crate) fn doubts(&self) -> [Option<Doubt>; 3] {
        [
            self.mixed.map(Doubt::Mixed),
            self.unsure.map(Doubt::Unsure),
            self.unlearned.map(Doubt::Unlearned),
        ]
    }

    /// Makes the facts of a key.
    pub(crate) fn load(&mut self, keys: &SortedKeys<'_>, standings: &[Standing], key: usize) {
        if !self.load_unindexed(keys, standings, key) {
            self.index();
        }
    }

    /// The same, without the table of values unless something needs it: says whether it is there.
    pub(crate) fn load_unindexed(
        &mut self,
        keys: &SortedKeys<'_>,
        standings: &[Standing],
        key: usize,
    ) -> bool {
        self.clear(key);
        let said = self.said_by_predicates(keys, standings, key);
        let mut rows = said.reads.iter().peekable();
        let mut uses = if said.reads.is_empty() { 0 } else { OTHER };
        let mut first = None;
        each(keys, standings, key, |touch, op, standing| {
            while let Some(row) = rows.next_if(|row| row.touch.op < touch.op) {
                self.row(keys, standings, row);
            }
            let list = matches!(op.kind(), OpKind::Append | OpKind::ListRead);
            uses |= if list { LIST } else { OTHER };
            if standing != Standing::RolledBack {
                first = first.or(Some(touch.op));
            }
            self.begin(touch.txn, standing);
            if standing == Standing::RolledBack {
                self.aborted(touch.txn, &op);
            } else {
                self.touch(keys, touch, &op);
            }
        });
        rows.for_each(|row| self.row(keys, standings, row));
        if uses == LIST | OTHER {
            self.clear(key);
            self.mixed = first;
            return false;
        }
        self.is_list = uses == LIST;
        if keys.explicit_initial {
            let initial = keys.initial(key);
            self.writes.retain(|w| initial != Some(w.value));
        }
        let needed = !self.not_own.is_empty();
        if needed {
            self.index();
        }
        needed
    }

    /// Enters the values that were written, and names what needs them.
    pub(crate) fn index(&mut self) {
        self.values.index(&mut self.writes);
        self.name_own_reads();
    }

    /// What predicate reads say of the key, beside the operations on it.
    fn said_by_predicates(
        &mut self,
        keys: &SortedKeys<'_>,
        standings: &[Standing],
        key: usize,
    ) -> SaidOfKey {
        if keys.predicates.is_empty() {
            return SaidOfKey::default();
        }
        let mut values: Vec<Value> = keys.initial(key).into_iter().collect();
        let mut writers: Vec<(TxnId, OpId)> = Vec::new();
        for touch in keys.index.of(key) {
            let wrote = what_it_wrote(&keys.history.op(touch.op));
            if let Some(value) =
                wrote.filter(|_| standings[touch.txn.index()] != Standing::RolledBack)
            {
                values.push(value);
                if writers.last().is_none_or(|(txn, _)| *txn != touch.txn) {
                    writers.push((touch.txn, touch.op));
                }
            }
        }
        values.retain(|value| *value != Value::ABSENT);
        let said = keys.predicates.of(key, &values, &writers);
        self.undecided = said.undecided;
        self.unsaid = said.unsaid;
        said
    }

    /// A read of the key by a predicate read.
    fn row(&mut self, keys: &SortedKeys<'_>, standings: &[Standing], row: &RowRead) {
        let Touch { op, txn } = row.touch;
        let standing = standings[txn.index()];
        self.begin(txn, standing);
        self.observed(
            keys,
            ReadFact {
                txn,
                op,
                value: row.value,
                standing,
                empty_list: None,
                last: op,
                missing: row.missing,
            },
        );
    }

    /// The operations of another transaction begin.
    #[inline]
    fn begin(&mut self, txn: TxnId, standing: Standing) {
        if self.run.txn != Some(txn) {
            self.run.restart();
            (self.run.txn, self.run.standing) = (Some(txn), standing);
        }
    }

    fn clear(&mut self, key: usize) {
        self.key = key;
        self.reads.clear();
        self.writes.clear();
        self.sources.clear();
        self.list_reads.clear();
        self.refused.clear();
        self.refused_own.clear();
        self.breaches.clear();
        self.not_own.clear();
        self.run.restart();
        (self.unsure, self.undecided, self.mixed, self.is_list) = (None, None, None, false);
        (self.unlearned, self.failed, self.unsaid) = (None, 0, false);
        self.equal.get_mut().clear();
    }

    /// Writes of aborted transactions are kept: other transactions may have read them.
    fn aborted(&mut self, txn: TxnId, op: &Op<'_>) {
        if let Some(value) = what_it_wrote(op) {
            let certain = op.effect() == Effect::Done;
            let op = op.id();
            self.writes.push(WriteFact {
                txn,
                op,
                value,
                last: false,
                undone: true,
                certain,
                read_before: MaybeIndex::NONE,
                next_equal: MaybeIndex::NONE,
                standing: Standing::RolledBack,
            });
        }
    }

    fn touch(&mut self, keys: &SortedKeys<'_>, touch: Touch, op: &Op<'_>) {
        if op.effect() == Effect::Unknown {
            self.unsure = self.unsure.or(Some(op.id()));
        }
        if op.effect() == Effect::Failed && op.kind() != OpKind::Read {
            self.failed += 1;
            let compares = matches!(op.kind(), OpKind::Cas | OpKind::InsertIfAbsent);
            if compares && self.run.wrote.is_none() {
                self.refused.push((op.id(), touch.txn));
            } else if compares {
                self.refused_after_own(keys, touch.txn, op);
            }
        }
        if op.kind() == OpKind::ListRead {
            self.list_read(touch.txn, op);
        } else if let Some(value) = what_it_read(op) {
            let (txn, standing) = (touch.txn, self.run.standing);
            let (op, empty_list) = (op.id(), None);
            self.observed(
                keys,
                ReadFact { txn, op, value, standing, empty_list, last: op, missing: false },
            );
        }
        if let Some(value) = what_it_wrote(op) {
            if value == Value::UNOBSERVED {
                self.unlearned = self.unlearned.or(Some(op.id()));
            }
            self.write(keys, touch.txn, op, value);
        }
    }

    /// An operation was refused after a write of its own transaction. What savepoints undid is not looked at.
    #[cold]
    fn refused_after_own(&mut self, keys: &SortedKeys<'_>, txn: TxnId, op: &Op<'_>) {
        let own = self.run.write.get().map(|w| self.writes[w]);
        if let Some(own) = own.filter(|own| own.certain && !keys.savepoints.any_in(txn))
            && asked_for(op) == Some(own.value)
        {
            self.refused_own.push((own.op, op.id()));
        }
    }

    #[inline]
    fn observed(&mut self, keys: &SortedKeys<'_>, read: ReadFact) {
        let savepoints = keys.savepoints.any_in(read.txn);
        if !(savepoints && self.read_of_undone(keys.history, &read)) {
            self.read(read);
        }
    }

    /// A read in a transaction with savepoints: whether it is one of an own write that was rolled
    /// back later, and says nothing about others.
    #[cold]
    fn read_of_undone(&mut self, history: &History, read: &ReadFact) -> bool {
        let Some(own) = self.run.standing(read.op).last().copied() else { return false };
        let last = self.run.write.get().map(|w| self.writes[w]);
        if last.is_some_and(|w| w.op == own.op) {
            return false;
        }
        if last.is_some_and(|w| !w.certain) || history.op(own.op).effect() != Effect::Done {
            // It is not known whether there was anything to read.
            self.run.looked();
            return true;
        }
        if own.value != read.value {
            self.not_own.push((own.op, *read));
        }
        true
    }

    /// A list read is an external read of its last foreign element, whatever the transaction itself
    /// has appended.
    fn list_read(&mut self, txn: TxnId, op: &Op<'_>) {
        let Some(elements) = op.elements() else { return };
        if self.run.own_unsure {
            self.run.looked();
            return;
        }
        let own = self.run.standing(op.id());
        let tail = elements.len().checked_sub(own.len());
        let same = |tail: &usize| elements[*tail..].iter().eq(own.iter().map(|own| &own.value));
        let Some(tail) = tail.filter(same) else {
            let anomaly = misses_own(own, elements);
            self.breaches.push(LocalFinding::new(anomaly, &[op.id()]));
            return;
        };
        self.list_reads.push(ListRead { op: op.id(), txn, foreign: tail as u32 });
        let value = elements[..tail].last().copied().unwrap_or(Value::ABSENT);
        let (op, standing, empty_list) = (op.id(), self.run.standing, Some(tail == 0));
        let (last, missing) = (op, false);
        self.external(ReadFact { txn, op, value, standing, empty_list, last, missing });
    }

    fn read(&mut self, read: ReadFact) {
        let Some(own) = self.run.write.get() else {
            self.external(read);
            return;
        };
        let own = &self.writes[own];
        if own.certain && own.value != read.value {
            self.not_own.push((own.op, read));
        }
    }

    #[inline]
    fn external(&mut self, read: ReadFact) {
        if read.missing && !self.missing_binds {
            // It counts as a read of its writer, and binds no other.
            self.reads.push(read);
            return;
        }
        if let Some(before) = self.run.read.get() {
            let before = &mut self.reads[before];
            if before.value == read.value && before.missing == read.missing {
                before.last = read.op;
                return;
            }
            // Written in between, if only to roll that back, it may differ.
            if before.value != read.value && self.run.wrote.is_none_or(|op| op < before.last) {
                let ops = [before.last, read.op];
                self.breaches.push(LocalFinding::new(Anomaly::NonRepeatableReads, &ops));
            }
        }
        self.run.read = MaybeIndex::of(self.reads.len());
        self.reads.push(read);
    }

    fn write(&mut self, keys: &SortedKeys<'_>, txn: TxnId, op: &Op<'_>, value: Value) {
        let undone = op.undone();
        let append = op.kind() == OpKind::Append;
        let mut read_before = self.run.read;
        let mut certain = op.effect() == Effect::Done;
        if append {
            self.run.own_unsure |= !certain;
        }
        if let Some(before) = self.run.write.get() {
            let before = &mut self.writes[before];
            read_before = before.read_before;
            if !undone {
                before.last = false;
            }
            // Which of the writes was the last is not known any more.
            before.certain &= certain;
            certain &= before.certain;
        }
        let op = op.id();
        self.run.wrote = Some(op);
        let (last, standing) = (!undone, self.run.standing);
        self.writes.push(WriteFact {
            txn,
            op,
            value,
            last,
            undone,
            certain,
            read_before,
            standing,
            next_equal: MaybeIndex::NONE,
        });
        if !undone {
            self.run.write = MaybeIndex::of(self.writes.len() - 1);
        }
        if append || keys.savepoints.any_in(txn) {
            self.run.standing(op);
            self.run.own.push(Own { op, value, until: keys.savepoints.undone_at(op) });
        }
    }

    /// What is known of the writes of a value, worked out once for all its readers.
    pub(crate) fn equal(&self, value: Value) -> Option<Arc<Equal>> {
        let first = self.values.first(&self.writes, value)?;
        if let Some(known) = self.equal.borrow().get(&first) {
            return Some(known.clone());
        }
        let mut equal = Equal { first, visible: Vec::new(), aborted: None };
        for w in self.values.chain(&self.writes, value) {
            let write = &self.writes[w as usize];
            if equal.aborted.is_none() && (write.undone || !write.standing.counts()) {
                equal.aborted = Some(w);
            }
            let other = |v: &u32| self.writes[*v as usize].txn != write.txn;
            if equal.visible.len() < 3 && write.is_visible() && equal.visible.iter().all(other) {
                equal.visible.push(w);
            }
            if equal.visible.len() == 3 {
                break;
            }
        }
        let equal = Arc::new(equal);
        self.equal.borrow_mut().insert(first, equal.clone());
        Some(equal)
    }

    /// What is wrong with reads after an own write that returned another value.
    fn name_own_reads(&mut self) {
        for i in 0..self.not_own.len() {
            let (own, read) = self.not_own[i];
            let same = self.values.chain(&self.writes, read.value);
            // Only a history that is made to be slow writes one value more often.
            let mut same = same.take(64).map(|w| self.writes[w as usize]);
            let anomaly = match same.find(|w| w.txn == read.txn) {
                Some(w) if w.op < own => Anomaly::NotMyLastWrite,
                Some(w) if w.op > read.op => Anomaly::FutureRead,
                _ => Anomaly::NotMyOwnWrite,
            };
            self.breaches.push(LocalFinding::new(anomaly, &[own, read.op]));
        }
    }
}

impl TxnSoFar {
    fn restart(&mut self) {
        self.txn = None;
        (self.write, self.read) = (MaybeIndex::NONE, MaybeIndex::NONE);
        (self.wrote, self.own_unsure) = (None, false);
        self.own.clear();
    }

    /// A read came of which it is not known what it says about other transactions: the version that was
    /// read before it is not the one that the next write overwrites.
    fn looked(&mut self) {
        self.read = MaybeIndex::NONE;
    }

    /// The own writes that stood when an operation came. What is rolled back comes off the end.
    fn standing(&mut self, at: OpId) -> &[Own] {
        while self.own.last().is_some_and(|own| own.until < at) {
            self.own.pop();
        }
        &self.own
    }
}

/// What is wrong with a list read that does not end with the transaction's own elements.
#[cold]
fn misses_own(own: &[Own], elements: &[Value]) -> Anomaly {
    // A name is not worth more than a look at the last few.
    let some = own.iter().rev().take(64).any(|own| elements.contains(&own.value));
    if some { Anomaly::NotMyLastWrite } else { Anomaly::NotMyOwnWrite }
}

/// The value that an operation observed, if it says so. A failed compare-and-set has seen some other
/// value, and a failed insert some value: neither names one.
#[inline]
pub(crate) fn what_it_read(op: &Op<'_>) -> Option<Value> {
    let done = op.effect() == Effect::Done;
    let value = match op.kind() {
        OpKind::Read => op.value(),
        OpKind::Cas if done => op.expected()?,
        OpKind::InsertIfAbsent if done => Value::ABSENT,
        _ => return None,
    };
    (value != Value::UNOBSERVED && (done || op.kind() != OpKind::Read)).then_some(value)
}

/// What an operation that was refused would have needed to see.
pub(crate) fn asked_for(op: &Op<'_>) -> Option<Value> {
    match op.kind() {
        OpKind::Cas if op.effect() == Effect::Failed => op.expected(),
        OpKind::InsertIfAbsent => Some(Value::ABSENT),
        _ => None,
    }
}

/// The value that an operation left under its key; a delete leaves the absence of one.
#[inline]
pub(crate) fn what_it_wrote(op: &Op<'_>) -> Option<Value> {
    if op.effect() == Effect::Failed {
        return None;
    }
    match op.kind() {
        OpKind::Write | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent => Some(op.value()),
        OpKind::Delete => Some(Value::ABSENT),
        _ => None,
    }
}

impl KeyFacts {
    /// The key.
    pub(crate) fn key(&self) -> Key {
        Key(self.key as u32)
    }
}
