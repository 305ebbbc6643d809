//! Verdicts in words, for a terminal or a pipe: at most 100 columns, and nothing that needs colour.

mod faults;
mod lasting;
mod summary;
mod timed_summary;
mod timeline;
mod verdict;
mod witness;

use crate::style::Style;

pub(crate) use faults::event_times;
pub use faults::faults_to_text;
pub use summary::{summary_to_json, summary_to_text};
pub(crate) use timed_summary::compared;
pub use timed_summary::compared_to_text;
pub(crate) use verdict::method;
pub use verdict::{notes_to_text, to_text};
pub use witness::{exhibit_to_line, exhibit_to_text, transactions_to_text};

/// How a verdict is told.
#[derive(Clone, Debug, Default)]
pub struct Telling {
    /// Whether every witness that was kept is shown, not only the first.
    pub all: bool,
    /// What the terminal can show.
    pub style: Style,
    /// The command that shows one witness in full, without the witness: `isolde explain FILE`.
    pub explain: Option<String>,
}
