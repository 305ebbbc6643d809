//! What standard output and standard error can show, and how things are shown there.

use std::io::{IsTerminal, Write as _};

use anstyle::{AnsiColor, Color};
use anyhow::{Context as _, Result};
use isolde_history::printable;
use isolde_job::Notice;
use isolde_report::Style;
use serde_json::Value;

use crate::secrets::hidden;

/// How "error" is shown.
pub(crate) const ERROR: Label = Label(AnsiColor::Red);
/// How "warning" is shown.
pub(crate) const WARNING: Label = Label(AnsiColor::Yellow);

/// A colour for one word; `anstream` drops it where the output is no terminal.
pub(crate) struct Label(AnsiColor);

impl Label {
    pub(crate) fn label(&self, word: &str) -> String {
        let style = anstyle::Style::new().bold().fg_color(Some(Color::Ansi(self.0)));
        format!("{}{word}{}", style.render(), style.render_reset())
    }
}

/// Colours and lines for a terminal that has them; plain text for everything else. `NO_COLOR` and its
/// relatives are heeded.
pub(crate) fn style() -> Style {
    let stdout = std::io::stdout();
    let colour = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
    let unicode = stdout.is_terminal() && supports_unicode::on(supports_unicode::Stream::Stdout);
    Style { colour, unicode }
}

/// Prints to standard output. A reader that stops listening does not change what was found.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Prints JSON for people to read, too.
pub(crate) fn print_json(value: &Value) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Says what went wrong on standard error. Whatever names are in it, the terminal shows them.
pub(crate) fn error(error: &anyhow::Error) {
    let text = hidden(&format!("{error:#}"));
    anstream::eprintln!("{}: {}", ERROR.label("error"), in_lines(&text));
}

/// A message of several lines without what a terminal would obey.
fn in_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Says something on standard error.
pub(crate) fn notice(notice: &Notice) {
    let label = match notice {
        Notice::Warning(_) => WARNING.label("warning"),
        Notice::Note(_) => "note".to_owned(),
    };
    anstream::eprintln!("{label}: {}", in_lines(notice.text()));
}
