//! What keys hold, and what operations see and leave.

use isolde_history::{Effect, History, Op, OpKind, TxnId, Value};

/// What a key holds: one value, or the elements of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    One(Value),
    List(Vec<Value>),
}

/// The value that an operation saw.
pub(super) fn observed(op: &Op<'_>) -> Option<Value> {
    match (op.kind(), op.effect()) {
        (OpKind::Read, Effect::Done) => Some(op.value()),
        (OpKind::Cas, Effect::Done) => op.expected(),
        (OpKind::InsertIfAbsent, Effect::Done) => Some(Value::ABSENT),
        _ => None,
    }
}

/// What an operation saw: one value, or the elements of a list.
pub(super) fn contents_seen(op: &Op<'_>) -> Option<Vec<Value>> {
    op.elements().map(<[Value]>::to_vec).or(observed(op).map(|value| vec![value]))
}

/// What a transaction last saw of a key before it first wrote it.
pub fn seen_before_writing(history: &History, txn: TxnId, key: u32) -> Option<Vec<Value>> {
    let mut seen = None;
    for op in history.txn(txn).ops() {
        let mut rows = op.result_set().into_iter().flatten();
        let row = rows.find(|(row, _)| row.0 == key).map(|(_, value)| vec![value]);
        let here = op.key().0 == key;
        seen = row.or(contents_seen(&op).filter(|_| here)).or(seen);
        if here && op.kind().writes() && op.effect() == Effect::Done && !op.undone() {
            break;
        }
    }
    seen
}

/// The value that a write left.
pub(super) fn written_value(op: &Op<'_>) -> Value {
    if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() }
}

/// Whether an operation could have seen that content.
pub(super) fn fits(op: &Op<'_>, content: &Content) -> bool {
    match content {
        Content::List(list) => op.elements().is_none_or(|elements| elements == &list[..]),
        Content::One(value) => match (op.kind(), op.effect() == Effect::Failed) {
            (OpKind::Read, _) => op.value() == *value,
            (OpKind::Cas, failed) => (op.expected() == Some(*value)) != failed,
            (OpKind::InsertIfAbsent, failed) => (*value == Value::ABSENT) != failed,
            _ => true,
        },
    }
}

pub(super) fn write(content: &mut Content, op: &Op<'_>) {
    match (content, op.kind()) {
        (Content::List(list), OpKind::Append) => list.push(op.value()),
        (Content::One(value), OpKind::Delete) => *value = Value::ABSENT,
        (Content::One(value), kind) if kind.writes() => *value = op.value(),
        _ => {}
    }
}
