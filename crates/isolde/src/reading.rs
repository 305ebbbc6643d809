//! Reading a history for a command: a sign of life where that takes long, and what is odd about the file.

use std::path::Path;

use anyhow::Result;
use isolde_history::Warnings;
use isolde_job::load::{self, Loaded};
use isolde_job::shown;
use isolde_report::fault_to_json;
use serde_json::Value;

use crate::args::ReadArgs;
use crate::progress::Progress;
use crate::terminal;

/// Reads a whole history.
pub(crate) fn load(path: &Path, args: &ReadArgs) -> Result<Loaded> {
    let spinner = Progress::spinner(&format!("reading {}", shown(path)));
    let loaded = load::load(path, &args.reading()?)?;
    spinner.clear();
    warn(&loaded.warnings);
    Ok(loaded)
}

/// The same for a command that was asked for JSON: what cannot be read is a document, too.
pub(crate) fn load_or_tell(path: &Path, args: &ReadArgs, json: bool) -> Result<Loaded> {
    load(path, args).inspect_err(|error| {
        if json {
            // The error itself is what the command ends with.
            let _ = terminal::print_json(&fault(path, error));
        }
    })
}

/// What cannot be read, as docs/report.schema.json has it.
pub(crate) fn fault(path: &Path, error: &anyhow::Error) -> Value {
    let text = format!("{error:#}");
    let text = text.strip_prefix(&format!("{}: ", shown(path))).unwrap_or(&text);
    fault_to_json(&path.display().to_string(), text)
}

/// Prints the warnings.
pub(crate) fn warn(warnings: &Warnings) {
    load::notices(warnings).iter().for_each(terminal::notice);
}
