//! The box of a transaction: its name, its session, how it ended, and what it did.

use isolde_history::Outcome;

use super::geometry::{Rect, Size};
use super::sheet::Sheet;
use super::text::{cut, long, width, width_class};
use crate::exhibit::Part;

/// How many operations a box shows.
const MOST_OPS: usize = 5;
/// How many columns an operation, a name and a session may take.
const OP: usize = 28;
const NAME: usize = 18;
const SESSION: usize = 12;
/// The same for the text that is told of a box.
const TOLD_OPS: usize = 20;
const TOLD: usize = 1200;

const PAD: f64 = 12.0;
const HEADER: f64 = 28.0;
const LINE: f64 = 17.0;
const LEAST_WIDTH: f64 = 96.0;

/// A line of a box.
enum FaceLine {
    Badge(&'static str),
    Op(usize, String),
    Note(String),
}

/// What a box shows.
pub(super) struct Face {
    name: String,
    session: String,
    lines: Vec<FaceLine>,
    pub(super) size: Size,
}

/// How a transaction ended, if not well.
pub(super) fn badge(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Committed => None,
        Outcome::Aborted => Some("rolled back"),
        Outcome::Unknown => Some("outcome unknown"),
    }
}

/// "+1 other operation": what is not shown of a transaction.
fn others(count: usize, of_some: bool) -> String {
    let s = if count == 1 { "" } else { "s" };
    if of_some { format!("+{count} other operation{s}") } else { format!("{count} operation{s}") }
}

/// The operations that are shown, and what is said of the rest.
pub(super) fn shown_ops(part: &Part) -> (Vec<usize>, Vec<String>) {
    let cited: Vec<usize> = (0..part.ops.len()).filter(|at| part.ops[*at].cited).collect();
    let shown: Vec<usize> = cited.iter().copied().take(MOST_OPS).collect();
    let mut notes = Vec::new();
    if cited.len() > shown.len() {
        notes.push(format!("+{} more", cited.len() - shown.len()));
    }
    let rest = part.ops.len() - cited.len() + part.left_out;
    if rest > 0 {
        notes.push(others(rest, !shown.is_empty()));
    }
    (shown, notes)
}

impl Face {
    pub(super) fn new(part: &Part) -> Face {
        let (shown, notes) = shown_ops(part);
        let mut lines: Vec<FaceLine> =
            badge(part.outcome).map(FaceLine::Badge).into_iter().collect();
        lines.extend(shown.into_iter().map(|at| FaceLine::Op(at, cut(&part.ops[at].text, OP))));
        lines.extend(notes.into_iter().map(FaceLine::Note));
        let (name, session) = (cut(&part.name, NAME), cut(&part.session, SESSION));
        let header = width(&name, 13.0) + 18.0 + width(&session, 11.0);
        let widest = lines.iter().map(FaceLine::width).fold(header, f64::max);
        let width = width_class((widest + 2.0 * PAD).max(LEAST_WIDTH));
        let body = if lines.is_empty() { 0.0 } else { lines.len() as f64 * LINE + 9.0 };
        Face { name, session, lines, size: Size { width, height: HEADER + body } }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet, at: usize, part: &Part, place: &Rect) {
        let support = if part.support { " support" } else { "" };
        let outcome = match part.outcome {
            Outcome::Committed => "",
            Outcome::Aborted => " aborted",
            Outcome::Unknown => " unknown",
        };
        sheet.put(format_args!(
            r#"<g class="node{support}{outcome}" data-part="{at}" tabindex="0" role="img">"#
        ));
        sheet.title(told(part));
        sheet.rect("box", place, 6.0);
        let Rect { left, top, .. } = *place;
        let base = top + 18.5;
        sheet.text("name", (left + PAD, base), &self.name);
        let session = sheet.label(&self.session);
        let right = place.right() - PAD;
        sheet.put(format_args!(
            r#"<text class="session" x="{right}" y="{base}" text-anchor="end">{session}</text>"#
        ));
        if !self.lines.is_empty() {
            let (y, right) = (top + HEADER, place.right());
            sheet.put(format_args!(r#"<path class="rule" d="M{left} {y}H{right}"/>"#));
        }
        for (line, row) in self.lines.iter().zip(0_u32..) {
            let base = (left + PAD, top + HEADER + 16.5 + f64::from(row) * LINE);
            line.draw(sheet, at, base);
        }
        sheet.put("</g>");
    }
}

impl FaceLine {
    fn width(&self) -> f64 {
        match self {
            FaceLine::Badge(text) => width(text, 11.0),
            FaceLine::Op(_, text) => width(text, 12.0),
            FaceLine::Note(text) => width(text, 11.0),
        }
    }

    fn draw(&self, sheet: &mut Sheet, part: usize, (x, y): (f64, f64)) {
        match self {
            FaceLine::Badge(text) => {
                sheet.put(format_args!(r#"<text class="badge" x="{x}" y="{y}">{text}</text>"#));
            }
            FaceLine::Op(op, text) => {
                let label = sheet.label(text);
                sheet.put(format_args!(
                    r#"<text class="op" data-op="{part}.{op}" x="{x}" y="{y}">{label}</text>"#
                ));
            }
            FaceLine::Note(text) => sheet.text("note", (x, y), text),
        }
    }
}

/// A transaction in words.
pub(super) fn told(part: &Part) -> String {
    let outcome = badge(part.outcome).unwrap_or("committed");
    let beside = if part.support { ", beside the cycle" } else { "" };
    let mut told = format!(
        "{} in session {}, {outcome}{beside}",
        long(&part.name, 120),
        long(&part.session, 120)
    );
    let cited = part.ops.iter().filter(|op| op.cited);
    for op in cited.take(TOLD_OPS) {
        told.push('\n');
        told.push_str(&op.text);
    }
    let (_, notes) = shown_ops(part);
    if let Some(note) = notes.last().filter(|note| note.contains("operation")) {
        told.push('\n');
        told.push_str(note);
    }
    long(&told, TOLD)
}
