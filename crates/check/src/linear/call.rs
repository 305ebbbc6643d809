//! The operations on one object, each with the time in which it took effect.

use isolde_history::{Effect, Op, OpId, OpKind, TxnId, Value};

use crate::graph::real_time::RealTime;
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// What an operation did to its object, and what it saw of it. A delete writes
/// [`Value::ABSENT`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Did {
    /// It saw this value.
    Read(Value),
    /// It put this value there, whatever was there before.
    Write(Value),
    /// It saw one value and replaced it by another one.
    Swap { from: Value, to: Value },
    /// It saw that this value was not there: a compare-and-set whose comparison failed.
    NotEqual(Value),
    /// It saw that there was some value: an insert that found the key.
    Present,
    /// It added this to the end of what was there.
    Append(Value),
    /// It saw a list: its elements are the operation's.
    ReadList,
}

/// One operation on an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) op: OpId,
    pub(crate) txn: TxnId,
    pub(crate) did: Did,
    /// It took effect at this time or later; `i64::MIN` if that is not known.
    pub(crate) begin: i64,
    /// It took effect at this time or earlier, by all clocks; `i64::MAX` if that is not known.
    pub(crate) end: i64,
    /// Whether it took effect for certain. Otherwise it may be left out.
    pub(crate) certain: bool,
}

impl Did {
    /// Whether it left the object as it was.
    pub(crate) const fn reads_only(self) -> bool {
        matches!(self, Did::Read(_) | Did::ReadList | Did::NotEqual(_) | Did::Present)
    }

    /// What it put there, whatever else it did.
    pub(crate) const fn written(self) -> Option<Value> {
        match self {
            Did::Write(value) | Did::Swap { to: value, .. } | Did::Append(value) => Some(value),
            Did::Read(_) | Did::ReadList | Did::NotEqual(_) | Did::Present => None,
        }
    }

    /// What it saw there.
    pub(crate) const fn seen(self) -> Option<Value> {
        match self {
            Did::Read(value) | Did::Swap { from: value, .. } => Some(value),
            _ => None,
        }
    }
}

/// The calls on a key, in the order of the history: what was rolled back took no effect, and what
/// neither changed nor saw anything is left out.
pub(crate) fn of_key(context: &Context<'_>, time: &RealTime<'_>, key: usize) -> Vec<Call> {
    let mut calls = Vec::new();
    for touch in context.index.of(key) {
        let standing = context.standing(touch.txn);
        let op = context.history.op(touch.op);
        let Some(did) = what_it_did(&op).filter(|_| standing != Standing::RolledBack) else {
            continue;
        };
        let certain = standing == Standing::Committed && op.effect() != Effect::Unknown;
        if !certain && did.reads_only() {
            continue;
        }
        let (begin, end) = interval(context, time, touch.txn);
        calls.push(Call { op: touch.op, txn: touch.txn, did, begin, end, certain });
    }
    calls
}

/// When a transaction took effect at the earliest and at the latest.
pub(crate) fn interval(context: &Context<'_>, time: &RealTime<'_>, id: TxnId) -> (i64, i64) {
    let standing = context.standing(id);
    let TxnId(txn) = id;
    let begin = match standing {
        Standing::Unproved => context.history.txn(id).interval().begin,
        _ => time.begin(txn),
    };
    // An unknown outcome may have come later than anything the client saw.
    let end = time.end(txn).filter(|_| standing == Standing::Committed);
    (begin.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX))
}

pub(crate) fn what_it_did(op: &Op<'_>) -> Option<Did> {
    let failed = op.effect() == Effect::Failed;
    match op.kind() {
        OpKind::Read if op.value() == Value::UNOBSERVED || failed => None,
        OpKind::Read => Some(Did::Read(op.value())),
        OpKind::Cas if failed => op.expected().map(Did::NotEqual),
        OpKind::Cas => op.expected().map(|from| Did::Swap { from, to: op.value() }),
        OpKind::InsertIfAbsent if failed => Some(Did::Present),
        OpKind::InsertIfAbsent => Some(Did::Swap { from: Value::ABSENT, to: op.value() }),
        OpKind::ListRead => op.elements().map(|_| Did::ReadList),
        _ if failed => None,
        OpKind::Write => Some(Did::Write(op.value())),
        OpKind::Delete => Some(Did::Write(Value::ABSENT)),
        OpKind::Append => Some(Did::Append(op.value())),
        OpKind::PredicateRead | OpKind::Savepoint | OpKind::RollbackTo | OpKind::Release => None,
    }
}
