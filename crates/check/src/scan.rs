//! One pass over the operations: what each transaction read from others, what it left behind, and
//! what it did against the rules inside a transaction.

use isolde_history::{Effect, History, Key, Op, OpId, OpKind, Outcome, Txn, TxnId, Value};
use isolde_spec::Anomaly;

use crate::lists;

/// A read whose value must have come from another transaction, or from the initial state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadFact {
    pub(crate) key: Key,
    pub(crate) txn: TxnId,
    pub(crate) op: OpId,
    pub(crate) value: Value,
    /// The value is the last element of a list: `Some(true)` of an empty one, which is the initial
    /// state whatever that is called.
    pub(crate) empty_list: Option<bool>,
}

/// A write, and whether anyone but its transaction may ever see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteFact {
    pub(crate) key: Key,
    pub(crate) txn: TxnId,
    pub(crate) op: OpId,
    pub(crate) value: Value,
    /// The last write of its key in the transaction, and not undone by a rollback to a savepoint.
    pub(crate) last: bool,
    /// Undone by a rollback to a savepoint.
    pub(crate) undone: bool,
    /// Whether it is known that this write, and no other of the key in its transaction after it, was
    /// done.
    pub(crate) certain: bool,
    /// The read of the same key that came before the transaction's first write of it.
    /// As one more than an index of reads, 0 for none.
    pub(crate) after: u32,
}

/// A breach of the rules inside a transaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalFinding {
    pub(crate) anomaly: Anomaly,
    pub(crate) txn: TxnId,
    pub(crate) ops: Vec<OpId>,
}

/// What one pass finds.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) reads: Vec<ReadFact>,
    pub(crate) writes: Vec<WriteFact>,
    /// List reads, and how many of the elements are not the reader's own.
    pub(crate) list_reads: Vec<(OpId, TxnId, u32)>,
    pub(crate) findings: Vec<LocalFinding>,
    /// The first predicate read, which this road cannot follow.
    pub(crate) predicate: Option<OpId>,
    /// The first operation of which nobody knows whether it was done.
    pub(crate) unsure: Option<OpId>,
    /// The first operation on a key that is used as a list and as something else.
    pub(crate) mixed: Option<OpId>,
}

/// What the transaction under way has done to a key so far. Valid only if the stamp is its own.
#[derive(Clone, Copy)]
struct Touched {
    stamp: u32,
    /// Index in `Scan::writes` of the last write that stands, plus one.
    write: u32,
    /// Index in `Scan::reads` of the last read before the first write, plus one.
    read: u32,
    /// Whether it wrote at all, if only to roll that back.
    wrote: bool,
}

/// Scans all operations of a history.
pub(crate) fn operations(history: &History) -> Scan {
    let mut scan = Scan::default();
    let nothing = Touched { stamp: u32::MAX, write: 0, read: 0, wrote: false };
    let mut touched = vec![nothing; history.key_count()];
    let mixed = mixed_keys(history);
    for txn in history.txns() {
        if txn.outcome() == Outcome::Aborted {
            aborted(&mut scan, txn, &mixed);
            continue;
        }
        let stamp = txn.id().0;
        let has_savepoints = txn.ops().any(|op| op.kind() == OpKind::Savepoint);
        for op in txn.ops() {
            if !op.kind().has_key() {
                if op.kind() == OpKind::PredicateRead {
                    scan.predicate.get_or_insert(op.id());
                }
                continue;
            }
            if mixed[op.key().index()] {
                scan.mixed.get_or_insert(op.id());
                continue;
            }
            let at = &mut touched[op.key().index()];
            if at.stamp != stamp {
                *at = Touched { stamp, ..nothing };
            }
            if op.effect() == Effect::Unknown {
                scan.unsure.get_or_insert(op.id());
            }
            if op.kind() == OpKind::ListRead {
                scan.list_read(history, txn.id(), &op, at);
            } else if let Some(value) = what_it_read(&op)
                && !(has_savepoints && scan.read_of_undone(history, txn, &op, value, at))
            {
                let (key, txn, op) = (op.key(), txn.id(), op.id());
                scan.read(history, ReadFact { key, txn, op, value, empty_list: None }, at);
            }
            if let Some(value) = what_it_wrote(&op) {
                scan.write(txn.id(), &op, value, at);
            }
        }
    }
    scan
}

/// Keys that are appended to or read as lists, and also read or written as something else: what an
/// append means there (Porcupine's pieces of text, say) is beyond this road.
fn mixed_keys(history: &History) -> Vec<bool> {
    const LIST: u8 = 1;
    const OTHER: u8 = 2;
    let mut uses = vec![0u8; history.key_count()];
    for op in history.ops().filter(|op| op.kind().has_key()) {
        let list = matches!(op.kind(), OpKind::Append | OpKind::ListRead);
        uses[op.key().index()] |= if list { LIST } else { OTHER };
    }
    uses.into_iter().map(|uses| uses == LIST | OTHER).collect()
}

/// The value that an operation observed, if it says so. A failed compare-and-set has seen some other
/// value, and a failed insert some value: neither names one.
fn what_it_read(op: &Op<'_>) -> Option<Value> {
    let done = op.effect() == Effect::Done;
    let value = match op.kind() {
        OpKind::Read => op.value(),
        OpKind::Cas if done => op.expected()?,
        OpKind::InsertIfAbsent if done => Value::ABSENT,
        _ => return None,
    };
    (value != Value::UNOBSERVED && (done || op.kind() != OpKind::Read)).then_some(value)
}

/// The value that an operation left under its key; a delete leaves the absence of one.
fn what_it_wrote(op: &Op<'_>) -> Option<Value> {
    if op.effect() == Effect::Failed {
        return None;
    }
    match op.kind() {
        OpKind::Write | OpKind::Append | OpKind::Cas | OpKind::InsertIfAbsent => Some(op.value()),
        OpKind::Delete => Some(Value::ABSENT),
        _ => None,
    }
}

/// The last own write of a key that stood when an operation came: rolled back later, perhaps, but not
/// yet.
#[cold]
fn standing_write(txn: Txn<'_>, op: &Op<'_>) -> Option<(OpId, Value)> {
    let mut own: Vec<(OpId, Value)> = Vec::new();
    let mut savepoints: Vec<(Value, usize)> = Vec::new();
    for other in txn.ops().take_while(|other| other.id() < op.id()) {
        match other.kind() {
            OpKind::Savepoint => savepoints.push((other.value(), own.len())),
            OpKind::RollbackTo => {
                if let Some(at) = savepoints.iter().rposition(|s| s.0 == other.value()) {
                    own.truncate(savepoints[at].1);
                    savepoints.truncate(at + 1);
                }
            }
            _ if other.key() == op.key() => {
                own.extend(what_it_wrote(&other).map(|value| (other.id(), value)));
            }
            _ => {}
        }
    }
    own.last().copied()
}

/// Writes of aborted transactions are kept: somebody may have read them.
fn aborted(scan: &mut Scan, txn: Txn<'_>, mixed: &[bool]) {
    for op in txn.ops() {
        if op.kind().has_key()
            && !mixed[op.key().index()]
            && let Some(value) = what_it_wrote(&op)
        {
            let certain = op.effect() == Effect::Done;
            let (key, op) = (op.key(), op.id());
            let txn = txn.id();
            let write =
                WriteFact { key, txn, op, value, last: false, undone: true, certain, after: 0 };
            scan.writes.push(write);
        }
    }
}

impl Scan {
    /// A read in a transaction with savepoints: whether it is one of an own write that was rolled
    /// back later, and says nothing about others.
    #[cold]
    fn read_of_undone(
        &mut self,
        history: &History,
        txn: Txn<'_>,
        op: &Op<'_>,
        value: Value,
        at: &Touched,
    ) -> bool {
        let Some((own, written)) = standing_write(txn, op) else { return false };
        let last = at.write.checked_sub(1).map(|w| self.writes[w as usize]);
        if last.is_some_and(|w| w.op == own) {
            return false;
        }
        if last.is_some_and(|w| !w.certain) || history.op(own).effect() != Effect::Done {
            // Whether there was anything to read, nobody knows.
            return true;
        }
        if written != value {
            let (key, txn, op) = (op.key(), txn.id(), op.id());
            let read = ReadFact { key, txn, op, value, empty_list: None };
            let anomaly = own_read(history, own, &read);
            self.findings.push(LocalFinding { anomaly, txn, ops: vec![own, op] });
        }
        true
    }

    /// A list read is an external read of its last foreign element, whatever the transaction itself
    /// has appended.
    fn list_read(&mut self, history: &History, txn: TxnId, op: &Op<'_>, at: &mut Touched) {
        let Some(elements) = op.elements() else { return };
        // Almost always the transaction has not appended to the list before.
        let foreign = match at.wrote {
            false => Some(elements),
            true if lists::own_unsure(history, txn, op) => return,
            true => lists::foreign(history, txn, op),
        };
        let Some(foreign) = foreign else {
            let anomaly = lists::misses_own(history, txn, op);
            self.findings.push(LocalFinding { anomaly, txn, ops: vec![op.id()] });
            return;
        };
        self.list_reads.push((op.id(), txn, foreign.len() as u32));
        let value = foreign.last().copied().unwrap_or(Value::ABSENT);
        let own = std::mem::take(&mut at.write);
        let (key, op, empty_list) = (op.key(), op.id(), Some(foreign.is_empty()));
        self.read(history, ReadFact { key, txn, op, value, empty_list }, at);
        at.write = own;
    }

    fn read(&mut self, history: &History, read: ReadFact, at: &mut Touched) {
        let txn = read.txn;
        if at.write > 0 {
            let own = &self.writes[at.write as usize - 1];
            if own.certain && own.value != read.value {
                let (ops, own) = (vec![own.op, read.op], own.op);
                let anomaly = own_read(history, own, &read);
                self.findings.push(LocalFinding { anomaly, txn, ops });
            }
            return;
        }
        if at.read > 0 {
            let before = self.reads[at.read as usize - 1];
            if before.value == read.value {
                return;
            }
            if !wrote_between(history, &before, &read) {
                let ops = vec![before.op, read.op];
                let anomaly = Anomaly::NonRepeatableReads;
                self.findings.push(LocalFinding { anomaly, txn, ops });
            }
        }
        self.reads.push(read);
        at.read = self.reads.len() as u32;
    }

    fn write(&mut self, txn: TxnId, op: &Op<'_>, value: Value, at: &mut Touched) {
        let undone = op.undone();
        at.wrote = true;
        // An append does not say where in the list it ends up; the reads of the list do.
        let mut after = if op.kind() == OpKind::Append { 0 } else { at.read };
        let mut certain = op.effect() == Effect::Done;
        if at.write > 0 {
            let before = &mut self.writes[at.write as usize - 1];
            after = before.after;
            if !undone {
                before.last = false;
            }
            // Which of the writes was the last is not known any more.
            before.certain &= certain;
            certain &= before.certain;
        }
        let (key, op) = (op.key(), op.id());
        let last = !undone;
        self.writes.push(WriteFact { key, txn, op, value, last, undone, certain, after });
        if !undone {
            at.write = self.writes.len() as u32;
        }
    }
}

/// Whether the transaction wrote the key between two reads of it, if only to roll that back.
#[cold]
fn wrote_between(history: &History, first: &ReadFact, second: &ReadFact) -> bool {
    let ops = history.txn(first.txn).ops();
    let mut between = ops.filter(|op| first.op < op.id() && op.id() < second.op);
    between.any(|op| op.key() == first.key && what_it_wrote(&op).is_some())
}

/// What is wrong with a read after an own write that returned another value.
#[cold]
fn own_read(history: &History, own: OpId, read: &ReadFact) -> Anomaly {
    let writes = history.txn(read.txn).ops().filter(|op| op.key() == read.key);
    let mut same = writes.filter(|op| what_it_wrote(op) == Some(read.value));
    match same.next() {
        Some(op) if op.id() < own => Anomaly::NotMyLastWrite,
        Some(op) if op.id() > read.op => Anomaly::FutureRead,
        _ => Anomaly::NotMyOwnWrite,
    }
}
