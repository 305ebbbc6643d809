//! The sessions side by side, in characters.

use std::fmt::Write;

use isolde_history::{Outcome, Timestamp};

use crate::exhibit::{Basis, Exhibit, Part, Row, Times, What};
use crate::names;
use crate::style::{Ink, Style};
use crate::wrap::{WIDTH, number, shorten, width};

/// How far from the left it stands.
const INDENT: &str = "    ";
/// How many rows are shown.
const MOST: usize = 60;
/// The narrowest column that says anything.
const NARROWEST: usize = 15;
/// The widest that is worth its room.
const WIDEST: usize = 46;
/// Between two columns.
const GAP: usize = 2;

/// Appends the time line, or where there are more sessions than columns fit, a list.
pub(super) fn to_text(exhibit: &Exhibit, style: Style, out: &mut String) {
    let clock = Clock::of(exhibit);
    if exhibit.timeline.basis == Basis::Timestamps {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{INDENT}by the server's timestamps:");
    }
    let lines = lines(exhibit, style);
    let used = INDENT.len() + clock.wide + GAP;
    let columns = exhibit.timeline.columns.len().max(1);
    let each = (WIDTH - used) / columns;
    if each < NARROWEST + GAP {
        return list(exhibit, &clock, out);
    }
    let grid = TextGrid { exhibit, style, clock, each: each - GAP };
    grid.draw(&lines, out);
    let left = lines.len().saturating_sub(MOST);
    if left > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{INDENT}... and {left} more lines: --json shows them");
    }
}

/// A line of the time line: some rows of one transaction that stand together.
struct TextLine<'a> {
    row: &'a Row,
    /// What came last in it.
    what: &'a What,
    text: String,
    /// How many operations are folded into it.
    folded: usize,
    cited: bool,
    /// Whether the transaction begins or ends with it.
    begins: bool,
    ends: bool,
}

impl TextLine<'_> {
    fn new(row: &Row) -> TextLine<'_> {
        let what = &row.what;
        TextLine {
            row,
            what,
            text: String::new(),
            folded: 0,
            cited: false,
            begins: false,
            ends: false,
        }
    }
}

/// One line for each row, but a transaction begins with its first operation and ends with its last
/// one where no time tells them apart.
fn lines<'a>(exhibit: &'a Exhibit, style: Style) -> Vec<TextLine<'a>> {
    let marks = exhibit.parts.iter().any(|part| part.ops.iter().any(|op| !op.cited));
    let mut lines: Vec<TextLine<'a>> = Vec::new();
    for row in &exhibit.timeline.rows {
        let part = row.part.map(|at| &exhibit.parts[at]);
        let mut line = TextLine::new(row);
        match (&row.what, part) {
            (What::Event(name), _) => line.text = format!("({name})"),
            (_, None) => continue,
            (What::Begin, Some(part)) => {
                line.begins = true;
                line.text.clone_from(&part.name);
            }
            (What::Op(op), Some(part)) => {
                let op = &part.ops[*op];
                let mark = if marks && op.cited { style.glyphs().look } else { " " };
                let mark = if marks { format!("{mark} ") } else { String::new() };
                line.text = format!("{mark}{}", op.text);
                line.cited = op.cited;
            }
            (What::Folded(_, count) | What::LeftOut(count), Some(_)) => {
                let indent = if marks { "  " } else { "" };
                line.text = format!("{indent}... {} more ...", number(count));
            }
            (What::End, Some(part)) => {
                line.ends = true;
                line.text = end(part).to_owned();
            }
        }
        if !joined(&mut lines, &line) {
            lines.push(line);
        }
    }
    lines
}

/// Puts a line into the one before it, where both belong together.
fn joined<'a>(lines: &mut [TextLine<'a>], line: &TextLine<'a>) -> bool {
    let Some(last) = lines.last_mut() else { return false };
    let same = last.row.part == line.row.part && line.row.part.is_some();
    let untimed = line.row.time.is_none() || line.row.time == last.row.time;
    if !same || !untimed {
        return false;
    }
    if let (Some(a), Some(b)) = (left_out(last.what), left_out(line.what)) {
        // Both were folded, for one reason or another.
        last.folded = last.folded.max(a) + b;
        last.text = format!("... {} more ...", number(last.folded));
        return true;
    }
    let first_op = *last.what == What::Begin && matches!(line.row.what, What::Op(_));
    let plain_end = line.ends && line.text == COMMITTED && *last.what != What::Begin;
    if first_op {
        let op = line.text.trim_start();
        last.text = format!("{} {op}", last.text);
        last.cited = line.cited;
        last.what = &line.row.what;
        return true;
    }
    if plain_end && line.row.time.is_none() {
        last.ends = true;
        return true;
    }
    false
}

/// How many operations a line stands for.
fn left_out(what: &What) -> Option<usize> {
    match what {
        What::Folded(_, count) | What::LeftOut(count) => Some(*count),
        _ => None,
    }
}

const COMMITTED: &str = "committed";

fn end(part: &Part) -> &'static str {
    match part.outcome {
        Outcome::Committed => COMMITTED,
        Outcome::Aborted => "rolled back",
        Outcome::Unknown => "outcome unknown",
    }
}

// ---- times ----

/// The times of a time line, with what stands above them.
struct Clock {
    title: &'static str,
    times: Times,
    wide: usize,
}

impl Clock {
    fn of(exhibit: &Exhibit) -> Clock {
        let line = &exhibit.timeline;
        let times = Times::of(line);
        let title = match times.unit(line.basis) {
            // Plain ASCII, and short.
            "µs" => "us",
            _ if line.basis == Basis::Events => "event",
            unit => unit,
        };
        let told = line.rows.iter().filter_map(|row| row.time).map(|time| times.tell(time).len());
        let wide = told.max().unwrap_or(0).max(title.len());
        Clock { title, times, wide }
    }

    fn tell(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(String::new, |time| self.times.tell(time))
    }
}

// ---- columns ----

struct TextGrid<'a> {
    exhibit: &'a Exhibit,
    style: Style,
    clock: Clock,
    /// How wide a column may be.
    each: usize,
}

impl TextGrid<'_> {
    fn draw(&self, lines: &[TextLine<'_>], out: &mut String) {
        let timeline = &self.exhibit.timeline;
        let widths: Vec<usize> =
            (0..timeline.columns.len()).map(|column| self.width_of(column, lines)).collect();
        let names = widths.iter().enumerate().map(|(column, wide)| {
            let name = timeline.column_name(column);
            let name = shorten(&names::spoken("session", &name), *wide);
            self.cell(&name, Some(Ink::Strong), *wide)
        });
        self.line(self.clock.title, &names.collect::<Vec<_>>(), out);
        // The transaction that is open in each column.
        let mut open: Vec<bool> = vec![false; widths.len()];
        for line in lines.iter().take(MOST) {
            let cells = widths.iter().enumerate().map(|(column, wide)| {
                if line.row.column == Some(column) {
                    return self.content(line, *wide);
                }
                let inside = if open[column] { self.style.glyphs().inside } else { "" };
                self.cell(inside, Some(Ink::Faint), *wide)
            });
            let mut cells: Vec<String> = cells.collect();
            if line.row.column.is_none() {
                cells = vec![self.cell(&line.text, Some(Ink::Open), WIDTH / 2)];
            }
            self.line(&self.clock.tell(line.row.time), &cells, out);
            if let Some(column) = line.row.column {
                open[column] = !line.ends;
            }
        }
    }

    /// As wide as what stands in it, as far as there is room.
    fn width_of(&self, column: usize, lines: &[TextLine<'_>]) -> usize {
        let own = lines.iter().filter(|line| line.row.column == Some(column));
        let needed = own.map(|line| width(&line.text) + 2).max().unwrap_or(0);
        let name = self.exhibit.timeline.column_name(column);
        let name = width(&names::spoken("session", &name));
        needed.max(name).clamp(NARROWEST.min(self.each), self.each.min(WIDEST))
    }

    fn content(&self, line: &TextLine<'_>, wide: usize) -> String {
        let glyphs = self.style.glyphs();
        let border = match (line.begins, line.ends) {
            (true, true) => glyphs.only,
            (true, _) => glyphs.begin,
            (_, true) => glyphs.end,
            _ => glyphs.inside,
        };
        let text = format!("{border} {}", shorten(&line.text, wide - 2));
        let ink = match &line.row.what {
            _ if line.cited => Some(Ink::Strong),
            What::Folded(..) | What::LeftOut(_) => Some(Ink::Faint),
            _ => None,
        };
        self.cell(&text, ink, wide)
    }

    fn cell(&self, text: &str, ink: Option<Ink>, wide: usize) -> String {
        let pad = " ".repeat(wide.saturating_sub(width(text)));
        let text = ink.map_or_else(|| text.to_owned(), |ink| self.style.paint(ink, text));
        format!("{text}{pad}")
    }

    fn line(&self, time: &str, cells: &[String], out: &mut String) {
        let gap = " ".repeat(GAP);
        let time = if self.clock.wide == 0 {
            String::new()
        } else {
            format!("{time:>wide$}{gap}", wide = self.clock.wide)
        };
        let text = format!("{INDENT}{time}{}", cells.join(&gap));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// Many sessions: one thing a line.
fn list(exhibit: &Exhibit, clock: &Clock, out: &mut String) {
    let lines = lines(exhibit, Style::default());
    let part = |line: &TextLine<'_>| line.row.part.map(|at| &exhibit.parts[at]);
    let name = |line: &TextLine<'_>| part(line).map_or("", |part| &part.name).to_owned();
    let session = |line: &TextLine<'_>| shorten(part(line).map_or("", |part| &part.session), 20);
    let wide = |text: &dyn Fn(&TextLine<'_>) -> String| {
        lines.iter().map(|line| width(&text(line))).max().unwrap_or(0)
    };
    let (names, sessions) = (wide(&name), wide(&session));
    for line in lines.iter().take(MOST) {
        let prefix = format!(
            "{INDENT}{:>time$}  {:<sessions$}  {:<names$}  ",
            clock.tell(line.row.time),
            session(line),
            name(line),
            time = clock.wide,
        );
        let text = match (line.begins, line.text.split_once(' ')) {
            (true, Some((_, op))) => op,
            (true, None) => "begins",
            _ => &line.text,
        };
        let _ = writeln!(out, "{prefix}{}", shorten(text, WIDTH.saturating_sub(width(&prefix))));
    }
    let left = lines.len().saturating_sub(MOST);
    if left > 0 {
        let _ = writeln!(out, "{INDENT}... and {left} more lines: --json shows them");
    }
}
