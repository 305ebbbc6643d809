//! Opening a history: recognise, read, pass on what the user should know.

use std::path::Path;

use anyhow::{Result, anyhow};
use isolde_history::{FORMATS, Format, History, Source, Warnings};

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

/// A source and its format, given or recognised.
pub fn open(path: &Path, format: Option<&str>) -> Result<(Source, &'static Format)> {
    let format = format.map(named).transpose()?;
    let source = Source::open(path)?;
    let format = match format {
        Some(format) => format,
        None => Format::recognise(&source)?,
    };
    Ok((source, format))
}

/// The format of that name, or an error that lists them all.
pub fn named(name: &str) -> Result<&'static Format> {
    Format::named(name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        anyhow!("there is no format '{name}'\n  hint: formats are {}", names.join(", "))
    })
}

/// Reads a whole history.
pub fn load(path: &Path, format: Option<&str>) -> Result<Loaded> {
    let (source, format) = open(path, format)?;
    let (history, warnings) = format.load(&source)?.finish_with_warnings();
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
