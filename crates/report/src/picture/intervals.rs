//! Single operations as bars from their begin to their end, one lane a session: for what cannot be
//! put in order.

use isolde_spec::Edges;

use super::axis::Axis;
use super::face::{badge, told};
use super::geometry::{Rect, Size};
use super::graph::{Drawn, MARGIN};
use super::sheet::Sheet;
use super::text::{cut, width, width_class};
use crate::exhibit::{Exhibit, Part, StuckOrder};

/// More is too much to look at: what is beyond is not drawn.
const MOST_PARTS: usize = 120;
/// How many columns an operation, a name and a session may take.
const OP: usize = 28;
const NAME: usize = 14;
const SESSION: usize = 16;

const STUCK: &str = "cannot come next";
const BAR: f64 = 18.0;
/// A line of text and the bar below it.
const ROW: f64 = 44.0;
const LANE_PAD: f64 = 6.0;

/// One operation.
struct Call<'a> {
    at: usize,
    part: &'a Part,
    op: Option<usize>,
    name: String,
    text: String,
    /// Where its bar begins and ends, and whether these are known.
    left: f64,
    right: f64,
    open: (bool, bool),
    /// How far right its text reaches.
    reach: f64,
    lane: usize,
    row: usize,
    stuck: bool,
    /// Its places in the longest order, the first is 1.
    place: Option<usize>,
}

/// Draws the bars.
pub(super) fn draw(exhibit: &Exhibit, stuck: &StuckOrder) -> Drawn {
    let parts = exhibit.parts.get(..MOST_PARTS).unwrap_or(&exhibit.parts);
    let sessions = sessions(parts);
    let names: Vec<String> = sessions.iter().map(|name| cut(name, SESSION)).collect();
    let widest = names.iter().map(|name| width(name, 12.0)).fold(0.0, f64::max);
    let axis = Axis::new(exhibit, parts, MARGIN + width_class(widest + 24.0));
    let mut calls: Vec<Call<'_>> =
        parts.iter().enumerate().map(|(at, part)| call(at, part, &axis, stuck)).collect();
    let rows = give_rows(&mut calls, &sessions);
    let reach = calls.iter().map(|call| call.reach).fold(axis.right(), f64::max);
    let width = reach + MARGIN;
    let mut sheet = Sheet::default();
    let mut tops = Vec::new();
    let mut top = MARGIN;
    for (lane, (name, rows)) in names.iter().zip(&rows).enumerate() {
        let height = *rows as f64 * ROW + 2.0 * LANE_PAD;
        if lane % 2 == 0 {
            let place = Rect { left: 0.0, top, width, height };
            sheet.rect("lane", &place, 0.0);
        }
        sheet.text("who", (MARGIN, top + LANE_PAD + 14.0), name);
        tops.push(top + LANE_PAD);
        top += height;
    }
    let bottom = axis.draw(&mut sheet, MARGIN, top);
    for call in &calls {
        let lane = tops.get(call.lane).copied().unwrap_or(MARGIN);
        call.draw(&mut sheet, lane + call.row as f64 * ROW);
    }
    let size = Size { width, height: bottom + MARGIN / 2.0 };
    Drawn { sheet, size, kinds: Edges::NONE, inferred: false, pale: false, stuck: true }
}

/// The sessions in the order in which they are first heard of.
fn sessions(parts: &[Part]) -> Vec<&str> {
    let mut order: Vec<&Part> = parts.iter().collect();
    order.sort_by_key(|part| (part.begin.or(part.end), part.txn));
    let mut sessions: Vec<&str> = Vec::new();
    for part in order {
        if !sessions.contains(&part.session.as_str()) {
            sessions.push(&part.session);
        }
    }
    sessions
}

fn call<'a>(at: usize, part: &'a Part, axis: &Axis, stuck: &StuckOrder) -> Call<'a> {
    let op = part.ops.iter().position(|op| op.cited).or((!part.ops.is_empty()).then_some(0));
    let text = op.and_then(|op| part.ops.get(op)).map_or("", |op| op.text.as_str());
    let (name, text) = (cut(&part.name, NAME), cut(text, OP));
    let is_stuck = stuck.next == at;
    let (left, right) = axis.span(at);
    // Fonts differ: what stands at the right edge must not be cut.
    let extra = if is_stuck { STUCK.len() + 6 } else { 0 };
    let extra = extra + badge(part.outcome).map_or(0, |badge| badge.len() + 2);
    let said = width(&name, 12.0) + width(&text, 12.0) + 10.0 + width(&"-".repeat(extra), 12.0);
    let place = stuck.order.iter().position(|other| *other == at).map(|place| place + 1);
    Call {
        at,
        part,
        op,
        name,
        text,
        left,
        right,
        open: axis.open(at),
        reach: right.max(left + width_class(said)),
        lane: 0,
        row: 0,
        stuck: is_stuck,
        place: place.filter(|_| !is_stuck),
    }
}

/// Bars of a lane that overlap, with their texts, are put below each other. Says how many rows each
/// lane has.
fn give_rows(calls: &mut [Call<'_>], sessions: &[&str]) -> Vec<usize> {
    let mut taken: Vec<Vec<f64>> = vec![Vec::new(); sessions.len()];
    let mut order: Vec<usize> = (0..calls.len()).collect();
    order.sort_by(|a, b| calls[*a].left.total_cmp(&calls[*b].left));
    for at in order {
        let call = &mut calls[at];
        call.lane = sessions.iter().position(|name| *name == call.part.session).unwrap_or(0);
        let Some(rows) = taken.get_mut(call.lane) else { continue };
        let free = rows.iter().position(|right| *right + 8.0 <= call.left);
        call.row = free.unwrap_or(rows.len());
        match rows.get_mut(call.row) {
            Some(right) => *right = call.reach,
            None => rows.push(call.reach),
        }
    }
    taken.iter().map(|rows| rows.len().max(1)).collect()
}

impl Call<'_> {
    fn draw(&self, sheet: &mut Sheet, top: f64) {
        let class = match (self.stuck, self.part.support) {
            (true, _) => " stuck",
            (_, true) => " support",
            _ => "",
        };
        let open = if self.open.0 || self.open.1 { " open" } else { "" };
        let at = self.at;
        sheet.put(format_args!(
            r#"<g class="call{class}{open}" data-part="{at}" tabindex="0" role="img">"#
        ));
        sheet.title(self.told());
        self.draw_bar(sheet, top + 20.0);
        self.draw_place(sheet, top + 20.0);
        self.draw_text(sheet, top + 14.0);
        sheet.put("</g>");
    }

    /// A bar; where begin or end are not known, it has a point.
    fn draw_bar(&self, sheet: &mut Sheet, top: f64) {
        let (left, right) = (self.left, self.right);
        let (bottom, middle) = (top + BAR, top + BAR / 2.0);
        let from = if self.open.0 { left + 8.0 } else { left };
        let to = if self.open.1 { right - 8.0 } else { right };
        let end = if self.open.1 { format!("L{right} {middle}") } else { String::new() };
        let begin = if self.open.0 { format!("L{left} {middle}") } else { String::new() };
        sheet.put(format_args!(
            r#"<path class="bar" d="M{from} {top}H{to}{end}L{to} {bottom}H{from}{begin}Z"/>"#
        ));
    }

    fn draw_place(&self, sheet: &mut Sheet, top: f64) {
        let (x, y) = (self.left + 10.0 + if self.open.0 { 6.0 } else { 0.0 }, top + BAR / 2.0);
        if self.stuck || self.place.is_some() {
            sheet.put(format_args!(r#"<circle class="place" cx="{x}" cy="{y}" r="7.5"/>"#));
        }
        if self.stuck {
            let (a, b, c, d) = (x - 3.0, x + 3.0, y - 3.0, y + 3.0);
            sheet
                .put(format_args!(r#"<path class="cross" d="M{a} {c}L{b} {d}M{b} {c}L{a} {d}"/>"#));
        } else if let Some(place) = self.place {
            let base = y + 3.5;
            sheet.put(format_args!(
                r#"<text class="nth" x="{x}" y="{base}" text-anchor="middle">{place}</text>"#
            ));
        }
    }

    fn draw_text(&self, sheet: &mut Sheet, base: f64) {
        let (name, text) = (sheet.label(&self.name), sheet.label(&self.text));
        let (x, at) = (self.left, self.at);
        let op = self.op.map(|op| format!(r#" data-op="{at}.{op}""#)).unwrap_or_default();
        sheet.put(format_args!(
            r#"<text{op} x="{x}" y="{base}"><tspan class="who">{name}</tspan> <tspan class="op">{text}</tspan>"#
        ));
        let badge = badge(self.part.outcome);
        for words in badge.into_iter().chain(self.stuck.then_some(STUCK)) {
            sheet.put(format_args!(r#"  <tspan class="bad" font-size="11">{words}</tspan>"#));
        }
        sheet.put("</text>");
    }

    fn told(&self) -> String {
        let place = match (self.stuck, self.place) {
            (true, _) => format!("\n{STUCK}"),
            (_, Some(place)) => format!("\nnumber {place} of the longest order"),
            _ => String::new(),
        };
        let time = |time: Option<i64>| time.map_or("?".to_owned(), |time| time.to_string());
        let Part { begin, end, .. } = self.part;
        let times = match (begin, end) {
            (None, None) => String::new(),
            _ => format!("\n[{}, {}]", time(*begin), time(*end)),
        };
        told(self.part).replace(", beside the cycle", "") + &times + &place
    }
}
