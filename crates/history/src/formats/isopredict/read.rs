//! From lines to transactions.

use hashbrown::HashMap;

use super::line::{Name, TraceLine, TracedAction, TracedOperation, line};
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::ids::Key;
use crate::meta::InitialState;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Cursor;
use crate::value::Value;

/// The attribute of writes that remove a member of a set.
const DELETES: &str = "deletes";

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let mut trace = Trace::default();
    trace.scan(input, sink.pool()).map_err(|fault| input.text_error(fault))?;
    trace.warn(input, sink);
    sink.meta().initial = InitialState::every(Value::ABSENT);
    trace.deliver(sink).map_err(|fault| input.text_error(fault))
}

/// A trace, before it is known what its reads return: the writer may come later in the file.
#[derive(Default)]
struct Trace {
    /// In the order of their first lines.
    txns: Vec<Traced>,
    /// The transaction that each session is in.
    current: HashMap<i64, usize>,
    /// What each transaction does to each key it writes.
    writes: HashMap<(Name, Key), Writes>,
    /// Where the recorder's first message stands.
    replay: Option<usize>,
}

struct Traced {
    name: Name,
    ops: Vec<TracedOp>,
}

struct TracedOp {
    action: TracedAction,
    key: Key,
    /// Where the line begins.
    offset: usize,
}

/// The writes and deletes of one key in one transaction.
#[derive(Clone, Copy, Default)]
struct Writes {
    count: u32,
    /// How many have been handed over.
    done: u32,
    /// What the transaction itself would read now.
    now: Option<Value>,
}

impl Trace {
    fn scan(&mut self, input: &Input, pool: &mut Pool) -> Result<(), Fault> {
        let mut cursor = Cursor::new(&input.bytes);
        while !cursor.at_end() {
            let offset = cursor.pos;
            match line(&mut cursor)? {
                TraceLine::Operation(op) => self.operation(&op, offset, pool)?,
                TraceLine::Replay => self.replay = self.replay.or(Some(offset)),
                TraceLine::Blank => {}
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        op: &TracedOperation<'_>,
        offset: usize,
        pool: &mut Pool,
    ) -> Result<(), Fault> {
        let key = key(op, pool);
        let at = self.transaction(op.txn, offset)?;
        self.txns[at].ops.push(TracedOp { action: op.action, key, offset });
        if !matches!(op.action, TracedAction::Read(_)) {
            let writes = self.writes.entry((op.txn, key)).or_default();
            writes.count += 1;
        }
        Ok(())
    }

    /// The transaction that a line belongs to: the session's current one, or the next.
    fn transaction(&mut self, name: Name, offset: usize) -> Result<usize, Fault> {
        if let Some(&current) = self.current.get(&name.session) {
            let latest = self.txns[current].name;
            if latest == name {
                return Ok(current);
            }
            if latest.number > name.number {
                return Err(Fault::wrong(offset, "the transactions of a session are out of order")
                    .hint(format_args!("Txn{name} comes after Txn{latest}")));
            }
        }
        self.current.insert(name.session, self.txns.len());
        self.txns.push(Traced { name, ops: Vec::new() });
        Ok(self.txns.len() - 1)
    }

    fn warn(&self, input: &Input, sink: &mut dyn Sink) {
        if let Some(offset) = self.replay {
            let message = "REPLAY messages of the recorder are left out";
            sink.warn(input.text_warning(offset, message));
        }
        let initial = self.txns.iter().find(|txn| txn.name == Name::INITIAL);
        let reading = initial.and_then(Traced::first_read);
        if let Some(offset) = reading {
            let message = "Txn(0, 0) reads, so it is taken for a transaction like the others, \
                           not for the initial state";
            sink.warn(input.text_warning(offset, message));
        }
    }

    fn deliver(&mut self, sink: &mut dyn Sink) -> Result<(), Fault> {
        let mut draft = TxnDraft::default();
        for txn in std::mem::take(&mut self.txns) {
            if txn.name == Name::INITIAL && txn.first_read().is_none() {
                self.initial_state(&txn, sink);
                continue;
            }
            let session = sink.pool().int(txn.name.session);
            draft.reset(sink.pool().session(session));
            draft.label = Some(text(txn.name, sink.pool()));
            for op in &txn.ops {
                self.op(txn.name, op, &mut draft, sink.pool())?;
            }
            let offset = txn.ops.first().map_or(0, |op| op.offset);
            sink.transaction(&draft).map_err(|error| Fault::sink(offset, &error))?;
        }
        Ok(())
    }

    /// The writes of the initial transaction, of which only the last of each key counts.
    fn initial_state(&mut self, txn: &Traced, sink: &mut dyn Sink) {
        let value = text(txn.name, sink.pool());
        for op in &txn.ops {
            let Some(writes) = self.writes.get_mut(&(txn.name, op.key)) else { continue };
            writes.done += 1;
            if writes.done == writes.count {
                sink.meta().initial.given.push((op.key, value));
            }
        }
    }

    fn op(
        &mut self,
        txn: Name,
        op: &TracedOp,
        draft: &mut TxnDraft,
        pool: &mut Pool,
    ) -> Result<(), Fault> {
        if let TracedAction::Read(from) = op.action {
            return self.read(txn, op, from, draft, pool);
        }
        let Some(writes) = self.writes.get_mut(&(txn, op.key)) else { return Ok(()) };
        writes.done += 1;
        let value = match writes {
            Writes { done, count, .. } if done == count => text(txn, pool),
            Writes { done, .. } => pool.text(&format!("{}.{}'{done}", txn.session, txn.number)),
        };
        writes.now = Some(value);
        draft.write(op.key, value);
        if op.action == TracedAction::Delete {
            draft.op_attr(pool.text(DELETES), Value::TRUE);
        }
        Ok(())
    }

    fn read(
        &self,
        txn: Name,
        op: &TracedOp,
        from: Name,
        draft: &mut TxnDraft,
        pool: &mut Pool,
    ) -> Result<(), Fault> {
        let value = match self.writes.get(&(from, op.key)) {
            Some(Writes { now: Some(now), .. }) if from == txn => *now,
            Some(_) => text(from, pool),
            None if from.may_be_initial() => Value::ABSENT,
            None => {
                let complaint = "the transaction that is read from does not write the key";
                return Err(Fault::wrong(op.offset, complaint).hint(format_args!(
                    "the file has no write of it in Txn{from}; the initial state is From(0, 0)"
                )));
            }
        };
        draft.read(op.key, value);
        Ok(())
    }
}

impl Traced {
    fn first_read(&self) -> Option<usize> {
        let read = self.ops.iter().find(|op| matches!(op.action, TracedAction::Read(_)));
        read.map(|op| op.offset)
    }
}

/// The label of a transaction, which is also what it writes.
fn text(name: Name, pool: &mut Pool) -> Value {
    pool.text(&format!("{}.{}", name.session, name.number))
}

fn key(op: &TracedOperation<'_>, pool: &mut Pool) -> Key {
    let key = name_value(op.key, pool);
    let name = match op.set {
        None => key,
        Some(set) => {
            let set = name_value(set, pool);
            pool.list(&[set, key])
        }
    };
    pool.key(name)
}

/// A name as a number if it is spelled as one, otherwise as text.
fn name_value(name: &str, pool: &mut Pool) -> Value {
    let plain = name == "0" || !name.starts_with('0');
    match name.parse::<u64>() {
        Ok(number) if plain && !name.starts_with('+') => pool.uint(number),
        _ => pool.text(name),
    }
}
