//! Reading a history for a command: a sign of life where that takes long, and what is odd about the file.

use std::path::Path;

use anyhow::Result;
use isolde_history::Warnings;
use isolde_job::load::{self, Loaded};

use crate::progress::Progress;
use crate::terminal;

/// Reads a whole history.
pub(crate) fn load(path: &Path, format: Option<&str>) -> Result<Loaded> {
    let spinner = Progress::spinner(&format!("reading {}", path.display()));
    let loaded = load::load(path, format)?;
    spinner.clear();
    warn(&loaded.warnings);
    Ok(loaded)
}

/// Prints the warnings.
pub(crate) fn warn(warnings: &Warnings) {
    load::notices(warnings).iter().for_each(terminal::notice);
}
