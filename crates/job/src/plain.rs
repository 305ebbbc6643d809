//! A witness for formats that can say less than Isolde's own: reads and writes of numbers, and nothing
//! else. Times, names and the claim that something is missing are left out; what was there before is
//! written by a transaction of its own. Whether that still shows the anomaly is for the caller to check.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail};
use isolde_history::{
    Effect, History, HistoryBuilder, Key, Op, OpId, OpKind, Outcome, Sink, TxnDraft, TxnId, Value,
};
use isolde_spec::Witness;

/// The history, and under which number each key goes.
pub(crate) struct Plain {
    pub(crate) history: History,
    pub(crate) keys: Vec<(Key, u32)>,
}

/// The transactions of a witness as plain reads and writes. `absent`: the history says that there was
/// nothing at first; some formats cannot but mean that, others cannot say it.
pub(crate) fn plain(history: &History, witness: &Witness, absent: bool) -> Result<Plain> {
    let mut txns: Vec<TxnId> = witness.involved().collect();
    txns.sort_unstable();
    let mut writer = Writer::new(history, &txns, witness);
    writer.builder.meta().initial.default = absent.then_some(Value::ABSENT);
    let mut draft = TxnDraft::default();
    let before = writer.before(&txns)?;
    if !before.is_empty() {
        draft.reset(writer.session(None));
        for (key, value) in before {
            let (key, value) = (writer.key(key), writer.value(key, value));
            draft.write(key, value);
        }
        writer.builder.transaction(&draft)?;
    }
    for txn in txns {
        writer.transaction(txn, &mut draft)?;
    }
    let mut keys: Vec<(Key, u32)> = writer.keys.into_iter().collect();
    keys.sort_by_key(|(_, number)| *number);
    Ok(Plain { history: writer.builder.finish(), keys })
}

struct Writer<'a> {
    history: &'a History,
    builder: HistoryBuilder,
    /// The operations that show the anomaly.
    cited: Vec<OpId>,
    /// What the transactions that are shown wrote.
    written: HashSet<(Key, Value)>,
    keys: HashMap<Key, u32>,
    values: HashMap<(Key, Value), u32>,
    sessions: HashMap<Option<u32>, u32>,
}

impl<'a> Writer<'a> {
    fn new(history: &'a History, txns: &[TxnId], witness: &Witness) -> Writer<'a> {
        let ops = || txns.iter().flat_map(|txn| history.txn(*txn).ops());
        let writes = ops().filter(|op| op.kind().writes());
        let because = witness.steps.iter().flat_map(|s| [s.because.from_op, s.because.to_op]);
        Writer {
            history,
            builder: HistoryBuilder::new(),
            cited: because.flatten().chain(witness.ops.iter().copied()).collect(),
            written: writes.map(|op| (op.key(), op.value())).collect(),
            keys: HashMap::new(),
            values: HashMap::new(),
            sessions: HashMap::new(),
        }
    }

    /// What must have been there before: what was read and no transaction here wrote. Of an operation
    /// that shows nothing, that does not matter.
    fn before(&self, txns: &[TxnId]) -> Result<Vec<(Key, Value)>> {
        let mut before: Vec<(Key, Value)> = Vec::new();
        for op in txns.iter().flat_map(|txn| self.history.txn(*txn).ops()) {
            let value = op.value();
            if op.kind() != OpKind::Read || !self.was_before(&op) {
                continue;
            }
            match before.iter().find(|(key, _)| *key == op.key()) {
                None => before.push((op.key(), value)),
                Some((_, other)) if *other == value || !self.cited.contains(&op.id()) => {}
                Some(_) => bail!("two values of one key came from elsewhere"),
            }
        }
        Ok(before)
    }

    fn was_before(&self, op: &Op<'_>) -> bool {
        let value = op.value();
        let plain = value != Value::ABSENT && value != Value::UNOBSERVED;
        let initial = self.history.meta().initial.of(op.key()) == Some(value);
        let shown = initial || self.cited.contains(&op.id());
        plain && shown && !self.written.contains(&(op.key(), value))
    }

    fn transaction(&mut self, id: TxnId, draft: &mut TxnDraft) -> Result<()> {
        let txn = self.history.txn(id);
        draft.reset(self.session(Some(txn.session().0)));
        draft.outcome = txn.outcome();
        for op in txn.ops() {
            self.op(&op, txn.outcome(), draft)?;
        }
        if draft.op_count() > 0 {
            self.builder.transaction(draft)?;
        }
        Ok(())
    }

    fn op(&mut self, op: &Op<'_>, outcome: Outcome, draft: &mut TxnDraft) -> Result<()> {
        let cited = self.cited.contains(&op.id());
        let done = op.effect() == Effect::Done || outcome != Outcome::Committed;
        match op.kind() {
            OpKind::Read => {
                let (source, value) = (self.written.contains(&(op.key(), op.value())), op.value());
                if source || value == Value::ABSENT || self.was_before(op) {
                    let (key, value) = (self.key(op.key()), self.value(op.key(), value));
                    draft.read(key, value);
                } else if cited {
                    bail!("a value was read that no transaction wrote");
                }
            }
            OpKind::Write | OpKind::Append if done && !op.undone() => {
                let (key, value) = (self.key(op.key()), self.value(op.key(), op.value()));
                let append = op.kind() == OpKind::Append;
                if append { draft.append(key, value) } else { draft.write(key, value) }
            }
            OpKind::ListRead => {
                let elements = op.elements().context("a list was not read")?;
                let known = |v: &&Value| self.written.contains(&(op.key(), **v));
                let known: Vec<Value> = elements.iter().filter(known).copied().collect();
                let known: Vec<Value> = known.iter().map(|v| self.value(op.key(), *v)).collect();
                let key = self.key(op.key());
                draft.list_read(key, Some(&known))?;
            }
            kind if cited => bail!("it shows a {}", kind.title()),
            _ => {}
        }
        Ok(())
    }

    // ---- numbers ----

    fn session(&mut self, session: Option<u32>) -> isolde_history::SessionId {
        let next = self.sessions.len() as u32;
        let number = *self.sessions.entry(session).or_insert(next);
        self.builder.pool().session(Value::from_u32(number))
    }

    fn key(&mut self, key: Key) -> Key {
        let next = self.keys.len() as u32 + 1;
        let number = *self.keys.entry(key).or_insert(next);
        self.builder.pool().key(Value::from_u32(number))
    }

    fn value(&mut self, key: Key, value: Value) -> Value {
        if value == Value::ABSENT || value == Value::UNOBSERVED {
            return value;
        }
        let next = self.values.len() as u32 + 1;
        Value::from_u32(*self.values.entry((key, value)).or_insert(next))
    }
}
