//! Opening a history: recognise, read, pass on what the user should know.

use std::path::Path;

use anyhow::{Result, anyhow};
use isolde_history::notation::{parse_value, write_value};
use isolde_history::{
    FORMATS, Format, History, InputLimits, Position, Sink, Source, Warning, Warnings, info,
};

use crate::bounds;
use crate::notice::Notice;

/// A history and where it came from.
pub struct Loaded {
    /// The history.
    pub history: History,
    /// Its format, given or recognised.
    pub format: &'static Format,
    /// What is odd about the file.
    pub warnings: Warnings,
}

/// How a history is read: what is said of it, and how much of it there may be.
#[derive(Clone)]
pub struct Reading {
    /// Its format, if it is not to be recognised.
    pub format: Option<&'static Format>,
    /// How many bytes of text it may have once it is unpacked.
    pub max_input: u64,
    /// How much memory reading and checking may take; half of the machine's if this is not said.
    pub memory: Option<u64>,
    /// The value that every key has at first, in the notation, where the format cannot say it.
    pub initial: Option<String>,
    /// Facts about the run, each with its value in the notation, where the format cannot say them.
    pub facts: Vec<(String, String)>,
}

impl Default for Reading {
    fn default() -> Reading {
        let max_input = InputLimits::default().text;
        Reading { format: None, max_input, memory: None, initial: None, facts: Vec::new() }
    }
}

/// A program takes so much memory before it has read anything.
const LEAST_MEMORY: u64 = 16 << 20;

impl Reading {
    /// The limits of a text that is forgotten piece by piece while the history is passed on.
    fn passing(&self) -> InputLimits {
        let memory = self.memory.or_else(bounds::half_of_the_machine).unwrap_or(u64::MAX);
        InputLimits { text: self.max_input, memory: memory.max(LEAST_MEMORY) }
    }

    /// The limits of a text from which a history is made: that needs about as much memory as its text.
    fn keeping(&self) -> InputLimits {
        let limits = self.passing();
        InputLimits { memory: (limits.memory / 2).max(LEAST_MEMORY), ..limits }
    }

    /// Says what the user says of the history beside the file.
    pub fn set_what_was_said(
        &self,
        name: &str,
        format: &Format,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.set_initial(name, format, sink)?;
        for (fact, text) in &self.facts {
            let value = parse_value(text, sink.pool()).map_err(|fault| {
                anyhow!(
                    "--fact {fact}={text}: {}\n  hint: it looks like --fact commit-order=serial",
                    fault.expected
                )
            })?;
            let fact = sink.pool().text(fact);
            sink.meta().set(fact, value);
        }
        Ok(())
    }

    /// Says what was there at first, if that was said; with a warning where the history says something else.
    fn set_initial(&self, name: &str, format: &Format, sink: &mut dyn Sink) -> Result<()> {
        let Some(text) = &self.initial else { return Ok(()) };
        let value = parse_value(text, sink.pool()).map_err(|fault| {
            anyhow!(
                "--initial {text}: {}\n  hint: values are written as in 0, absent or \"a text\"",
                fault.expected
            )
        })?;
        let before = sink.meta().initial.default;
        sink.meta().initial.default = Some(value);
        if before == Some(value) {
            return Ok(());
        }
        // The format's own rule was about the value that it takes for the initial one.
        let rule = sink.pool().text(info::EXPLICIT_INITIAL);
        sink.meta().info.retain(|(name, _)| *name != rule);
        if matches!(format.name, "isolde" | "jsonl" | "notation") {
            let mut said = "none".to_owned();
            if let Some(before) = before {
                said.clear();
                write_value(sink.pool(), before, &mut said);
            }
            let message =
                format!("--initial {text} replaces the initial value that the file says: {said}");
            sink.warn(Warning { file: name.to_owned(), position: Position::Whole, message });
        }
        Ok(())
    }
}

/// A source and its format, to be passed on without being held.
pub fn open(path: &Path, reading: &Reading) -> Result<(Source, &'static Format)> {
    Ok(Source::open_as(path, reading.format, reading.passing())?)
}

/// The format of that name, or an error that lists them all.
pub fn named(name: &str) -> Result<&'static Format> {
    Format::named(name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        anyhow!("there is no format '{name}'\n  hint: formats are {}", names.join(", "))
    })
}

/// Reads a whole history.
pub fn load(path: &Path, reading: &Reading) -> Result<Loaded> {
    let limits = reading.keeping();
    let (source, format) = Source::open_as(path, reading.format, limits)?;
    source.check_unpacked(format, limits)?;
    from_source(&source, format, reading)
}

/// Makes a history of a source that is open.
pub fn from_source(source: &Source, format: &'static Format, reading: &Reading) -> Result<Loaded> {
    let mut builder = format.load(source)?;
    reading.set_what_was_said(source.name(), format, &mut builder)?;
    let (history, warnings) = builder.finish_with_warnings();
    Ok(Loaded { history, format, warnings })
}

/// What the user should know of what was read.
pub fn notices(warnings: &Warnings) -> Vec<Notice> {
    let mut all: Vec<Notice> =
        warnings.kept.iter().map(|warning| Notice::warning(warning.to_string())).collect();
    let more = warnings.count - warnings.kept.len() as u64;
    if more > 0 {
        all.push(Notice::warning(format!("and {more} more like these")));
    }
    all
}
