//! The axis of time: moments in their order, because a nanosecond and a second matter the same.

use super::geometry::half;
use super::sheet::Sheet;
use super::text::cut;
use crate::exhibit::{Basis, Exhibit, Part};

/// How wide the whole axis should be, and how far two moments are apart at least and at most.
const WIDTH: f64 = 620.0;
const LEAST: f64 = 30.0;
const MOST: f64 = 84.0;
/// How far a bar goes beyond the moments if its begin or end is not known.
const BEYOND: f64 = 26.0;
/// How short a bar may be.
const SHORTEST: f64 = 22.0;
/// How much room the time of a moment takes, and how many of them are told.
const LABEL: f64 = 64.0;
const MOST_LABELS: usize = 12;

/// Where moments are.
pub(super) struct Axis {
    moments: Vec<i64>,
    left: f64,
    unit: f64,
    /// The begin and end of each part, if known.
    spans: Vec<(Option<i64>, Option<i64>)>,
    basis: Basis,
}

impl Axis {
    /// The moments of the parts. Without any times, those of each session are one after another.
    pub(super) fn new(exhibit: &Exhibit, parts: &[Part], left: f64) -> Axis {
        let timed = parts.iter().any(|part| part.begin.is_some() || part.end.is_some());
        let spans: Vec<(Option<i64>, Option<i64>)> = if timed {
            parts.iter().map(|part| (part.begin, part.end)).collect()
        } else {
            in_sessions(parts)
        };
        let known = spans.iter().flat_map(|(begin, end)| [*begin, *end]).flatten();
        let mut moments: Vec<i64> = known.collect();
        moments.sort_unstable();
        moments.dedup();
        let gaps = moments.len().saturating_sub(1).max(1);
        // Without times, texts are what needs the room.
        let unit = if timed { half((WIDTH / gaps as f64).clamp(LEAST, MOST)) } else { MOST };
        let basis = if timed { exhibit.timeline.basis } else { Basis::Order };
        Axis { moments, left: left + BEYOND, unit, spans, basis }
    }

    fn x(&self, moment: i64) -> f64 {
        let place = self.moments.partition_point(|other| *other < moment);
        self.left + place as f64 * self.unit
    }

    /// Where the axis ends.
    pub(super) fn right(&self) -> f64 {
        self.left + self.moments.len().saturating_sub(1) as f64 * self.unit + BEYOND
    }

    /// Where the bar of a part begins and ends.
    pub(super) fn span(&self, part: usize) -> (f64, f64) {
        let (begin, end) = self.spans.get(part).copied().unwrap_or_default();
        let left = begin.map_or(self.left - BEYOND, |begin| self.x(begin));
        let right = end.map_or(self.right(), |end| self.x(end));
        (left, right.max(left + SHORTEST))
    }

    /// Whether its begin and its end are not known.
    pub(super) fn open(&self, part: usize) -> (bool, bool) {
        let (begin, end) = self.spans.get(part).copied().unwrap_or_default();
        (begin.is_none(), end.is_none())
    }

    /// Draws the moments and their times; says where that ends.
    pub(super) fn draw(&self, sheet: &mut Sheet, top: f64, bottom: f64) -> f64 {
        let (left, right) = (self.left - BEYOND, self.right());
        sheet.put(format_args!(r#"<path class="axis" d="M{left} {bottom}H{right}"/>"#));
        let base = bottom + 15.0;
        if self.basis == Basis::Order {
            sheet.put(format_args!(
                r#"<text class="time" x="{left}" y="{base}">no times are known: the order in each session</text>"#
            ));
            return bottom + 20.0;
        }
        for moment in &self.moments {
            let x = self.x(*moment);
            sheet.put(format_args!(r#"<path class="tick" d="M{x} {top}V{bottom}"/>"#));
        }
        let fit = (LABEL / self.unit).ceil() as usize;
        let step = fit.max(self.moments.len().div_ceil(MOST_LABELS)).max(1);
        for moment in self.moments.iter().step_by(step) {
            let x = self.x(*moment);
            let label = sheet.label(cut(&self.told(*moment), 10));
            let exact = sheet.label(moment.to_string());
            sheet.put(format_args!(
                r#"<text class="time" x="{x}" y="{base}" text-anchor="middle"><title>{exact}</title>{label}</text>"#
            ));
        }
        bottom + 20.0
    }

    /// A moment in few characters: since the first one, if these are nanoseconds.
    fn told(&self, moment: i64) -> String {
        let first = self.moments.first().copied().unwrap_or(0);
        if self.basis != Basis::Nanoseconds || self.is_small() {
            return moment.to_string();
        }
        let since = i128::from(moment) - i128::from(first);
        let (unit, name) = match since {
            0 => return "0".to_owned(),
            1..1_000 => return format!("+{since} ns"),
            1_000..1_000_000 => (1_000.0, "µs"),
            1_000_000..1_000_000_000 => (1_000_000.0, "ms"),
            _ => (1_000_000_000.0, "s"),
        };
        let since = since as f64 / unit;
        let digits = if since < 10.0 { 2 } else { usize::from(since < 100.0) };
        let short = format!("{since:.digits$}");
        let short =
            if digits > 0 { short.trim_end_matches('0').trim_end_matches('.') } else { &short };
        format!("+{short} {name}")
    }

    /// Whether the numbers are so small that they are best shown as they are.
    fn is_small(&self) -> bool {
        self.moments.iter().all(|moment| (0..1_000_000).contains(moment))
    }
}

/// The operations of each session one after another, in the order of the history.
fn in_sessions(parts: &[Part]) -> Vec<(Option<i64>, Option<i64>)> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].txn);
    let mut spans = vec![(None, None); parts.len()];
    let mut ends: Vec<(&str, i64)> = Vec::new();
    for at in order {
        let session = parts[at].session.as_str();
        let known = ends.iter().position(|(name, _)| *name == session);
        let begin = known.and_then(|known| ends.get(known)).map_or(0, |(_, end)| end + 1);
        spans[at] = (Some(begin), Some(begin + 1));
        match known.and_then(|known| ends.get_mut(known)) {
            Some((_, end)) => *end = begin + 1,
            None => ends.push((session, begin + 1)),
        }
    }
    spans
}
