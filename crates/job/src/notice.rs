//! What the user should know, and what stops nothing.

use std::fmt;

/// Something to say beside the results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// Something is not as it should be.
    Warning(String),
    /// Something happened that is as it should be, and still worth saying.
    Note(String),
}

impl Notice {
    pub(crate) fn warning(text: impl Into<String>) -> Notice {
        Notice::Warning(text.into())
    }

    /// `warning` or `note`.
    pub fn kind(&self) -> &'static str {
        match self {
            Notice::Warning(_) => "warning",
            Notice::Note(_) => "note",
        }
    }

    /// What to say.
    pub fn text(&self) -> &str {
        match self {
            Notice::Warning(text) | Notice::Note(text) => text,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind(), self.text())
    }
}
