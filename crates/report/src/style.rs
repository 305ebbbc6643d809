//! What a terminal can show: colours, and lines that are more than ASCII.

use anstyle::{AnsiColor, Style as Ansi};

/// What the reader's terminal can show. The default is what every file and every pipe can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether it has colours.
    pub colour: bool,
    /// Whether it has lines and arrows.
    pub unicode: bool,
}

/// What a word is coloured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Something holds.
    Good,
    /// Something is violated.
    Bad,
    /// The answer is unknown.
    Open,
    /// Look here.
    Strong,
    /// Not so important.
    Faint,
    /// A dependency through a read.
    Read,
    /// A dependency through an overwritten value.
    Write,
}

/// The characters of a time line.
pub(crate) struct Glyphs {
    pub(crate) begin: &'static str,
    pub(crate) inside: &'static str,
    pub(crate) end: &'static str,
    /// A transaction on a single line.
    pub(crate) only: &'static str,
    pub(crate) look: &'static str,
    pub(crate) arrow: (&'static str, &'static str),
}

const LINES: Glyphs =
    Glyphs {
        begin: "┌", inside: "│", end: "└", only: "╶", look: "▸", arrow: ("─", "─▸")
    };
const ASCII: Glyphs =
    Glyphs { begin: "+", inside: "|", end: "+", only: "+", look: "*", arrow: ("-", "->") };

impl Style {
    /// A text in a colour, if there are colours.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let plain = Ansi::new();
        let colour = |colour: AnsiColor| plain.fg_color(Some(colour.into()));
        let ansi = match ink {
            Ink::Good => colour(AnsiColor::Green).bold(),
            Ink::Bad => colour(AnsiColor::Red).bold(),
            Ink::Open => colour(AnsiColor::Yellow).bold(),
            Ink::Strong => plain.bold(),
            Ink::Faint => plain.dimmed(),
            Ink::Read => colour(AnsiColor::Blue),
            Ink::Write => colour(AnsiColor::Yellow),
        };
        format!("{}{text}{}", ansi.render(), ansi.render_reset())
    }

    pub(crate) fn glyphs(self) -> &'static Glyphs {
        if self.unicode { &LINES } else { &ASCII }
    }
}
