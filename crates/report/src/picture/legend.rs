//! What the arrows of a picture mean.

use isolde_spec::Edges;

use super::geometry::Size;
use super::graph::{Drawn, MARGIN};
use super::sheet::Sheet;
use super::text::{width, width_class};

const LINE: f64 = 18.0;
/// How long the arrow is that stands before a line.
const SAMPLE: f64 = 40.0;

/// A few lines below a picture.
pub(super) struct Legend {
    lines: Vec<(&'static str, &'static str, &'static str)>,
    pub(super) size: Size,
}

impl Legend {
    /// The kinds that occur, each with its class, name and meaning.
    pub(super) fn of(drawn: &Drawn) -> Legend {
        let mut lines: Vec<_> =
            drawn.kinds.each().map(|(kind, name)| (name, name, meaning(kind))).collect();
        if drawn.inferred {
            lines.push(("any inferred", "", "open arrow: inferred, not observed"));
        }
        if drawn.pale {
            lines.push(("any reason", "", "thin: not of the cycle, but needed to see it"));
        }
        if drawn.stuck {
            lines.push(("", "", "1, 2, ...: the longest order that explains what is in it"));
        }
        let widest = lines.iter().map(|line| width(line.2, 11.0)).fold(0.0, f64::max);
        let width = width_class(2.0 * MARGIN + SAMPLE + 40.0 + widest);
        let height = if lines.is_empty() { 0.0 } else { lines.len() as f64 * LINE + MARGIN };
        let size = if lines.is_empty() { Size::default() } else { Size { width, height } };
        Legend { lines, size }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet, top: f64) {
        for ((class, name, meaning), row) in self.lines.iter().zip(0_u32..) {
            let y = top + LINE / 2.0 + f64::from(row) * LINE;
            let (base, end) = (y + 4.0, MARGIN + SAMPLE);
            sheet.put(format_args!(r#"<g class="edge {class}">"#));
            if !class.is_empty() {
                sample(sheet, y, class.contains("inferred"));
            }
            sheet.put(format_args!(
                r#"<text class="label" x="{}" y="{base}"><tspan class="kind">{name}</tspan></text>"#,
                end + 10.0
            ));
            let words = match (class.is_empty(), name.is_empty()) {
                (true, _) => MARGIN,
                (_, true) => end + 10.0,
                _ => end + 34.0,
            };
            sheet.put(format_args!(
                r#"<text class="note" x="{words}" y="{base}">{meaning}</text></g>"#
            ));
        }
    }
}

/// An arrow like those that a line speaks of.
fn sample(sheet: &mut Sheet, y: f64, open: bool) {
    let end = MARGIN + SAMPLE;
    let (shaft, base, above, below) = (end - 7.0, end - 9.0, y - 4.5, y + 4.5);
    let close = if open { "" } else { "Z" };
    sheet.put(format_args!(
        r#"<path class="line" d="M{MARGIN} {y}H{shaft}"/><path class="head" d="M{base} {above}L{end} {y}L{base} {below}{close}"/>"#
    ));
}

fn meaning(kind: Edges) -> &'static str {
    match kind {
        Edges::SO => "the same session, in this order",
        Edges::RT => "the first ended before the second began",
        Edges::WR => "the second read what the first wrote",
        Edges::WW => "the second overwrote what the first wrote",
        Edges::RW => "the second overwrote what the first had read",
        _ => "the first is before the second",
    }
}
