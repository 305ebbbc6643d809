//! A figure over time, and counts by class: small charts that stand side by side.

use super::geometry::{Rect, Size, half};
use super::round::{plain, round_up};
use super::sheet::{Picture, Sheet};
use crate::curve::Curve;
use crate::wrap::number;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 110.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 34.0;
const BELOW: f64 = 30.0;
const ACROSS: f64 = WIDTH - LEFT - RIGHT;
const BOTTOM: f64 = TOP + HEIGHT;
/// How many times are told on the axis, at most.
const TICKS: f64 = 6.0;

/// Units of time for axes: from how many seconds on, how many seconds one has, its name.
const UNITS: [(f64, f64, &str); 3] =
    [(7_200.0, 3_600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s")];

/// A curve over seconds, to be put in a page that has the rules of `picture_css`.
pub(crate) fn curve(curve: &Curve, seconds: &[f64]) -> Picture {
    let mut sheet = Sheet::default();
    let most = curve.most();
    let last = curve.values.last().copied().unwrap_or(0.0);
    let words = format!("{}: at most {}, at last {}", curve.name, plain(most), plain(last));
    let words = sheet.label(words);
    sheet.put(format_args!("<desc>{words}</desc>"));
    sheet.text("name", (LEFT, 16.0), capital(curve.name));
    let highest =
        round_up(most.max(curve.limit.filter(|limit| *limit < most * 3.0).unwrap_or(0.0)));
    draw_scale(&mut sheet, highest);
    let whole = seconds.last().copied().unwrap_or(0.0).max(1e-3);
    draw_times(&mut sheet, whole);
    let x = |time: f64| half(LEFT + (time / whole).clamp(0.0, 1.0) * ACROSS);
    let y = |value: f64| half(BOTTOM - (value / highest).clamp(0.0, 1.0) * HEIGHT);
    let places: Vec<String> =
        seconds.iter().zip(&curve.values).map(|(t, v)| format!("{} {}", x(*t), y(*v))).collect();
    if let (Some(first), Some(end)) = (seconds.first(), seconds.last()) {
        let (line, from, to) = (places.join("L"), x(*first), x(*end));
        sheet.put(format_args!(
            r#"<path class="area" d="M{from} {BOTTOM}L{line}L{to} {BOTTOM}Z"/><path class="curve" d="M{line}"/>"#
        ));
    }
    if let Some(limit) = curve.limit.filter(|limit| *limit <= highest) {
        let (at, right) = (y(limit), LEFT + ACROSS);
        sheet.put("<g>");
        sheet.title(format!("the limit: {}", plain(limit)));
        sheet.put(format_args!(r#"<path class="limit" d="M{LEFT} {at}H{right}"/></g>"#));
    }
    sheet.finish(curve.name, Size { width: WIDTH, height: BOTTOM + BELOW })
}

/// Counts by class.
pub(crate) fn histogram(name: &str, classes: &[(String, u64)]) -> Picture {
    let mut sheet = Sheet::default();
    let told = classes.iter().map(|(class, count)| format!("{class}: {}", number(*count)));
    let words = sheet.label(format!("{name}: {}", told.collect::<Vec<_>>().join(", ")));
    sheet.put(format_args!("<desc>{words}</desc>"));
    sheet.text("name", (LEFT, 16.0), name);
    let most = classes.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let highest = round_up((most as f64).max(1.0));
    draw_scale(&mut sheet, highest);
    let wide = ACROSS / classes.len().max(1) as f64;
    // Not every name has room.
    let every = (classes.len() as f64 / 8.0).ceil().max(1.0) as usize;
    for (at, (class, count)) in classes.iter().enumerate() {
        let left = half(LEFT + at as f64 * wide);
        let height = half(*count as f64 / highest * HEIGHT);
        let width = half((wide - 3.0).max(1.0));
        sheet.put("<g>");
        sheet.title(format!("{class}: {}", number(*count)));
        sheet.rect("ended", &Rect { left, top: BOTTOM - height, width, height }, 0.0);
        sheet.put("</g>");
        if at % every == 0 {
            sheet.text("scale", (left, BOTTOM + 16.0), class.clone());
        }
    }
    sheet.finish(name, Size { width: WIDTH, height: BOTTOM + BELOW })
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Lines for values, on the left.
fn draw_scale(sheet: &mut Sheet, highest: f64) {
    let right = LEFT + ACROSS;
    for part in [0.0, 0.5, 1.0] {
        let y = half(BOTTOM - part * HEIGHT);
        let (x, base, value) = (LEFT - 10.0, y + 4.0, plain(highest * part));
        sheet.put(format_args!(
            r#"<path class="grid" d="M{LEFT} {y}H{right}"/><text class="scale" x="{x}" y="{base}" text-anchor="end">{value}</text>"#
        ));
    }
}

/// The axis, with times since the watch began.
fn draw_times(sheet: &mut Sheet, whole: f64) {
    let unit = UNITS.iter().find(|(from, ..)| whole >= *from);
    let (unit, name) = unit.map_or((1.0, "s"), |(_, seconds, name)| (*seconds, *name));
    let whole = whole / unit;
    let step = round_up(whole / TICKS);
    let base = BOTTOM + 16.0;
    for at in 0..=(whole / step + 1e-9) as u32 {
        let time = f64::from(at) * step;
        let (x, label) = (half(LEFT + time / whole * ACROSS), plain(time));
        sheet.put(format_args!(
            r#"<text class="scale" x="{x}" y="{base}" text-anchor="middle">{label} {name}</text>"#
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_whole_however_little_there_is() {
        for (seconds, values) in
            [(&[][..], &[][..]), (&[0.0], &[0.0]), (&[0.0, 1.0, 9000.0], &[1.0, 0.0, 2.5e9])]
        {
            let given = Curve {
                key: "x",
                name: "open <verdicts>",
                values: values.to_vec(),
                limit: Some(3e9),
            };
            let drawn = curve(&given, seconds).fill();
            let text = drawn.replace("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ");
            assert!(roxmltree::Document::parse(&text).is_ok(), "{drawn}");
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
        assert!(histogram("none", &[]).fill().contains("<svg"));
    }
}
