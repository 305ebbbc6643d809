//! The course of a run: commits per second, and above them what was done to the servers meanwhile.

use super::geometry::{Rect, Size, half};
use super::round::{plain, round_up};
use super::sheet::{Picture, Sheet};
use super::text::{cut, width};
use crate::course::{Bin, Course, Lane};
use crate::wrap::number;

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 150.0;
/// Left of the picture are names.
const LEAST_LEFT: f64 = 90.0;
const NAME: usize = 26;
const RIGHT: f64 = 16.0;
const TOP: f64 = 6.0;
const LANE: f64 = 22.0;
/// How wide a mark is at least.
const MARK: f64 = 3.0;
/// How many times are told on the axis, at most.
const TICKS: f64 = 10.0;

/// The parts of a bar: class, name, and how much of a bin it is.
type BarPart = (&'static str, &'static str, fn(&Bin) -> u64);
const PARTS: [BarPart; 3] = [
    ("ended", "committed", |bin| bin.committed),
    ("undone", "aborted", |bin| bin.aborted),
    ("lost", "unknown, where it began", |bin| bin.unknown),
];

/// Where things are.
struct Frame {
    left: f64,
    across: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        half(self.left + place.clamp(0.0, 1.0) * self.across)
    }
}

/// The picture of a course, to be put in a page that has the rules of `picture_css`.
pub(crate) fn course(course: &Course) -> Picture {
    let violations = course.bins.iter().any(|bin| bin.violations > 0);
    let names = course.lanes.iter().map(|lane| width(&cut(&told(lane), NAME), 12.0));
    let left = half(names.fold(LEAST_LEFT, f64::max) + 18.0);
    let rows = course.lanes.len() + usize::from(violations);
    let top = TOP + rows as f64 * LANE + 12.0;
    let frame = Frame { left, across: WIDTH - left - RIGHT, top, bottom: top + HEIGHT };
    let mut sheet = Sheet::default();
    let words = sheet.label(described(course));
    sheet.put(format_args!("<desc>{words}</desc>"));
    for (lane, row) in course.lanes.iter().zip(0_u32..) {
        draw_lane(&mut sheet, &frame, course, (lane, TOP + f64::from(row) * LANE));
    }
    if violations {
        draw_violations(&mut sheet, &frame, course, top - 12.0 - LANE);
    }
    let highest = draw_scale(&mut sheet, &frame, course);
    draw_bars(&mut sheet, &frame, course, highest);
    draw_times(&mut sheet, &frame, course);
    draw_key(&mut sheet, &frame, course);
    sheet.finish("Course of the run", Size { width: WIDTH, height: frame.bottom + 52.0 })
}

/// "29 x kill n1".
fn told(lane: &Lane) -> String {
    format!("{} x {}", number(lane.count), lane.name)
}

/// The whole picture in words.
fn described(course: &Course) -> String {
    let sum = |of: fn(&Bin) -> u64| number(course.bins.iter().map(of).sum::<u64>());
    let parts: Vec<String> =
        PARTS.iter().map(|(_, name, of)| format!("{} {name}", sum(*of))).collect();
    let lanes: Vec<String> = course.lanes.iter().map(told).collect();
    format!("Transactions over time: {}. Meanwhile: {}.", parts.join(", "), lanes.join(", "))
}

/// The name of a row, and its rule.
fn name_row(sheet: &mut Sheet, frame: &Frame, name: &str, top: f64) {
    let (x, y, right, rule) =
        (frame.left - 12.0, top + 15.0, frame.left + frame.across, top + LANE / 2.0);
    let label = sheet.label(cut(name, NAME));
    let whole = sheet.label(name);
    sheet.put(format_args!(
        r#"<text x="{x}" y="{y}" text-anchor="end"><title>{whole}</title>{label}</text><path class="grid" d="M{} {rule}H{right}"/>"#,
        frame.left
    ));
}

fn draw_lane(sheet: &mut Sheet, frame: &Frame, course: &Course, (lane, top): (&Lane, f64)) {
    name_row(sheet, frame, &told(lane), top);
    for span in &lane.spans {
        let left = frame.x(span.from);
        let wide = (frame.x(span.to) - left).max(MARK);
        // A mark at the very end stays within the picture.
        let left = left.min(frame.left + frame.across - wide);
        let shade = Rect { left, top: top + 4.0, width: wide, height: frame.bottom - top - 4.0 };
        sheet.rect("shade", &shade, 0.0);
        sheet.put("<g>");
        let many =
            if span.count > 1 { format!("{} x ", number(span.count)) } else { String::new() };
        sheet.title(format!("{many}{}: {}", lane.name, span.told(&course.scale)));
        sheet.rect("fault", &Rect { height: LANE - 8.0, ..shade }, 2.0);
        sheet.put("</g>");
    }
}

fn draw_violations(sheet: &mut Sheet, frame: &Frame, course: &Course, top: f64) {
    name_row(sheet, frame, "violations", top);
    for (at, bin) in course.bins.iter().enumerate().filter(|(_, bin)| bin.violations > 0) {
        let x = frame.x((at as f64 + 0.5) / course.bins.len() as f64);
        let (from, to, base, tip) = (x - 5.0, x + 5.0, top + 6.0, top + 16.0);
        sheet.put("<g>");
        let what = if bin.violations == 1 { "violation becomes" } else { "violations become" };
        sheet.title(format!("{} {what} visible", number(bin.violations)));
        sheet.put(format_args!(r#"<path class="found" d="M{from} {base}H{to}L{x} {tip}Z"/></g>"#));
    }
}

fn total(bin: &Bin) -> u64 {
    bin.committed + bin.aborted + bin.unknown
}

/// Lines for rates, on the left; says which rate is at the top.
fn draw_scale(sheet: &mut Sheet, frame: &Frame, course: &Course) -> f64 {
    let most = course.bins.iter().map(total).max().unwrap_or(0).max(1);
    let highest = round_up(most as f64 / course.bin_seconds());
    let right = frame.left + frame.across;
    for part in [0.0, 0.5, 1.0] {
        let y = half(frame.bottom - part * HEIGHT);
        let (x, base) = (frame.left - 12.0, y + 4.0);
        let unit = if part > 0.0 { "/s" } else { "" };
        let rate = plain(highest * part);
        sheet.put(format_args!(
            r#"<path class="grid" d="M{} {y}H{right}"/><text class="scale" x="{x}" y="{base}" text-anchor="end">{rate}{unit}</text>"#,
            frame.left
        ));
    }
    highest
}

fn draw_bars(sheet: &mut Sheet, frame: &Frame, course: &Course, highest: f64) {
    let count = course.bins.len() as f64;
    let unit = HEIGHT / (highest * course.bin_seconds());
    for (at, bin) in course.bins.iter().enumerate().filter(|(_, bin)| total(bin) > 0) {
        let (left, right) = (frame.x(at as f64 / count), frame.x((at as f64 + 1.0) / count));
        sheet.put("<g>");
        let parts = PARTS.iter().map(|(_, name, of)| format!("{} {name}", number(of(bin))));
        sheet.title(parts.collect::<Vec<_>>().join(", "));
        let mut bottom = frame.bottom;
        for (class, _, of) in PARTS.iter().filter(|(_, _, of)| of(bin) > 0) {
            // What is there is seen, however little it is.
            let height = half((of(bin) as f64 * unit).max(1.5));
            bottom = (bottom - height).max(frame.top);
            let wide = (right - left - 1.0).max(1.0);
            sheet.rect(class, &Rect { left, top: bottom, width: wide, height }, 0.0);
        }
        sheet.put("</g>");
    }
}

/// The axis, with times since the run began.
fn draw_times(sheet: &mut Sheet, frame: &Frame, course: &Course) {
    let (left, right, bottom) = (frame.left, frame.left + frame.across, frame.bottom);
    sheet.put(format_args!(r#"<path class="axis" d="M{left} {bottom}H{right}"/>"#));
    let (unit, name) = course.scale.unit();
    let whole = course.scale.span() as f64 / unit;
    let step = round_up(whole / TICKS);
    let base = bottom + 16.0;
    for at in 0..=(whole / step + 1e-9) as u32 {
        let time = f64::from(at) * step;
        let x = frame.x(time / whole);
        let (label, end) = (plain(time), bottom + 4.0);
        sheet.put(format_args!(r#"<path class="axis" d="M{x} {bottom}V{end}"/>"#));
        sheet.put(format_args!(
            r#"<text class="scale" x="{x}" y="{base}" text-anchor="middle">{label} {name}</text>"#
        ));
    }
}

/// What the colours mean.
fn draw_key(sheet: &mut Sheet, frame: &Frame, course: &Course) {
    let (mut x, y) = (frame.left, frame.bottom + 42.0);
    let used = PARTS.iter().filter(|(_, _, of)| course.bins.iter().any(|bin| of(bin) > 0));
    for (class, name, _) in used {
        sheet.rect(class, &Rect { left: x, top: y - 9.0, width: 11.0, height: 11.0 }, 2.0);
        let words = (*name).to_owned();
        sheet.text("scale", (x + 17.0, y), words.clone());
        x = half(x + 17.0 + width(&words, 11.0) + 24.0);
    }
}
