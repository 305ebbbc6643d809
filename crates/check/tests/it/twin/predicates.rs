//! Predicate reads: what a result says about the keys that are in it, and about those that are not.
//!
//! A predicate is an unknown set of rows (key and value); an absent key satisfies none. A row is
//! *known to match* a predicate if some read of that predicate returned it, whatever became of the
//! transaction of that read.
//!
//! A predicate read is a set of reads made by one statement. Every row of its result is an ordinary
//! read of that key. A key that is not in the result was seen with a value that does not match; if
//! all values that it can have are known to match, it was seen absent, which is an ordinary read
//! too. If some are and others are not, the pair of predicate read and key is *undecided*: it forbids
//! nothing, but that a level holds is then not known either. If none is, it says nothing: the
//! predicate may be about other keys. Which of these it is depends on the history alone, not on
//! what the twin assumes about operations without an answer.
//!
//! Where the meaning leaves a choice:
//!
//! - A delete is a write: a key that is only deleted, and was never there, was seen absent.
//! - The values of a list are not enumerated: a key that somebody appends to is undecided.
//! - In an incomplete history, who knows what values a key can have: a missing key is undecided.

use isolde_history::{Effect, History, Key, Op, OpKind, Outcome, Value};

/// What a predicate read says about a key that is not in its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// Nothing: no value of the key is known to match.
    Nothing,
    /// It was absent: every value that it can have would be in the result.
    Absent,
    /// It was absent, or had a value of which nobody knows whether it matches.
    Undecided,
}

/// A row that is known to match a predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Match {
    predicate: Value,
    key: usize,
    value: Value,
}

/// What a history says about predicates.
pub(crate) struct Predicates {
    matches: Vec<Match>,
    /// For each key the values that it can have.
    values: Vec<Vec<Value>>,
    lists: Vec<bool>,
    complete: bool,
}

impl Predicates {
    pub(crate) fn new(history: &History, lists: &[bool]) -> Predicates {
        let mut matches = Vec::new();
        for op in history.ops().filter(|o| o.effect() == Effect::Done) {
            let predicate = op.value();
            let row = |(key, value): (Key, Value)| Match { predicate, key: key.index(), value };
            matches.extend(op.result_set().into_iter().flatten().map(row));
        }
        let values = (0..lists.len()).map(|key| values(history, Key(key as u32)));
        let (values, complete) = (values.collect(), history.meta().complete);
        Predicates { matches, values, lists: lists.to_vec(), complete }
    }

    /// What a read of the predicate says about a key that is not in its result. The reader itself
    /// has not written the key before.
    pub(crate) fn missing(&self, predicate: Value, key: usize) -> Missing {
        let values = &self.values[key];
        let known = |value: &Value| self.matches.contains(&Match { predicate, key, value: *value });
        let (some, all) = (values.iter().any(known), values.iter().all(known));
        match (some, all && !self.lists[key]) {
            (false, _) => Missing::Nothing,
            (true, true) if self.complete => Missing::Absent,
            _ => Missing::Undecided,
        }
    }
}

/// Whether an operation is a write that was, or may have been, done. What a savepoint took back
/// counts.
pub(crate) fn may_write(op: &Op<'_>) -> bool {
    op.kind().writes() && op.effect() != Effect::Failed
}

/// The values that a key can have, its first one included, absence left out.
fn values(history: &History, key: Key) -> Vec<Value> {
    let txns = history.txns().filter(|t| t.outcome() != Outcome::Aborted);
    let of_key = |o: &Op<'_>| o.key() == key && may_write(o);
    let writes: Vec<Op<'_>> = txns.flat_map(|t| t.ops()).filter(of_key).collect();
    let written = writes.iter().filter(|o| o.kind() != OpKind::Delete).map(Op::value);
    let mut all: Vec<Value> = history.meta().initial.of(key).into_iter().chain(written).collect();
    all.retain(|v| *v != Value::ABSENT);
    all
}
