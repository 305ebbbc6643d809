//! How long locks and snapshots lasted, as bars of characters above one another.

use std::fmt::Write;

use isolde_history::Timestamp;

use crate::exhibit::{Exhibit, Lasting, Times};
use crate::style::{Ink, Style};
use crate::wrap::{shorten, width};

/// How far from the left it stands.
const INDENT: &str = "    ";
/// How wide a bar may be.
const BAR: usize = 40;
/// How much room a name may take.
const NAME: usize = 16;

/// Appends a line for each; nothing if there is none. What matters is what comes before what: the times of all of them
/// stand in equal steps.
pub(super) fn to_text(exhibit: &Exhibit, style: Style, out: &mut String) {
    if exhibit.lasting.is_empty() {
        return;
    }
    let axis = TextAxis::of(&exhibit.lasting);
    let times = Times::of(&exhibit.timeline);
    let name = |it: &Lasting| {
        exhibit.parts.get(it.part).map_or(String::new(), |part| shorten(&part.name, NAME))
    };
    let wide = exhibit.lasting.iter().map(|it| width(&name(it))).max().unwrap_or(0);
    let legend = "not to scale: = certain, - possible, ? at one instant of it";
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{INDENT}{}", style.paint(Ink::Faint, legend));
    for it in &exhibit.lasting {
        let name = name(it);
        let pad = " ".repeat(wide - width(&name));
        let (bar, told) = (axis.bar(it), told(it, &times));
        let _ = writeln!(out, "{INDENT}{name}{pad}  {:<8}  {bar}  {told}", it.name);
    }
    out.push('\n');
}

/// "3 to 10".
fn told(it: &Lasting, times: &Times) -> String {
    let tell = |time: Option<i64>| {
        time.map_or_else(|| "?".to_owned(), |time| times.tell(Timestamp::plain(time)))
    };
    format!("{} to {}", tell(it.certain.0), tell(it.certain.1))
}

/// All times that occur, in order.
struct TextAxis {
    times: Vec<i64>,
}

impl TextAxis {
    fn of(all: &[Lasting]) -> TextAxis {
        let each = |it: &Lasting| [it.certain.0, it.certain.1, it.possible.0, it.possible.1];
        let mut times: Vec<i64> = all.iter().flat_map(each).flatten().collect();
        times.sort_unstable();
        times.dedup();
        TextAxis { times }
    }

    /// In which column a time stands; one that is not known is beyond the others.
    fn column(&self, time: Option<i64>, unknown: usize) -> usize {
        let Some(time) = time else { return unknown };
        let before = self.times.partition_point(|other| *other < time);
        let gaps = self.times.len().saturating_sub(1).max(1);
        (before * (BAR - 1) / gaps).min(BAR - 1)
    }

    fn bar(&self, it: &Lasting) -> String {
        let span = |(from, until)| self.column(from, 0)..=self.column(until, BAR - 1);
        let (certain, possible) = (span(it.certain), span(it.possible));
        let mark = |column: usize| match (certain.contains(&column), possible.contains(&column)) {
            (true, _) if it.instant => '?',
            (true, _) => '=',
            (false, true) => '-',
            (false, false) => ' ',
        };
        (0..BAR).map(mark).collect()
    }
}
