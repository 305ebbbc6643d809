//! Writing histories as Jepsen's EDN: an invocation and a completion for every transaction.
//!
//! The order of the lines says what overlapped what, so it follows the intervals; without any, there
//! are completions only, from which no reader can conclude that one transaction ended before another
//! began. What the format has no word for is refused.

use std::io::Write;

use crate::attributes::names;
use crate::error::SinkError;
use crate::evidence::Outcome;
use crate::formats::jepsen::keys::LABEL_KEY;
use crate::formats::jepsen::write::form::Form;
use crate::formats::jepsen::write::log::{Log, LogLine, What};
use crate::history::{History, Txn};
use crate::pool::Pool;
use crate::value::{Datum, Value};

mod form;
mod literal;
mod log;
mod refusal;

use literal::{is_key_name, literal};
use refusal::refused;

pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), SinkError> {
    form::check_frame(history)?;
    let form = Form::of(history)?;
    let log = Log::of(history)?;
    let writer = LogWriter { history, form, indexed: labels_are_positions(history, &log) };
    let mut text = String::new();
    for (position, line) in log.lines.iter().enumerate() {
        text.clear();
        writer.line(position, line, &log, &mut text)?;
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Whether the labels are what a reader would make of the positions in the log.
fn labels_are_positions(history: &History, log: &Log) -> bool {
    let mut positions: Vec<Option<usize>> = vec![None; history.txn_count()];
    for (position, line) in log.lines.iter().enumerate() {
        if let What::Invoke(txn) | What::Complete(txn) = line.what {
            positions[txn.index()] = Some(position);
        }
    }
    let int = |n: usize| i64::try_from(n).ok();
    history.txns().zip(positions).all(|(txn, position)| {
        txn.label().and_then(Value::as_int) == position.and_then(int) && position.is_some()
    })
}

struct LogWriter<'h> {
    history: &'h History,
    form: Form,
    indexed: bool,
}

impl LogWriter<'_> {
    fn line(
        &self,
        position: usize,
        line: &LogLine,
        log: &Log,
        text: &mut String,
    ) -> Result<(), SinkError> {
        text.push('{');
        if self.indexed {
            *text += &format!(":index {position}, ");
        }
        match line.what {
            What::Event(event) => self.event(event, text)?,
            What::Invoke(id) => {
                let txn = self.history.txn(id);
                self.time(txn, names::WALL_BEGIN, text)?;
                *text += &format!(":type :invoke, :process {}, ", log.processes[id.index()]);
                self.form.operation(self.history, txn, false, text)?;
                if !log.completed[id.index()] {
                    self.attributes(txn, text)?;
                }
            }
            What::Complete(id) => {
                let txn = self.history.txn(id);
                self.time(txn, names::WALL_END, text)?;
                let phase = match txn.outcome() {
                    Outcome::Committed => "ok",
                    Outcome::Aborted => "fail",
                    Outcome::Unknown => "info",
                };
                *text += &format!(":type :{phase}, :process {}, ", log.processes[id.index()]);
                self.form.operation(self.history, txn, true, text)?;
                self.attributes(txn, text)?;
            }
        }
        *text += "}\n";
        Ok(())
    }

    fn event(&self, event: usize, text: &mut String) -> Result<(), SinkError> {
        let Some(event) = self.history.events().get(event) else { return Ok(()) };
        let pool = self.history.pool();
        let mut detail = event.detail;
        if let Some((time, value)) = timed(pool, detail) {
            *text += &format!(":time {time}, ");
            detail = value;
        }
        *text += ":type :info, :process :nemesis, :f ";
        literal(pool, event.name, text)?;
        *text += ", :value ";
        literal(pool, detail, text)
    }

    fn time(&self, txn: Txn<'_>, name: &str, text: &mut String) -> Result<(), SinkError> {
        let Some(time) = txn.attr(name) else { return Ok(()) };
        match self.history.pool().as_wide_int(time) {
            Some(time) if time != -1 && i64::try_from(time).is_ok() => {
                *text += &format!(":time {time}, ");
                Ok(())
            }
            _ => refused(format!("a {name} that is no number of nanoseconds")),
        }
    }

    /// What else the transaction carries, as keys of its own.
    fn attributes(&self, txn: Txn<'_>, text: &mut String) -> Result<(), SinkError> {
        let pool = self.history.pool();
        for (name, value) in txn.attrs() {
            let name = pool.as_text(name).unwrap_or_default();
            if matches!(name, names::WALL_BEGIN | names::WALL_END | "f") {
                continue;
            }
            if !is_key_name(name) || value == Value::ABSENT {
                return refused(format!("the attribute {name:?} of a transaction"));
            }
            *text += &format!(", :{name} ");
            literal(pool, value, text)?;
        }
        if let Some(label) = txn.label().filter(|_| !self.indexed) {
            *text += &format!(", :{LABEL_KEY} ");
            literal(pool, label, text)?;
        }
        Ok(())
    }
}

/// The time and the value of an event whose detail is what our reader makes of just these two.
fn timed(pool: &Pool, detail: Value) -> Option<(i64, Value)> {
    let Datum::Row(row) = pool.datum(detail) else { return None };
    let column = |name| row.pairs().find(|&(column, _)| pool.as_text(column) == Some(name));
    let time = column("time").and_then(|(_, time)| pool.as_wide_int(time));
    let time = time.and_then(|time| i64::try_from(time).ok()).filter(|&time| time != -1);
    let (_, value) = column("value").filter(|_| row.pairs().count() == 2)?;
    Some((time?, value))
}

#[cfg(test)]
mod tests;
