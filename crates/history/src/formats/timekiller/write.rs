//! Writes the array, one transaction a line, and refuses by name what it cannot say.

use std::fmt::Write as _;
use std::io::Write;

use hashbrown::HashSet;

use crate::attributes::names;
use crate::error::SinkError;
use crate::evidence::{Outcome, Timestamp};
use crate::formats::timekiller::read::{Starts, quoted_number};
use crate::history::{History, Stmt, Txn};
use crate::notation::write_value;
use crate::op::{Effect, Op, OpKind};
use crate::pool::Pool;
use crate::value::{Datum, Value};

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    check_frame(history)?;
    let mut writer = TimekillerWriter {
        history,
        labelled: history.txns().any(|txn| txn.label().is_some()),
        names: HashSet::new(),
        of_lists: None,
    };
    let mut line = String::new();
    out.write_all(b"[")?;
    for txn in history.txns() {
        line.clear();
        line.push_str(if txn.id().index() == 0 { "\n" } else { ",\n" });
        if let Err(what) = writer.transaction(txn, &mut line) {
            return Err(refuse(format!("{}: {what}", writer.title(txn))));
        }
        out.write_all(line.as_bytes())?;
    }
    Ok(out.write_all(b"\n]\n")?)
}

fn refuse(what: impl std::fmt::Display) -> SinkError {
    SinkError::Refused(format!("timekiller cannot hold it: {what}"))
}

/// What is known of the history as a whole.
fn check_frame(history: &History) -> Result<(), SinkError> {
    let meta = history.meta();
    let pool = history.pool();
    let absent = |value: Value| value == Value::ABSENT;
    let inferred = initial_as_read(history);
    if meta.initial.default != Some(inferred) {
        return Err(refuse(if absent(inferred) {
            "keys that are not absent at first"
        } else {
            "reads of 0 without a writer, for they say that every key is 0 at first"
        }));
    }
    let default = |value: Value| value == inferred;
    if let Some((key, _)) = meta.initial.given.iter().find(|(_, value)| !default(*value)) {
        let key = show(pool, pool.key_name(*key));
        return Err(refuse(format!("the initial value of key {key}")));
    }
    if let Some((name, _)) = meta.info.first() {
        return Err(refuse(format!("the fact {} about the run", show(pool, *name))));
    }
    if !meta.complete {
        return Err(refuse("that the history is incomplete"));
    }
    if let Some(event) = history.events().first() {
        return Err(refuse(format!("the event {}", show(pool, event.name))));
    }
    if let Some((key, _)) = history.version_orders().first() {
        let key = show(pool, pool.key_name(*key));
        return Err(refuse(format!("the order of the versions of key {key}")));
    }
    Ok(())
}

/// The initial value that a reader of the file will find.
fn initial_as_read(history: &History) -> Value {
    let mut starts = Starts::default();
    for op in history.ops() {
        match op.kind() {
            OpKind::Read => starts.read(op.key(), op.value()),
            OpKind::Write => starts.write(op.key(), op.value()),
            _ => {}
        }
    }
    starts.initial()
}

struct TimekillerWriter<'h> {
    history: &'h History,
    /// Whether the transactions have names; otherwise their positions stand in.
    labelled: bool,
    names: HashSet<Value>,
    /// Whether the history is one of lists or of plain values, once an operation has told.
    of_lists: Option<bool>,
}

impl<'h> TimekillerWriter<'h> {
    fn pool(&self) -> &'h Pool {
        self.history.pool()
    }

    /// What to call a transaction in messages.
    fn title(&self, txn: Txn<'_>) -> String {
        match txn.label() {
            Some(label) => format!("transaction {}", show(self.pool(), label)),
            None => format!("the transaction at position {}", txn.id().index() + 1),
        }
    }

    fn transaction(&mut self, txn: Txn<'_>, line: &mut String) -> Result<(), String> {
        if txn.outcome() != Outcome::Committed {
            return Err(format!("its outcome is {}", txn.outcome().name()));
        }
        if !txn.interval().is_empty() {
            return Err("the client's interval".to_owned());
        }
        let start = txn.start_ts().ok_or("it has no start timestamp")?;
        let commit = txn.commit_ts().ok_or("it has no commit timestamp")?;
        line.push_str("{\"tid\":");
        self.txn_name(txn, line)?;
        line.push_str(",\"sid\":");
        self.name(self.pool().session_name(txn.session()), "its session", line)?;
        push_timestamp(line, "sts", start);
        push_timestamp(line, "cts", commit);
        line.push_str(",\"ops\":[");
        for (i, stmt) in txn.stmts().enumerate() {
            line.push_str(if i == 0 { "" } else { "," });
            self.statement(stmt, line)?;
        }
        line.push(']');
        self.attributes(txn, line)?;
        line.push('}');
        Ok(())
    }

    fn txn_name(&mut self, txn: Txn<'_>, line: &mut String) -> Result<(), String> {
        let Some(label) = txn.label() else {
            if self.labelled {
                return Err("it has no name, but others have".to_owned());
            }
            let _ = write!(line, "{}", txn.id().index() + 1);
            return Ok(());
        };
        if !self.names.insert(label) {
            return Err("another transaction has the same name".to_owned());
        }
        self.name(label, "its name", line)
    }

    /// A name: an integer, or a text that does not read as one.
    fn name(&self, name: Value, what: &str, line: &mut String) -> Result<(), String> {
        match self.pool().datum(name) {
            Datum::Int(i) => {
                let _ = write!(line, "{i}");
                Ok(())
            }
            Datum::Text(text) if quoted_number(text).is_none() => {
                push_text(line, text);
                Ok(())
            }
            Datum::Text(text) => Err(format!("{what}, the text \"{text}\" that reads as a number")),
            _ => {
                let shown = show(self.pool(), name);
                Err(format!("{what} {shown}, which is neither integer nor text"))
            }
        }
    }

    fn attributes(&self, txn: Txn<'_>, line: &mut String) -> Result<(), String> {
        for (name, value) in txn.attrs() {
            if self.pool().as_text(name) != Some(names::ARRIVAL) {
                return Err(format!("its attribute {}", show(self.pool(), name)));
            }
            line.push_str(",\"rtts\":");
            self.integer(value, "its arrival", line)?;
        }
        Ok(())
    }

    fn statement(&mut self, stmt: Stmt<'_>, line: &mut String) -> Result<(), String> {
        let mut ops = stmt.ops();
        let (Some(op), None) = (ops.next(), ops.next()) else {
            return Err(format!("a statement of {} operations", stmt.ops().len()));
        };
        if !stmt.interval().is_empty() {
            return Err("the interval of a statement".to_owned());
        }
        if let Some((name, _)) = stmt.attrs().next() {
            return Err(format!("the attribute {} of a statement", show(self.pool(), name)));
        }
        if let Some((name, _)) = self.history.op_attrs(op.id()).next() {
            return Err(format!("the attribute {} of an operation", show(self.pool(), name)));
        }
        self.operation(op, line)
    }

    fn operation(&mut self, op: Op<'_>, line: &mut String) -> Result<(), String> {
        let title = op.kind().title();
        let (action, of_lists) = match op.kind() {
            OpKind::Read => ("r", false),
            OpKind::Write | OpKind::Delete => ("w", false),
            OpKind::Append => ("a", true),
            OpKind::ListRead => ("r", true),
            _ => return Err(format!("its {title}")),
        };
        if *self.of_lists.get_or_insert(of_lists) != of_lists {
            return Err("operations on lists and on plain values in one history".to_owned());
        }
        if op.effect() != Effect::Done || op.undone() {
            return Err(format!("its {title} that had no effect, or perhaps none"));
        }
        let _ = write!(line, "{{\"t\":\"{action}\",\"k\":");
        self.integer(self.pool().key_name(op.key()), "the key", line)?;
        line.push_str(",\"v\":");
        match op.kind() {
            OpKind::Delete => line.push_str("null"),
            OpKind::Read if op.value() == Value::ABSENT => line.push_str("null"),
            OpKind::Read => self.integer(op.value(), "the read of", line)?,
            OpKind::ListRead => self.list(op, line)?,
            _ => self.integer(op.value(), "the write of", line)?,
        }
        line.push('}');
        Ok(())
    }

    fn list(&self, op: Op<'_>, line: &mut String) -> Result<(), String> {
        let elements = op.elements().ok_or("a read whose result was never learned")?;
        line.push('[');
        for (i, &element) in elements.iter().enumerate() {
            line.push_str(if i == 0 { "" } else { "," });
            self.integer(element, "the element", line)?;
        }
        line.push(']');
        Ok(())
    }

    fn integer(&self, value: Value, what: &str, line: &mut String) -> Result<(), String> {
        let number = self.pool().as_wide_int(value).and_then(|i| i64::try_from(i).ok());
        let Some(number) = number else {
            return Err(format!("{what} {}, which is no 64-bit integer", show(self.pool(), value)));
        };
        let _ = write!(line, "{number}");
        Ok(())
    }
}

fn push_timestamp(line: &mut String, name: &str, time: Timestamp) {
    let Timestamp { physical, logical } = time;
    let _ = write!(line, ",\"{name}\":{{\"p\":{physical},\"l\":{logical}}}");
}

/// A JSON string.
fn push_text(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

/// A value as messages write it.
fn show(pool: &Pool, value: Value) -> String {
    let mut text = String::new();
    write_value(pool, value, &mut text);
    text
}
