//! One history that was asked about, and all that a report says of it.

use isolde_history::History;

use crate::decided::Decided;
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
    /// What was decided: one level each.
    pub decided: &'a [Decided],
    /// What else is known: rows of a name and a text, such as the database, the workload, the run.
    pub about: Vec<(String, String)>,
    /// What was wrong with the file.
    pub warnings: Vec<String>,
    /// How to see it again: what a command does, and the command.
    pub again: Vec<(String, String)>,
    /// How long reading and checking took.
    pub seconds: f64,
}

impl Case<'_> {
    /// The witnesses of all levels that are violated.
    pub fn exhibits(&self) -> impl Iterator<Item = Exhibit> + '_ {
        self.decided.iter().flat_map(move |d| {
            let level = d.verdict.promise.level;
            let numbered = d.verdict.witnesses().iter().enumerate();
            numbered.map(move |(at, witness)| Exhibit::new(self.history, level, at + 1, witness))
        })
    }
}
