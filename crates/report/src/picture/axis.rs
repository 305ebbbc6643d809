//! The axis of time: moments in their order, because a nanosecond and a second matter the same.

use isolde_history::Timestamp;

use super::geometry::half;
use super::sheet::Sheet;
use super::text::{cut, width, width_class};
use crate::exhibit::{Basis, Exhibit, Part};
use crate::stamps;

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

/// What stands below an axis without times.
const NO_TIMES: &str = "no times are known: the order in each session";

/// When a part began and ended, if known.
type PartSpan = (Option<Timestamp>, Option<Timestamp>);

/// Where moments are.
pub(super) struct Axis {
    moments: Vec<Timestamp>,
    left: f64,
    unit: f64,
    /// The begin and end of each part, if known.
    spans: Vec<PartSpan>,
    basis: Basis,
}

impl Axis {
    /// The moments of the parts. Without any times, those of each session are one after another.
    pub(super) fn new(exhibit: &Exhibit, parts: &[Part], left: f64) -> Axis {
        let clock = exhibit.timeline.basis;
        let timed = parts.iter().any(|part| part.span(clock) != (None, None));
        let spans: Vec<PartSpan> = if timed {
            parts.iter().map(|part| in_order(part.span(clock))).collect()
        } else {
            in_sessions(parts)
        };
        let own = spans.iter().flat_map(|(begin, end)| [*begin, *end]).flatten();
        let lasting = exhibit.lasting.iter().filter(|it| it.part < parts.len());
        let lasting =
            lasting.flat_map(|it| [it.certain.0, it.certain.1, it.possible.0, it.possible.1]);
        let known = own.chain(lasting.flatten().map(Timestamp::plain));
        let mut moments: Vec<Timestamp> = known.collect();
        moments.sort_unstable();
        moments.dedup();
        let gaps = moments.len().saturating_sub(1).max(1);
        // Without times, texts are what needs the room.
        let unit = if timed { half((WIDTH / gaps as f64).clamp(LEAST, MOST)) } else { MOST };
        let basis = if timed { clock } else { Basis::Order };
        Axis { moments, left: left + BEYOND, unit, spans, basis }
    }

    fn x(&self, moment: Timestamp) -> f64 {
        let place = self.moments.partition_point(|other| *other < moment);
        self.left + place as f64 * self.unit
    }

    /// Where the axis ends.
    pub(super) fn right(&self) -> f64 {
        self.left + self.moments.len().saturating_sub(1) as f64 * self.unit + BEYOND
    }

    /// How far what stands below the axis reaches.
    pub(super) fn reach(&self) -> f64 {
        let note = if self.basis == Basis::Order { width(NO_TIMES, 10.0) } else { 0.0 };
        self.right().max(self.left - BEYOND + width_class(note))
    }

    /// Where the bar of a part begins and ends.
    pub(super) fn span(&self, part: usize) -> (f64, f64) {
        let (begin, end) = self.spans.get(part).copied().unwrap_or_default();
        let left = begin.map_or(self.left - BEYOND, |begin| self.x(begin));
        let right = end.map_or(self.right(), |end| self.x(end));
        (left, right.max(left + SHORTEST))
    }

    /// Where something begins and ends that lasted.
    pub(super) fn between(&self, (from, until): (Option<i64>, Option<i64>)) -> (f64, f64) {
        let x = |time: Option<i64>| time.map(|time| self.x(Timestamp::plain(time)));
        let left = x(from).unwrap_or(self.left - BEYOND);
        (left, x(until).unwrap_or(self.right()).max(left))
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
            sheet
                .put(format_args!(r#"<text class="time" x="{left}" y="{base}">{NO_TIMES}</text>"#));
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
            let exact = sheet.label(stamps::tell(*moment));
            sheet.put(format_args!(
                r#"<text class="time" x="{x}" y="{base}" text-anchor="middle"><title>{exact}</title>{label}</text>"#
            ));
        }
        if self.basis != Basis::Timestamps {
            return bottom + 20.0;
        }
        let below = base + 15.0;
        sheet.put(format_args!(
            r#"<text class="time" x="{left}" y="{below}">by the server's timestamps, from start to commit</text>"#
        ));
        bottom + 35.0
    }

    /// A moment in few characters: since the first one, if these are nanoseconds.
    fn told(&self, moment: Timestamp) -> String {
        let first = self.moments.first().map_or(0, |first| first.physical);
        let since = i128::from(moment.physical) - i128::from(first);
        match self.basis {
            Basis::Timestamps if !self.is_small() => return since_first(since, moment.logical),
            Basis::Nanoseconds if !self.is_small() => {}
            _ => return stamps::tell(moment),
        }
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
        self.moments.iter().all(|moment| (0..1_000_000).contains(&moment.physical))
    }
}

/// A bar has a left and a right end, also if it is said to have ended before it began.
fn in_order((begin, end): PartSpan) -> PartSpan {
    match (begin, end) {
        (Some(a), Some(b)) if a > b => (end, begin),
        span => span,
    }
}

/// A large timestamp, from the first one on. The whole one does not fit; the title of the label has it.
fn since_first(since: i128, logical: i64) -> String {
    let physical =
        if since < 10_000_000 { format!("+{since}") } else { format!("+{:.2e}", since as f64) };
    if logical == 0 { physical } else { format!("{physical}.{logical}") }
}

/// The operations of each session one after another, in the order of the history.
fn in_sessions(parts: &[Part]) -> Vec<PartSpan> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts[*at].txn);
    let mut spans = vec![(None, None); parts.len()];
    let mut ends: Vec<(&str, i64)> = Vec::new();
    for at in order {
        let session = parts[at].session.as_str();
        let known = ends.iter().position(|(name, _)| *name == session);
        let begin = known.and_then(|known| ends.get(known)).map_or(0, |(_, end)| end + 1);
        spans[at] = (Some(Timestamp::plain(begin)), Some(Timestamp::plain(begin + 1)));
        match known.and_then(|known| ends.get_mut(known)) {
            Some((_, end)) => *end = begin + 1,
            None => ends.push((session, begin + 1)),
        }
    }
    spans
}
