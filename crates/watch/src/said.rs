//! What the user says of a stream, where its source has no place for it.

use isolde_history::notation::parse_value;
use isolde_history::{Pool, Sink};

/// What the user says of a stream beside its source; it goes before what the source says.
#[derive(Clone, Default, Debug)]
pub struct Said {
    /// The value that every key has at first, in the notation.
    pub initial: Option<String>,
    /// Facts about the run, each with its value in the notation.
    pub facts: Vec<(String, String)>,
}

impl Said {
    /// Whether all of it can be understood; else a sentence that says what cannot.
    pub fn check(&self) -> Result<(), String> {
        let pool = &mut Pool::new();
        let initial = self.initial.iter().map(|text| ("--initial ".to_owned(), text));
        let facts = self.facts.iter().map(|(name, text)| (format!("--fact {name}="), text));
        for (option, text) in initial.chain(facts) {
            parse_value(text, pool)
                .map_err(|fault| format!("{option}{text}: {}", fault.expected))?;
        }
        Ok(())
    }

    /// Says it of a batch. What cannot be understood was refused by [`Said::check`].
    pub(crate) fn apply(&self, sink: &mut dyn Sink) {
        if let Some(Ok(value)) = self.initial.as_ref().map(|text| parse_value(text, sink.pool())) {
            sink.meta().initial.default = Some(value);
        }
        for (name, text) in &self.facts {
            if let Ok(value) = parse_value(text, sink.pool()) {
                let name = sink.pool().text(name);
                sink.meta().set(name, value);
            }
        }
    }
}
