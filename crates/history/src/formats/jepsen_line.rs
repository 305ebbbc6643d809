//! One operation on one line, as Jepsen prints it: process, type, function, value, and perhaps an error.
//!
//! ```text
//! 2\t:invoke\t:cas\t[3 0]
//! 2 :ok :cas [3 0]
//! 0\t:info\t:write\t3\t:timed-out
//! ```
//!
//! Tabs separate them, or spaces, which the value may have as well.

use crate::attributes::names;
use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::Outcome;
use crate::formats::jepsen::{Dialect, Function, LogEvent, Phase, Process, Standard};
use crate::op::Effect;
use crate::pool::Pool;
use crate::text::{Cursor, Edn};
use crate::value::Value;

/// The fields of a line, each with its offset.
pub(crate) struct Fields<'a> {
    pub(crate) process: &'a [u8],
    pub(crate) process_at: usize,
    pub(crate) phase: Phase,
    pub(crate) function: &'a [u8],
    pub(crate) function_at: usize,
    pub(crate) value_at: usize,
    pub(crate) value: &'a [u8],
    pub(crate) error: Option<usize>,
    /// Whether it is a compare-and-set that took place and found another value.
    pub(crate) refused: bool,
}

impl Fields<'_> {
    /// Whether the first field can be a process at all.
    pub(crate) fn has_process(&self) -> bool {
        self.process.first().is_some_and(|b| b.is_ascii_digit() || *b == b':')
    }
}

/// Takes a line apart that begins at `at`, if it is an operation.
pub(crate) fn split(at: usize, line: &[u8]) -> Option<Fields<'_>> {
    let tabs = line.get(line.iter().position(u8::is_ascii_whitespace)?) == Some(&b'\t');
    let mut rest = Rest { line, pos: 0 };
    let (process_at, process) = rest.word(tabs)?;
    let (_, phase) = rest.word(tabs)?;
    let phase = Phase::from_name(phase.strip_prefix(b":")?)?;
    let (function_at, function) = rest.word(tabs)?;
    if !function.starts_with(b":") {
        return None;
    }
    let (value_at, value) = if tabs { rest.word(true)? } else { rest.value()? };
    let error = rest.left(tabs).map(|error| at + error);
    let (process_at, function_at, value_at) = (at + process_at, at + function_at, at + value_at);
    let refused = false;
    Some(Fields {
        process,
        process_at,
        phase,
        function,
        function_at,
        value_at,
        value,
        error,
        refused,
    })
}

/// What is left of a line.
struct Rest<'a> {
    line: &'a [u8],
    pos: usize,
}

impl<'a> Rest<'a> {
    /// The next field and where it begins; nothing at the end of the line.
    fn word(&mut self, tabs: bool) -> Option<(usize, &'a [u8])> {
        let ends = |b: &u8| if tabs { *b == b'\t' } else { b.is_ascii_whitespace() };
        let start = self.left(tabs)?;
        let rest = self.line.get(start..)?;
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        self.pos = start + len + 1;
        Some((start, &rest[..len]))
    }

    /// The value that comes next, with the spaces inside of it. One that is not whole is all that is left.
    fn value(&mut self) -> Option<(usize, &'a [u8])> {
        let start = self.left(false)?;
        let mut edn = Edn::at(self.line, start);
        let whole = edn.skip_value().is_ok();
        let end = if whole { edn.cursor.pos } else { self.line.len() };
        self.pos = end;
        Some((start, self.line.get(start..end)?))
    }

    /// Where the next field begins.
    fn left(&self, tabs: bool) -> Option<usize> {
        let rest = self.line.get(self.pos..)?;
        if tabs {
            return Some(self.pos);
        }
        Some(self.pos + rest.iter().position(|b| !b.is_ascii_whitespace())?)
    }
}

/// The event that a line tells.
pub(crate) fn event(at: usize, fields: &Fields<'_>, bytes: &[u8]) -> Result<LogEvent, Fault> {
    let mut event = LogEvent::new(at);
    event.phase = if fields.refused { Phase::Ok } else { fields.phase };
    event.f_at = fields.function_at;
    event.function = Function::from_name(Edn::at(bytes, event.f_at).word("a function")?);
    event.process = match fields.process {
        [b':', ..] => Process::Other,
        _ => Process::Client(Edn::at(bytes, fields.process_at).integer("a process")?),
    };
    let end = fields.value_at + fields.value.trim_ascii_end().len();
    let line = bytes.get(..end).unwrap_or(bytes);
    let mut value = Edn::at(line, fields.value_at);
    value.skip_value()?;
    value.finish()?;
    event.value_at = Some(fields.value_at);
    event.extras = fields.error.is_some() || event.phase == Phase::Info;
    Ok(event)
}

/// How a format finds the fields of a line.
pub(crate) type SplitLine = fn(usize, &[u8]) -> Option<Fields<'_>>;

/// The dialect of such files: what an operation did is Jepsen's, and what else it says is an error.
pub(crate) struct LineDialect<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) standard: Standard<'a, Edn<'a>>,
    pub(crate) split: SplitLine,
}

impl<'a> LineDialect<'a> {
    fn fields(&self, event: &LogEvent) -> Option<(Fields<'a>, usize)> {
        let line = Cursor { bytes: self.bytes, pos: event.at }.line();
        Some(((self.split)(event.at, line)?, event.at + line.len()))
    }
}

impl<'a> Dialect<'a> for LineDialect<'a> {
    type Notation = Edn<'a>;

    fn observe(&mut self, event: &LogEvent) -> Result<(), Fault> {
        self.standard.observe(event)
    }

    fn operations(
        &mut self,
        event: &LogEvent,
        pool: &mut Pool,
        draft: &mut TxnDraft,
    ) -> Result<(), Fault> {
        self.standard.operations(event, pool, draft)?;
        if event.function == Function::Cas
            && draft.outcome == Outcome::Committed
            && self.fields(event).is_some_and(|(fields, _)| fields.refused)
        {
            draft.set_effect(Effect::Failed);
        }
        Ok(())
    }

    fn implies_function(&self, event: &LogEvent) -> bool {
        self.standard.implies_function(event)
    }

    fn extras(&self, event: &LogEvent, pool: &mut Pool) -> Result<Vec<(Value, Value)>, Fault> {
        let Some((fields, end)) = self.fields(event) else { return Ok(Vec::new()) };
        let value = match (fields.error, event.process) {
            (Some(at), _) => {
                let text = self.bytes.get(at..end).unwrap_or_default().trim_ascii_end();
                let text = text.strip_suffix(b"]").filter(|_| is_vector(self.bytes, event.at));
                let text = text.unwrap_or_else(|| self.bytes.get(at..end).unwrap_or_default());
                pool.text(&String::from_utf8_lossy(text))
            }
            (None, Process::Client(_)) if event.phase == Phase::Info => {
                Edn::at(self.bytes, fields.value_at).value(pool)?
            }
            _ => Value::ABSENT,
        };
        if value == Value::ABSENT {
            return Ok(Vec::new());
        }
        Ok(vec![(pool.text(names::ERROR), value)])
    }
}

/// Whether the line is a vector, whose bracket is not part of its last field.
fn is_vector(bytes: &[u8], at: usize) -> bool {
    let line = Cursor { bytes, pos: at }.line();
    line.trim_ascii_start().starts_with(b"[")
}
