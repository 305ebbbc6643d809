//! Opening a history for a command: recognise, read, pass on what the user should know.

use std::path::Path;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, anyhow};
use isolde_history::{FORMATS, Format, History, Source, Warnings};

/// How "error" is shown.
pub(crate) const ERROR: Label =
    Label(Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))));
/// How "warning" is shown.
pub(crate) const WARNING: Label =
    Label(Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))));

/// A style for one word; `anstream` drops it where the output is no terminal.
pub(crate) struct Label(Style);

impl Label {
    pub(crate) fn label(&self, word: &str) -> String {
        format!("{}{word}{}", self.0.render(), self.0.render_reset())
    }
}

/// A history and where it came from.
pub(crate) struct Loaded {
    pub(crate) history: History,
    pub(crate) format: &'static Format,
    pub(crate) warnings: Warnings,
}

/// A source and its format, given or recognised.
pub(crate) fn open(path: &Path, format: Option<&str>) -> Result<(Source, &'static Format)> {
    let format = format.map(named).transpose()?;
    let source = Source::open(path)?;
    let format = match format {
        Some(format) => format,
        None => Format::recognise(&source)?,
    };
    Ok((source, format))
}

/// The format of that name, or an error that lists them all.
pub(crate) fn named(name: &str) -> Result<&'static Format> {
    Format::named(name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
        anyhow!("there is no format '{name}'\n  hint: formats are {}", names.join(", "))
    })
}

/// Reads a whole history, with a sign of life where that takes long.
pub(crate) fn load(path: &Path, format: Option<&str>) -> Result<Loaded> {
    let progress = progress(&format!("reading {}", path.display()));
    let (source, format) = open(path, format)?;
    let (history, warnings) = format.load(&source)?.finish_with_warnings();
    progress.finish_and_clear();
    warn(&warnings);
    Ok(Loaded { history, format, warnings })
}

/// A spinner on the terminal; nothing elsewhere.
pub(crate) fn progress(what: &str) -> indicatif::ProgressBar {
    let bar = indicatif::ProgressBar::new_spinner();
    if let Ok(style) = indicatif::ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Prints the warnings.
pub(crate) fn warn(warnings: &Warnings) {
    for warning in &warnings.kept {
        anstream::eprintln!("{}: {warning}", WARNING.label("warning"));
    }
    let more = warnings.count - warnings.kept.len() as u64;
    if more > 0 {
        anstream::eprintln!("{}: and {more} more like these", WARNING.label("warning"));
    }
}
