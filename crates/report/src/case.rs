//! One history that was asked about, and all that a report says of it.

use isolde_history::History;
use serde_json::Value;

use crate::decided::{self, Decided};
use crate::exhibit::Exhibit;

/// A history with its verdicts.
#[derive(Clone)]
pub struct Case<'a> {
    /// The history.
    pub history: &'a History,
    /// What it is called: usually its file.
    pub name: String,
    /// Its format.
    pub format: String,
    /// What was decided: one promise each.
    pub decided: &'a [Decided],
    /// What else is known: rows of a name and a text, such as the database, the workload, the run.
    pub about: Vec<(String, String)>,
    /// What was wrong with the file, as far as it was kept, and how often something was.
    pub warnings: Vec<String>,
    /// How many warnings there were.
    pub warning_count: u64,
    /// Whether every level was asked, so that the strongest that holds is worth telling.
    pub every_level: bool,
    /// With which options it was checked, for machines.
    pub options: Value,
    /// The command that shows one witness in full, without the witness: `isolde explain FILE`.
    pub explain: Option<String>,
    /// How to see it again: what a command does, and the command.
    pub again: Vec<(String, String)>,
    /// How long reading and checking took.
    pub seconds: f64,
}

impl Case<'_> {
    /// The story of the first witness of a verdict.
    pub(crate) fn story(&self, decided: &Decided) -> Option<String> {
        let first = decided.verdict.witnesses().first()?;
        Some(Exhibit::new(self.history, decided.verdict.promise, 1, first).story)
    }

    /// The witness that says most in the fewest words: by timestamps, if they show a violation.
    pub fn plainest(&self) -> Option<Exhibit> {
        let verdict = &decided::plainest(self.decided).next()?.verdict;
        Some(Exhibit::new(self.history, verdict.promise, 1, verdict.witnesses().first()?))
    }

    /// The witnesses of all promises that are violated.
    pub fn exhibits(&self) -> impl Iterator<Item = Exhibit> + '_ {
        self.decided.iter().flat_map(move |d| {
            let promise = d.verdict.promise;
            let numbered = d.verdict.witnesses().iter().enumerate();
            numbered.map(move |(at, witness)| Exhibit::new(self.history, promise, at + 1, witness))
        })
    }
}
