//! What can be wrong with an input, in the words of its reader, and why a sink takes no more.

use std::fmt;

use crate::printable::printable;
use crate::value::Value;

/// Where in an input something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Line and column of a text, both from 1; the column counts bytes.
    Text {
        /// The line.
        line: u64,
        /// The column.
        column: u64,
    },
    /// Offset of a binary file.
    Byte(u64),
    /// The input as a whole.
    Whole,
}

impl Position {
    /// The same place of a text, in an input that has so many lines before it.
    pub(crate) fn lines_later(self, lines: u64) -> Position {
        match self {
            Position::Text { line, column } => Position::Text { line: line + lines, column },
            other => other,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Text { line, column } => write!(f, "{line}:{column}"),
            Position::Byte(offset) => write!(f, "byte {offset}"),
            Position::Whole => Ok(()),
        }
    }
}

/// An input that cannot be read: where, what stands there, what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The file, `<stdin>`, or the name that the caller gave.
    pub file: String,
    /// Where in it.
    pub position: Position,
    /// What stands there, shortened; empty where there is nothing to show.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
    /// What might help.
    pub hint: Option<String>,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(&self.file))?;
        if self.position != Position::Whole {
            write!(f, ":{}", self.position)?;
        }
        write!(f, ": {}", self.expected)?;
        if !self.found.is_empty() {
            write!(f, ", found {}", self.found)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

/// Something about an input that does not stop it from being read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The file.
    pub file: String,
    /// Where in it.
    pub position: Position,
    /// What the user should know.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", printable(&self.file))?;
        if self.position != Position::Whole {
            write!(f, ":{}", self.position)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A fault at a byte of an input, before the line has been worked out: what scanners return.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The byte.
    pub offset: usize,
    /// "expected ..." as a sentence fragment, or the complaint itself.
    pub expected: String,
    /// What might help.
    pub hint: Option<String>,
    /// Whether to quote what stands there.
    pub quote: bool,
}

impl Fault {
    /// Something else was expected here.
    pub fn expected(offset: usize, what: impl fmt::Display) -> Fault {
        Fault { offset, expected: format!("expected {what}"), hint: None, quote: true }
    }

    /// The input is well-formed but makes no sense here.
    pub fn wrong(offset: usize, complaint: impl fmt::Display) -> Fault {
        Fault { offset, expected: complaint.to_string(), hint: None, quote: false }
    }

    /// Complains about a name that is unknown (`_`): everything nameless would be the same.
    pub(crate) fn check_name(offset: usize, whose: &str, name: Value) -> Result<Value, Fault> {
        if name == Value::UNOBSERVED {
            return Err(Fault::wrong(offset, format_args!("{whose} must have a name")));
        }
        Ok(name)
    }

    /// Adds what might help.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Fault {
        self.hint = Some(hint.to_string());
        self
    }

    /// The sink gave up while this byte was being read.
    pub fn sink(offset: usize, error: &SinkError) -> Fault {
        Fault::wrong(offset, error)
    }

    /// The same fault, of a part that starts at `base` of the whole.
    #[must_use]
    pub fn shifted(mut self, base: usize) -> Fault {
        self.offset += base;
        self
    }
}

/// Why a sink cannot take more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// One of the model's limits.
    #[error("more than {max} {what}, which is the limit")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The target format has no way to say it.
    #[error("{0}")]
    Refused(String),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Io(String),
}

impl SinkError {
    pub(crate) const fn limit(what: &'static str, max: u64) -> SinkError {
        SinkError::Limit { what, max }
    }
}

impl From<std::io::Error> for SinkError {
    fn from(e: std::io::Error) -> SinkError {
        SinkError::Io(e.to_string())
    }
}
