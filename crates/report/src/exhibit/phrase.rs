//! Operations as parts of a sentence: "read x = 3", "appended 5 to l".

use isolde_history::{Effect, History, Key, Op, OpId, OpKind, TxnId, Value};
use isolde_spec::Seen;

use super::sources::Sources;
use crate::names;
use crate::wrap::{all_of, shorten};

/// How long a value may be in a sentence.
const VALUE_LEN: usize = 40;
/// How many elements of a list or rows of a result are looked at.
const ELEMENTS: usize = 24;

/// Speaks about the operations of one witness.
#[derive(Clone, Copy)]
pub(super) struct Phrases<'a> {
    pub(super) history: &'a History,
    pub(super) sources: &'a Sources<'a>,
}

impl Phrases<'_> {
    pub(super) fn name(&self, txn: TxnId) -> String {
        names::txn(self.history, txn)
    }

    /// "T1 and T2".
    pub(super) fn names(&self, txns: &[TxnId]) -> String {
        let names: Vec<String> = txns.iter().map(|txn| self.name(*txn)).collect();
        all_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Whose operation it is.
    pub(super) fn whose(&self, op: OpId) -> String {
        self.name(self.history.txn_of(op))
    }

    pub(super) fn value(&self, value: Value) -> String {
        shorten(&names::value(self.history, value), VALUE_LEN)
    }

    pub(super) fn key(&self, op: OpId) -> String {
        let op = self.history.op(op);
        if op.kind() == OpKind::PredicateRead {
            return self.value(op.value());
        }
        shorten(&names::spoken_key(self.history, op.key()), VALUE_LEN)
    }

    /// What was there: "x = 3", "no x", "l = [1,2]".
    pub(super) fn seen(&self, op: OpId) -> String {
        let key = self.key(op);
        let found = self.history.op(op);
        match found.kind() {
            OpKind::Read | OpKind::Write => self.is(&key, found.value()),
            // It takes effect only where there is nothing.
            OpKind::InsertIfAbsent if found.effect() == Effect::Done => format!("no {key}"),
            OpKind::InsertIfAbsent => format!("{key} there"),
            OpKind::Cas => self.is(&key, found.expected().unwrap_or(Value::UNOBSERVED)),
            OpKind::Delete => format!("no {key}"),
            _ => format!("{key} in {}", shorten(&names::op(self.history, op), VALUE_LEN)),
        }
    }

    /// What a key held: "x = 3", "no x".
    pub(super) fn is(&self, key: &str, value: Value) -> String {
        match value {
            Value::ABSENT => format!("no {key}"),
            Value::UNOBSERVED => key.to_owned(),
            value => format!("{key} = {}", self.value(value)),
        }
    }

    /// What a read did: "read x = 3", "found no x".
    pub(super) fn read(&self, op: OpId) -> String {
        let found = self.history.op(op);
        match found.kind() {
            OpKind::Read if found.value() == Value::ABSENT => format!("found {}", self.seen(op)),
            OpKind::ListRead => {
                format!("read {} = {}", self.key(op), self.list(found.elements().unwrap_or(&[])))
            }
            OpKind::Cas if found.effect() == Effect::Failed => {
                format!("did not find {}", self.seen(op))
            }
            OpKind::Cas | OpKind::InsertIfAbsent => format!("found {}", self.seen(op)),
            OpKind::PredicateRead => self.looked_for(&found),
            _ => format!("read {}", self.seen(op)),
        }
    }

    /// "[1,2,3]", or both ends of a longer list.
    pub(super) fn list(&self, all: &[Value]) -> String {
        let told =
            |some: &[Value]| some.iter().map(|v| self.value(*v)).collect::<Vec<String>>().join(",");
        let text = match all.len() {
            0..=ELEMENTS => told(all),
            n => format!("{}...{}", told(&all[..ELEMENTS / 2]), told(&all[n - ELEMENTS / 2..])),
        };
        shorten(&format!("[{text}]"), VALUE_LEN)
    }

    /// What a transaction should have read, or read: "x = 2", "no x", "l = [1,2]".
    pub(super) fn version(&self, op: OpId, seen: &Seen) -> String {
        // A predicate read looked at rows; the row is that of the version.
        let predicate = self.history.op(op).kind() == OpKind::PredicateRead;
        let key = self.key(seen.write.filter(|_| predicate).unwrap_or(op));
        match &seen.list {
            Some(list) => format!("{key} = {}", self.list(list)),
            None => self.is(&key, seen.value),
        }
    }

    /// "looked for p and found x = 1".
    fn looked_for(&self, found: &Op<'_>) -> String {
        let name = |key: Key| names::spoken_key(self.history, key);
        let rows = found.result_set().into_iter().flatten();
        let rows: Vec<String> =
            rows.take(ELEMENTS).map(|(key, value)| self.is(&name(key), value)).collect();
        let rows = if rows.is_empty() { "nothing".to_owned() } else { rows.join(", ") };
        format!("looked for {} and found {}", self.value(found.value()), shorten(&rows, VALUE_LEN))
    }

    /// What a write did: "wrote x = 3", "appended 5 to l", "deleted x".
    pub(super) fn wrote(&self, op: OpId) -> String {
        let found = self.history.op(op);
        let (key, value) = (self.key(op), self.value(found.value()));
        match found.kind() {
            OpKind::Append => format!("appended {value} to {key}"),
            OpKind::Cas => format!("set {key} to {value}"),
            OpKind::InsertIfAbsent => format!("inserted {key} = {value}"),
            OpKind::Delete => format!("deleted {key}"),
            _ => format!("wrote {key} = {value}"),
        }
    }

    /// What another transaction had done to the version read: "which T2 had overwritten with 5".
    pub(super) fn replaced(&self, read: OpId, write: OpId) -> String {
        let verbs = ["had appended", "had deleted", "had inserted", "had overwritten with"];
        self.who_replaced(read, write, verbs)
    }

    /// What another transaction did to the version read: "which T2 overwrote with 5".
    pub(super) fn replaces(&self, read: OpId, write: OpId) -> String {
        self.who_replaced(read, write, ["appended", "deleted", "inserted", "overwrote with"])
    }

    fn who_replaced(&self, read: OpId, write: OpId, verbs: [&str; 4]) -> String {
        let [append, delete, insert, overwrite] = verbs;
        let found = self.history.op(write);
        let (who, value) = (self.whose(write), self.value(found.value()));
        if self.history.op(read).kind() == OpKind::PredicateRead {
            return format!("which misses that {who} {}", self.wrote(write));
        }
        match found.kind() {
            OpKind::Append => format!("to which {who} {append} {value}"),
            OpKind::Delete => format!("which {who} {delete}"),
            OpKind::InsertIfAbsent => format!("where {who} {insert} {value}"),
            _ => format!("which {who} {overwrite} {value}"),
        }
    }

    /// Where what was read came from: ", written by T9", ", the initial value", or nothing.
    pub(super) fn origin(&self, read: OpId) -> String {
        if let Some(write) = self.sources.of(read) {
            return format!(", written by {}", self.whose(write));
        }
        let op = self.history.op(read);
        let initial = op.kind() == OpKind::Read
            && op.value() != Value::ABSENT
            && !self.sources.somebody_wrote(op.key(), op.value())
            && self.history.meta().initial.of(op.key()) == Some(op.value());
        if initial { ", the initial value".to_owned() } else { String::new() }
    }
}
