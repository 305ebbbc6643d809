//! The writer: reads and writes of numbers. What the format has no bytes for is refused before
//! anything is written.

use std::io::Write;

use crate::attributes::Entity;
use crate::error::SinkError;
use crate::evidence::Outcome;
use crate::formats::dbcop_common::{END, FAILED_VALUE, PARAMETERS, START};
use crate::history::{History, Txn};
use crate::ids::{OpId, SessionId};
use crate::meta::info;
use crate::op::{Effect, Op, OpKind};
use crate::value::{Datum, Value};

/// What stands for a time that was not recorded.
const NO_TIME: &str = "1970-01-01T00:00:00+00:00";
/// What dbcop takes every key to hold at first.
const ZERO: Value = Value::from_u32(0);
/// How much is collected before it goes out.
const CHUNK: usize = 64 << 10;

/// Labels of transactions and names of sessions are left out: sessions are numbered in their order.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    let header = header(history)?;
    check_whole(history)?;
    let encoder = Encoder { history, initial: initial_value(history)? };
    for txn in history.txns() {
        encoder.check(txn)?;
    }
    out.write_all(&header)?;
    encoder.sessions(out)
}

fn refused(what: impl std::fmt::Display) -> SinkError {
    SinkError::Refused(format!("dbcop-bincode cannot hold it: {what}"))
}

// ---- the run as a whole ----

fn check_whole(history: &History) -> Result<(), SinkError> {
    if !history.events().is_empty() {
        return Err(refused("faults and other events on the time line"));
    }
    if !history.version_orders().is_empty() {
        return Err(refused("the order of a key's versions"));
    }
    if !history.meta().complete {
        return Err(refused("that transactions are missing from the history"));
    }
    for column in &history.columns().attrs.columns {
        let name = history.pool().as_text(column.name).unwrap_or("?");
        let known = column.entity == Entity::Op && name == FAILED_VALUE;
        if !known && !column.ids.is_empty() {
            let whose = match column.entity {
                Entity::Txn => "transactions",
                Entity::Stmt => "statements",
                Entity::Op => "operations",
            };
            return Err(refused(format!("the attribute \"{name}\" of {whose}")));
        }
    }
    Ok(())
}

fn header(history: &History) -> Result<Vec<u8>, SinkError> {
    let mut parameters = default_parameters(history);
    let mut texts = ["", NO_TIME, NO_TIME];
    for &(name, value) in &history.meta().info {
        let slot = match history.pool().as_text(name) {
            Some(info::PARAMETERS) => {
                take_parameters(history, value, &mut parameters)?;
                continue;
            }
            // Reading the file says it again.
            Some(info::EXPLICIT_INITIAL) => continue,
            Some(info::SERVER) => 0,
            Some(START) => 1,
            Some(END) => 2,
            other => {
                return Err(refused(format!("the fact \"{}\" of the run", other.unwrap_or("?"))));
            }
        };
        let text = history.pool().as_text(value);
        texts[slot] = text.ok_or_else(|| refused("a server or time that is no text"))?;
    }
    let mut bytes = Vec::new();
    for n in parameters {
        put(&mut bytes, n);
    }
    for text in texts {
        put(&mut bytes, text.len() as u64);
        bytes.extend_from_slice(text.as_bytes());
    }
    Ok(bytes)
}

/// What the history itself shows of the workload.
fn default_parameters(history: &History) -> [u64; PARAMETERS.len()] {
    let sessions = (0..history.session_count() as u32).map(|s| history.session(SessionId(s)).len());
    let events = history.txns().map(|t| t.ops().len());
    [
        0,
        history.session_count() as u64,
        history.key_count() as u64,
        sessions.max().unwrap_or(0) as u64,
        events.max().unwrap_or(0) as u64,
    ]
}

fn take_parameters(
    history: &History,
    row: Value,
    parameters: &mut [u64; PARAMETERS.len()],
) -> Result<(), SinkError> {
    let Datum::Row(columns) = history.pool().datum(row) else {
        return Err(refused("parameters that are no row"));
    };
    for (name, value) in columns.pairs() {
        let name = history.pool().as_text(name).unwrap_or("?");
        let slot = PARAMETERS.iter().position(|p| *p == name).and_then(|i| parameters.get_mut(i));
        match (slot, number(history, value)) {
            (Some(slot), Some(n)) => *slot = n,
            _ => return Err(refused(format!("the parameter \"{name}\" with its value"))),
        }
    }
    Ok(())
}

/// The one value that every key of the history starts with.
fn initial_value(history: &History) -> Result<Option<Value>, SinkError> {
    let initial = &history.meta().initial;
    let mut of_key = vec![initial.default; history.key_count()];
    // The first entry of a key counts, so it is set last.
    for &(key, value) in initial.given.iter().rev() {
        if let Some(slot) = of_key.get_mut(key.index()) {
            *slot = Some(value);
        }
    }
    let used = history.op_keys().iter().chain(initial.given.iter().map(|(key, _)| key));
    let mut values = used.filter_map(|key| of_key.get(key.index()));
    let first = values.next().copied().unwrap_or(initial.default);
    if values.any(|v| *v != first) {
        return Err(refused("initial values that differ from key to key"));
    }
    Ok(first)
}

fn number(history: &History, value: Value) -> Option<u64> {
    u64::try_from(history.pool().as_wide_int(value)?).ok()
}

fn put(bytes: &mut Vec<u8>, n: u64) {
    bytes.extend_from_slice(&n.to_le_bytes());
}

// ---- transactions ----

struct Encoder<'h> {
    history: &'h History,
    /// What reads of it are written as: 0, if that is no value of the history itself.
    initial: Option<Value>,
}

impl Encoder<'_> {
    fn sessions(&self, out: &mut dyn Write) -> Result<(), SinkError> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.history.session_count() as u64);
        for session in 0..self.history.session_count() as u32 {
            let txns = self.history.session(SessionId(session));
            put(&mut bytes, txns.len() as u64);
            for &txn in txns {
                self.transaction(self.history.txn(txn), &mut bytes)?;
                if bytes.len() >= CHUNK {
                    out.write_all(&bytes)?;
                    bytes.clear();
                }
            }
        }
        out.write_all(&bytes)?;
        Ok(())
    }

    fn transaction(&self, txn: Txn<'_>, bytes: &mut Vec<u8>) -> Result<(), SinkError> {
        put(bytes, txn.ops().len() as u64);
        for op in txn.ops() {
            let (variable, value, success) = self.event(op)?;
            bytes.push(u8::from(op.kind() == OpKind::Write));
            put(bytes, variable);
            put(bytes, value);
            bytes.push(u8::from(success));
        }
        bytes.push(u8::from(txn.outcome() == Outcome::Committed));
        Ok(())
    }

    fn check(&self, txn: Txn<'_>) -> Result<(), SinkError> {
        let what = self.unheld(txn);
        let what = what.map_or_else(
            || txn.ops().try_for_each(|op| self.event(op).map(drop)),
            |w| Err(refused(w)),
        );
        what.map_err(|error| match error {
            SinkError::Refused(text) => {
                SinkError::Refused(format!("{text} ({})", name_of(self.history, txn)))
            }
            other => other,
        })
    }

    /// What the transaction has that is neither operation nor attribute.
    fn unheld(&self, txn: Txn<'_>) -> Option<&'static str> {
        if txn.outcome() == Outcome::Unknown {
            return Some("a transaction whose outcome is unknown");
        }
        if !txn.interval().is_empty() || txn.stmts().any(|s| !s.interval().is_empty()) {
            return Some("when a transaction or statement began and ended");
        }
        if txn.start_ts().is_some() || txn.commit_ts().is_some() {
            return Some("timestamps of the database");
        }
        if txn.stmts().any(|s| s.ops().len() != 1) {
            return Some("a statement of no or several operations");
        }
        None
    }

    /// Variable, value and success of an operation.
    fn event(&self, op: Op<'_>) -> Result<(u64, u64, bool), SinkError> {
        if !matches!(op.kind(), OpKind::Read | OpKind::Write) {
            return Err(refused(format!("an operation of the kind \"{}\"", op.kind().title())));
        }
        if op.undone() || op.effect() == Effect::Unknown {
            return Err(refused("an operation that was undone, or may not have taken place"));
        }
        let name = self.history.pool().key_name(op.key());
        let variable = number(self.history, name)
            .ok_or_else(|| refused("a key that is no number of 64 bits without sign"))?;
        let failed = op.effect() == Effect::Failed;
        if op.kind() == OpKind::Read && op.value() == Value::UNOBSERVED {
            return Ok((variable, self.failed_value(op.id())?, false));
        }
        if op.kind() == OpKind::Read && failed {
            return Err(refused("a read that failed and yet returned a value"));
        }
        Ok((variable, self.value(op)?, !failed))
    }

    fn failed_value(&self, op: OpId) -> Result<u64, SinkError> {
        let Some(value) = self.history.op_attr(op, FAILED_VALUE) else { return Ok(0) };
        number(self.history, value)
            .ok_or_else(|| refused(format!("the attribute \"{FAILED_VALUE}\" with its value")))
    }

    fn value(&self, op: Op<'_>) -> Result<u64, SinkError> {
        let value = op.value();
        if self.history.op_attr(op.id(), FAILED_VALUE).is_some() {
            return Err(refused(format!("the attribute \"{FAILED_VALUE}\" of such an operation")));
        }
        if self.initial != Some(ZERO) {
            if Some(value) == self.initial && op.kind() == OpKind::Read {
                return Ok(0);
            }
            if value == ZERO || Some(value) == self.initial {
                return Err(refused(
                    "initial values other than 0 where 0, or the initial value, is used as well",
                ));
            }
        }
        number(self.history, value)
            .ok_or_else(|| refused("a value that is no number of 64 bits without sign"))
    }
}

/// What to call a transaction in a message.
fn name_of(history: &History, txn: Txn<'_>) -> String {
    match txn.label().map(|label| history.pool().datum(label)) {
        Some(Datum::Int(i)) => format!("transaction {i}"),
        Some(Datum::Text(text)) => format!("transaction {text}"),
        _ => format!("transaction number {}", txn.id().0),
    }
}
