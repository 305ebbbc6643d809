//! Transactions as bars from their begin to their end, one lane a session: for single operations that
//! cannot be put in order, and for what the server's timestamps show.

use isolde_history::Timestamp;
use isolde_spec::Edges;

use super::axis::Axis;
use super::face::{badge, told};
use super::geometry::{Rect, Size};
use super::graph::{Drawn, MARGIN};
use super::sheet::Sheet;
use super::strip::{self, Strip, strips};
use super::text::{cut, width, width_class};
use crate::exhibit::{Basis, Blamed, Exhibit, Part, StuckOrder};
use crate::stamps;

/// More is too much to look at: what is beyond is not drawn.
const MOST_PARTS: usize = 120;
/// How many columns an operation, a name and a session may take.
const OP: usize = 28;
const NAME: usize = 14;
const SESSION: usize = 16;

const STUCK: &str = "cannot come next";
/// How many operations of a transaction stand above its bar.
const MOST_OPS: usize = 3;
const BAR: f64 = 18.0;
/// A line of text and the bar below it.
const ROW: f64 = 44.0;
const LANE_PAD: f64 = 6.0;

/// What is marked on the bars.
pub(super) struct Marks {
    /// The bars to look at first, and what is wrong with them.
    bad: Vec<usize>,
    words: String,
    /// The longest order that explains what is in it, if an order is what is looked for.
    order: Option<Vec<usize>>,
}

impl From<&StuckOrder> for Marks {
    fn from(stuck: &StuckOrder) -> Marks {
        Marks { bad: vec![stuck.next], words: STUCK.to_owned(), order: Some(stuck.order.clone()) }
    }
}

impl From<&Blamed> for Marks {
    fn from(blamed: &Blamed) -> Marks {
        let bad = [blamed.part].into_iter().chain(blamed.other).collect();
        Marks { bad, words: cut(&blamed.words, OP), order: None }
    }
}

/// One transaction.
struct Call<'a> {
    at: usize,
    part: &'a Part,
    /// What stands above the bar: numbers of operations, each with its text.
    ops: Vec<(usize, String)>,
    name: String,
    /// Where its bar begins and ends, and whether these are known.
    left: f64,
    right: f64,
    open: (bool, bool),
    /// How far right its text reaches.
    reach: f64,
    lane: usize,
    row: usize,
    /// What is wrong with it.
    bad: Option<&'a str>,
    /// Its place in the longest order, the first is 1.
    place: Option<usize>,
    /// Whether it cannot be put in order, and has a cross.
    crossed: bool,
    /// What lasted within it: locks, snapshots.
    strips: Vec<Strip>,
    /// By which clock its begin and end are told.
    clock: Basis,
}

/// Draws the bars.
pub(super) fn draw(exhibit: &Exhibit, marks: &Marks) -> Drawn {
    let parts = exhibit.parts.get(..MOST_PARTS).unwrap_or(&exhibit.parts);
    let clock = exhibit.timeline.basis;
    let sessions = sessions(parts, clock);
    let names: Vec<String> = sessions.iter().map(|name| cut(name, SESSION)).collect();
    let widest = names.iter().map(|name| width(name, 12.0)).fold(0.0, f64::max);
    let axis = Axis::new(exhibit, parts, MARGIN + width_class(widest + 24.0));
    let with_strips = |(at, part)| {
        let strips = strips(exhibit, &axis, at);
        Call { strips, ..call((at, part), clock, &axis, marks) }
    };
    let mut calls: Vec<Call<'_>> = parts.iter().enumerate().map(with_strips).collect();
    let rows = give_rows(&mut calls, &sessions);
    let reach = calls.iter().map(|call| call.reach).fold(axis.reach(), f64::max);
    let legend = strip::legend(exhibit);
    let legend_width = legend.map_or(0.0, |text| width_class(width(text, 10.0)) + MARGIN);
    let width = reach.max(legend_width) + MARGIN;
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
    let mut bottom = axis.draw(&mut sheet, MARGIN, top);
    for call in &calls {
        let lane = tops.get(call.lane).copied().unwrap_or(MARGIN);
        call.draw(&mut sheet, lane + call.row as f64 * ROW);
    }
    if let Some(legend) = legend {
        bottom += 14.0;
        sheet.text("time", (MARGIN, bottom), legend);
    }
    let size = Size { width, height: bottom + MARGIN / 2.0 };
    let stuck = marks.order.is_some();
    Drawn { sheet, size, kinds: Edges::NONE, inferred: false, pale: false, stuck }
}

/// The sessions in the order in which they are first heard of.
fn sessions(parts: &[Part], clock: Basis) -> Vec<&str> {
    let mut order: Vec<&Part> = parts.iter().collect();
    order.sort_by_key(|part| {
        let (begin, end) = part.span(clock);
        (begin.or(end), part.txn)
    });
    let mut sessions: Vec<&str> = Vec::new();
    for part in order {
        if !sessions.contains(&part.session.as_str()) {
            sessions.push(&part.session);
        }
    }
    sessions
}

fn call<'a>(
    (at, part): (usize, &'a Part),
    clock: Basis,
    axis: &Axis,
    marks: &'a Marks,
) -> Call<'a> {
    let ops = shown_ops(part, if marks.order.is_some() { 1 } else { MOST_OPS });
    let name = cut(&part.name, NAME);
    let bad = marks.bad.contains(&at).then_some(marks.words.as_str());
    let (left, right) = axis.span(at);
    // Fonts differ: what stands at the right edge must not be cut.
    let extra = bad.map_or(0, |words| words.chars().count() + 6);
    let extra = extra + badge(part.outcome).map_or(0, |badge| badge.len() + 2);
    let texts: f64 = ops.iter().map(|(_, text)| width(text, 12.0) + 10.0).sum();
    let said = width(&name, 12.0) + texts.max(10.0) + width(&"-".repeat(extra), 12.0);
    let order = marks.order.as_deref().unwrap_or_default();
    let place = order.iter().position(|other| *other == at).map(|place| place + 1);
    Call {
        at,
        part,
        ops,
        name,
        left,
        right,
        open: axis.open(at),
        reach: right.max(left + width_class(said)),
        lane: 0,
        row: 0,
        bad,
        place: place.filter(|_| bad.is_none()),
        crossed: bad.is_some() && marks.order.is_some(),
        strips: Vec::new(),
        clock,
    }
}

/// The first operations of a part that show the anomaly; where none does, the first that it has.
fn shown_ops(part: &Part, most: usize) -> Vec<(usize, String)> {
    let cited = || (0..part.ops.len()).filter(|op| part.ops[*op].cited);
    let shown: Vec<usize> = match cited().next() {
        Some(_) => cited().take(most).collect(),
        None => (0..part.ops.len()).take(most).collect(),
    };
    shown.into_iter().map(|op| (op, cut(&part.ops[op].text, OP))).collect()
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
        let class = match (self.bad, self.part.support) {
            (Some(_), _) => " stuck",
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
        for (number, strip) in self.strips.iter().enumerate() {
            strip.draw(sheet, number, top + 20.0);
        }
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
        if self.crossed || self.place.is_some() {
            sheet.put(format_args!(r#"<circle class="place" cx="{x}" cy="{y}" r="7.5"/>"#));
        }
        if self.crossed {
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
        let name = sheet.label(&self.name);
        let (x, at) = (self.left, self.at);
        sheet.put(format_args!(r#"<text x="{x}" y="{base}"><tspan class="who">{name}</tspan>"#));
        for (op, text) in &self.ops {
            let text = sheet.label(text);
            sheet.put(format_args!(r#" <tspan class="op" data-op="{at}.{op}">{text}</tspan>"#));
        }
        for words in badge(self.part.outcome).into_iter().chain(self.bad) {
            let words = sheet.label(words);
            sheet.put(format_args!(r#"  <tspan class="bad" font-size="11">{words}</tspan>"#));
        }
        sheet.put("</text>");
    }

    fn told(&self) -> String {
        let place = match (self.bad, self.place) {
            (Some(words), _) => format!("\n{words}"),
            (_, Some(place)) => format!("\nnumber {place} of the longest order"),
            _ => String::new(),
        };
        let time = |time: Option<Timestamp>| time.map_or("?".to_owned(), stamps::tell);
        let times = match (self.part.span(self.clock), self.clock) {
            ((None, None), _) => String::new(),
            ((start, commit), Basis::Timestamps) => {
                format!("\nstart {}, commit {}", time(start), time(commit))
            }
            ((begin, end), _) => format!("\n[{}, {}]", time(begin), time(end)),
        };
        let lasted: String =
            self.strips.iter().map(|strip| format!("\n{}", strip.told())).collect();
        told(self.part).replace(", beside the cycle", "") + &times + &lasted + &place
    }
}
