//! Whether a history is one of lists, of registers, or of single objects, and its operations as EDN.

use crate::error::SinkError;
use crate::evidence::Outcome;
use crate::formats::jepsen::operations::REGISTER;
use crate::formats::jepsen::write::literal::{describe, literal};
use crate::formats::jepsen::write::refusal::refused;
use crate::history::{History, Txn};
use crate::ids::{Key, OpId};
use crate::op::{Effect, Op, OpKind};
use crate::pool::Pool;
use crate::value::{Datum, Value};

/// How the operations are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Transactions of appends and list reads.
    Lists,
    /// Transactions of writes and reads.
    Registers,
    /// One read, write or compare-and-set each, of the only object there is.
    OneObject,
    /// The same, of the object that is named.
    Objects,
}

/// Refuses what no form can say.
pub(super) fn check_frame(history: &History) -> Result<(), SinkError> {
    let meta = history.meta();
    if meta.initial.default != Some(Value::ABSENT) || !meta.initial.given.is_empty() {
        return refused("an initial state other than absent");
    }
    if let Some((name, _)) = meta.info.first() {
        let name = history.pool().as_text(*name).unwrap_or("a fact");
        return refused(format!("{name:?}, a fact about the whole run"));
    }
    if !meta.complete {
        return refused("that the history is incomplete");
    }
    if !history.version_orders().is_empty() {
        return refused("version orders");
    }
    for txn in history.txns() {
        if txn.start_ts().is_some() || txn.commit_ts().is_some() {
            return refused("timestamps of the database");
        }
        for stmt in txn.stmts() {
            if stmt.ops().len() != 1 || !stmt.interval().is_empty() {
                return refused("statements with an interval or with several operations");
            }
            if stmt.attrs().next().is_some() {
                return refused("attributes of statements");
            }
        }
    }
    let ops = 0..history.op_count() as u32;
    if ops.into_iter().any(|op| history.op_attrs(OpId(op)).next().is_some()) {
        return refused("attributes of operations");
    }
    Ok(())
}

impl Form {
    pub(super) fn of(history: &History) -> Result<Form, SinkError> {
        let counts = history.op_counts();
        let count = |kind: OpKind| counts[kind as usize];
        for kind in OpKind::ALL {
            use OpKind::{Append, Cas, ListRead, Read, Write};
            if count(kind) > 0 && !matches!(kind, Append | Cas | ListRead | Read | Write) {
                return refused(format!("operations of the kind {}", kind.title()));
            }
        }
        let lists = count(OpKind::Append) + count(OpKind::ListRead) > 0;
        if lists && count(OpKind::Read) + count(OpKind::Write) + count(OpKind::Cas) > 0 {
            return refused("lists and registers in one history");
        }
        if count(OpKind::Cas) > 0 {
            return Form::of_objects(history);
        }
        let form = if lists { Form::Lists } else { Form::Registers };
        // Without a write, only what was read tells a reader which of the two it is.
        let listy = |op: Op<'_>| match form {
            Form::Lists => op.elements().is_some(),
            _ => is_list(history.pool(), op.value()),
        };
        let written = count(OpKind::Append) + count(OpKind::Write) > 0;
        if history.op_count() > 0 && !written && lists != history.ops().any(listy) {
            return refused("whether reads are of lists, since nothing is written");
        }
        Ok(form)
    }

    fn of_objects(history: &History) -> Result<Form, SinkError> {
        let pool = history.pool();
        if history.txns().any(|txn| txn.ops().len() != 1) {
            return refused("compare-and-sets in transactions of several operations");
        }
        let values = |op: &Op<'_>| [op.value(), op.expected().unwrap_or(Value::ABSENT)];
        let has = |test: fn(&Pool, Value) -> bool| {
            history.ops().any(|op| values(&op).into_iter().any(|v| test(pool, v)))
        };
        if has(|pool, v| matches!(pool.datum(v), Datum::Row(_))) {
            return refused("maps as values of single objects");
        }
        let is_register = |key: Key| pool.as_text(pool.key_name(key)) == Some(REGISTER);
        if history.ops().all(|op| is_register(op.key())) && !has(is_list) {
            return Ok(Form::OneObject);
        }
        if history.ops().any(|op| is_list(pool, pool.key_name(op.key()))) {
            return refused("single objects whose names are lists");
        }
        Ok(Form::Objects)
    }

    /// Appends `:f` and `:value`.
    pub(super) fn operation(
        self,
        history: &History,
        txn: Txn<'_>,
        completed: bool,
        out: &mut String,
    ) -> Result<(), SinkError> {
        let pool = history.pool();
        let single = matches!(self, Form::OneObject | Form::Objects);
        let op = txn.ops().next().filter(|_| single);
        *out += ":f ";
        match (txn.attr("f"), op.map(|op| op.kind())) {
            (Some(_), Some(_)) => return refused("the attribute \"f\" of single operations"),
            (Some(f), None) => literal(pool, f, out)?,
            (None, Some(OpKind::Read)) => *out += ":read",
            (None, Some(OpKind::Write)) => *out += ":write",
            (None, Some(_)) => *out += ":cas",
            (None, None) => *out += ":txn",
        }
        *out += ", :value ";
        if let Some(op) = op {
            return self.single(history, txn, op, completed, out);
        }
        if txn.attr("f").is_some() && txn.ops().len() == 0 {
            return refused("the attribute \"f\" of an empty transaction");
        }
        out.push('[');
        for (i, op) in txn.ops().enumerate() {
            *out += if i == 0 { "[:" } else { " [:" };
            *out += if op.kind() == OpKind::ListRead { "r" } else { op.kind().name() };
            out.push(' ');
            literal(pool, pool.key_name(op.key()), out)?;
            out.push(' ');
            value(history, txn, op, completed, out)?;
            out.push(']');
        }
        out.push(']');
        Ok(())
    }

    fn single(
        self,
        history: &History,
        txn: Txn<'_>,
        op: Op<'_>,
        completed: bool,
        out: &mut String,
    ) -> Result<(), SinkError> {
        let pool = history.pool();
        if self == Form::Objects {
            out.push('[');
            literal(pool, pool.key_name(op.key()), out)?;
            out.push(' ');
        }
        value(history, txn, op, completed, out)?;
        if self == Form::Objects {
            out.push(']');
        }
        Ok(())
    }
}

fn is_list(pool: &Pool, value: Value) -> bool {
    matches!(pool.datum(value), Datum::List(_))
}

/// Appends what an operation read or wrote.
fn value(
    history: &History,
    txn: Txn<'_>,
    op: Op<'_>,
    completed: bool,
    out: &mut String,
) -> Result<(), SinkError> {
    let pool = history.pool();
    let committed = txn.outcome() == Outcome::Committed;
    check_effect(history, txn, op)?;
    match op.kind() {
        OpKind::Read | OpKind::ListRead => {
            let observed = op.elements().is_some() || op.value() != Value::UNOBSERVED;
            if observed != committed {
                let txn = describe(history, txn.id());
                return refused(if committed {
                    format!("a read of {txn}, which committed, whose result was never learned")
                } else {
                    format!("what a read of {txn} returned, which did not commit")
                });
            }
            match op.elements() {
                _ if !committed || !completed => *out += "nil",
                None => literal(pool, op.value(), out)?,
                Some(elements) => {
                    out.push('[');
                    for (i, &element) in elements.iter().enumerate() {
                        *out += if i == 0 { "" } else { " " };
                        literal(pool, element, out)?;
                    }
                    out.push(']');
                }
            }
            Ok(())
        }
        OpKind::Cas => {
            out.push('[');
            literal(pool, op.expected().unwrap_or(Value::UNOBSERVED), out)?;
            out.push(' ');
            literal(pool, op.value(), out)?;
            out.push(']');
            Ok(())
        }
        _ => literal(pool, op.value(), out),
    }
}

fn check_effect(history: &History, txn: Txn<'_>, op: Op<'_>) -> Result<(), SinkError> {
    let expected = match (op.kind(), txn.outcome()) {
        (OpKind::Cas, Outcome::Aborted) => Effect::Failed,
        (OpKind::Cas, Outcome::Unknown) => Effect::Unknown,
        _ => Effect::Done,
    };
    if op.effect() == expected {
        return Ok(());
    }
    let (kind, txn) = (op.kind().title(), describe(history, txn.id()));
    refused(format!("a {kind} of {txn} whose effect differs from the transaction's outcome"))
}
