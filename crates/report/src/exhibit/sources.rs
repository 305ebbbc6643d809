//! Where values came from, among the transactions of one witness.
//!
//! Only what is beyond doubt is told. A value that two of them wrote, or that was also there at first,
//! may have come from either: then nothing is said, unless the witness itself says that one read from the
//! other.

use std::collections::{HashMap, HashSet};

use isolde_history::{Effect, History, Key, Op, OpId, OpKind, TxnId, Value};
use isolde_spec::{Edges, Step, Witness};

/// The writes of the transactions that are involved.
pub(super) struct Sources<'a> {
    history: &'a History,
    by_value: HashMap<(Key, Value), Vec<OpId>>,
    /// What the witness says: which transaction read from which. A cycle may have a hundred thousand.
    read_from: HashSet<(TxnId, TxnId, Option<Key>)>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(history: &'a History, witness: &Witness) -> Sources<'a> {
        let mut by_value: HashMap<(Key, Value), Vec<OpId>> = HashMap::new();
        for op in witness.involved().flat_map(|txn| history.txn(txn).ops()) {
            if op.kind().writes() && op.effect() != Effect::Failed {
                by_value.entry((op.key(), written(&op))).or_default().push(op.id());
            }
        }
        let paths = witness.forced.iter().flat_map(|forced| &forced.path);
        let reads = |step: &&Step| step.kind == Edges::WR && !step.because.inferred;
        let read_from = witness.steps.iter().chain(paths).filter(reads);
        let steps = read_from.map(|step| (step.from, step.to, step.because.key));
        let read_from = steps.chain(by_timestamps(history, witness)).collect();
        Sources { history, by_value, read_from }
    }

    /// The write whose value was read, if there is no doubt.
    pub(super) fn of(&self, read: OpId) -> Option<OpId> {
        let op = self.history.op(read);
        let value = match op.kind() {
            OpKind::Read => op.value(),
            // One that failed has seen something else.
            OpKind::Cas if op.effect() == Effect::Done => op.expected()?,
            OpKind::ListRead => *op.elements()?.last()?,
            _ => return None,
        };
        self.write_of(&op, value)
    }

    /// The appends of the elements of a list, as far as there is no doubt; of anything else that was
    /// read, its write.
    pub(super) fn all_of(&self, read: OpId) -> Vec<OpId> {
        let op = self.history.op(read);
        match op.elements().filter(|_| op.kind() == OpKind::ListRead) {
            Some(elements) => {
                let last = elements.iter().rev().take(MOST_ELEMENTS);
                last.filter_map(|value| self.write_of(&op, *value)).collect()
            }
            None => self.of(read).into_iter().collect(),
        }
    }

    fn write_of(&self, read: &Op<'_>, value: Value) -> Option<OpId> {
        let reader = self.history.txn_of(read.id());
        let writes = self.by_value.get(&(read.key(), value))?;
        let said = |write: &&OpId| {
            let edge = (self.history.txn_of(**write), reader, Some(read.key()));
            self.read_from.contains(&edge)
        };
        if let Some(write) = writes.iter().find(said) {
            return Some(*write);
        }
        let list = read.kind() == OpKind::ListRead;
        let initial = self.history.meta().initial.of(read.key());
        match writes[..] {
            [only] if (list || initial != Some(value)) && self.may_see(only, reader) => Some(only),
            _ => None,
        }
    }

    /// Whether a transaction of the witness wrote that value.
    pub(super) fn somebody_wrote(&self, key: Key, value: Value) -> bool {
        self.by_value.contains_key(&(key, value))
    }

    /// Whether another transaction could see a write: the writer had begun before the reader ended.
    fn may_see(&self, write: OpId, reader: TxnId) -> bool {
        let writer = self.history.txn_of(write);
        let begin = self.history.txn(writer).interval().begin;
        let end = self.history.txn(reader).interval().end;
        writer != reader && begin.zip(end).is_none_or(|(begin, end)| begin <= end)
    }

    /// The next write of the same transaction to the same key.
    pub(super) fn next_write(&self, write: OpId) -> Option<OpId> {
        let op = self.history.op(write);
        let txn = self.history.txn(self.history.txn_of(write));
        let same = |o: &Op<'_>| o.id() > write && o.kind().writes() && o.key() == op.key();
        txn.ops().find(same).map(|op| op.id())
    }
}

/// What timestamps or intervals say of the read that is wrong, which is the first operation to look at.
fn by_timestamps(history: &History, witness: &Witness) -> Option<(TxnId, TxnId, Option<Key>)> {
    let timed = witness.timed.as_ref().and_then(|timed| timed.read.as_ref());
    let mirrored = witness.mirrored.as_ref().and_then(|mirrored| mirrored.read.as_ref());
    let write = timed.or(mirrored)?.write?;
    let read = *witness.ops.first()?;
    Some((history.txn_of(write), history.txn_of(read), Some(history.op(read).key())))
}

/// How many elements of a list are looked at.
const MOST_ELEMENTS: usize = 50;

/// What is there after a write.
fn written(op: &Op<'_>) -> Value {
    if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() }
}
