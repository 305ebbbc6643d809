//! How a watch is doing: one line that changes on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use isolde_history::printable;
use isolde_report::number;
use isolde_watch::Figures;

use crate::terminal;

/// How often a plain line is written.
const PLAIN: Duration = Duration::from_secs(10);

/// What standard error shows.
pub(crate) struct StatusLine {
    on_terminal: bool,
    /// Whether a line stands there that will be overwritten.
    drawn: bool,
    last: Instant,
}

impl StatusLine {
    pub(crate) fn new() -> StatusLine {
        let on_terminal = std::io::stderr().is_terminal();
        StatusLine { on_terminal, drawn: false, last: Instant::now() }
    }

    /// Brings it up to date.
    pub(crate) fn show(&mut self, figures: &Figures) {
        if self.on_terminal {
            self.clear();
            anstream::eprint!("{}", in_words(figures));
            let _ = std::io::stderr().flush();
            self.drawn = true;
        } else if self.last.elapsed() >= PLAIN {
            self.last = Instant::now();
            anstream::eprintln!("{}", in_words(figures));
        }
    }

    /// Removes the line, so that something else can be printed.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            anstream::eprint!("\r\x1b[2K");
        }
    }

    /// Says something that stays.
    pub(crate) fn say(&mut self, text: &str) {
        self.clear();
        anstream::eprintln!("{}", lines(text));
    }

    /// Warns of something.
    pub(crate) fn warn(&mut self, text: &str) {
        self.clear();
        anstream::eprintln!("{}: {}", terminal::WARNING.label("warning"), lines(text));
    }
}

/// Names that the source gives may hold anything.
fn lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line).into_owned()).collect::<Vec<_>>().join("\n")
}

fn in_words(figures: &Figures) -> String {
    let status = &figures.status;
    let mut text = format!(
        "{}/s, {} transaction{}, {:.2} s behind, {} waiting, {} open, {} MB",
        number(figures.rate as u64),
        number(status.txns),
        if status.txns == 1 { "" } else { "s" },
        figures.lag.as_secs_f64(),
        number(figures.backlog),
        number(status.open),
        number((status.memory >> 20) as u64),
    );
    if status.disk > 0 {
        text += &format!(", {} MB on disk", number(status.disk >> 20));
    }
    let plural = |count: u64, thing: &str| {
        format!(", {} {thing}{}", number(count), if count == 1 { "" } else { "s" })
    };
    text += &plural(status.violations, "violation");
    if let Some(share) = status.by_intervals {
        text += &format!(", {} of {} decided", number(share.decided), number(share.of));
    }
    if figures.bad > 0 {
        text += &plural(figures.bad, "bad line");
    }
    text
}
