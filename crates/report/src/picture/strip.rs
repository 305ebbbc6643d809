//! Locks and snapshots on the bars of their transactions: held, possibly held, where the snapshot can have been.

use isolde_history::Timestamp;
use isolde_spec::StretchOf;

use super::axis::Axis;
use super::geometry::Rect;
use super::sheet::Sheet;
use crate::exhibit::{Exhibit, Lasting, Times};

/// How many are drawn on a bar, how high each is, and how far from the next.
const MOST: usize = 2;
const HEIGHT: f64 = 5.0;
const STEP: f64 = 8.0;
/// What is shown of an instant that is known exactly.
const SHORTEST: f64 = 3.0;

/// What the marks mean; nothing if there are none.
pub(super) fn legend(exhibit: &Exhibit) -> Option<&'static str> {
    let has = |name: &str| exhibit.lasting.iter().any(|it| it.name == name);
    Some(match (has(StretchOf::Open.name()), has(StretchOf::Held.name())) {
        _ if exhibit.lasting.is_empty() => return None,
        (true, _) => {
            "not to scale; filled: certainly between snapshot and COMMIT; dashed: possibly"
        }
        (false, true) => "not to scale; filled: certainly locked; dashed: possibly",
        (false, false) => "not to scale; hollow: it was at one instant of this",
    })
}

/// Something that lasted, on a bar.
pub(super) struct Strip {
    certain: (f64, f64),
    possible: (f64, f64),
    instant: bool,
    told: String,
}

/// Those of one transaction.
pub(super) fn strips(exhibit: &Exhibit, axis: &Axis, part: usize) -> Vec<Strip> {
    let times = Times::of(&exhibit.timeline);
    let strip = |it: &Lasting| Strip {
        certain: axis.between(it.certain),
        possible: axis.between(it.possible),
        instant: it.instant,
        told: told(it, &times),
    };
    exhibit.lasting.iter().filter(|it| it.part == part).take(MOST).map(strip).collect()
}

/// "locked 3 to 10 (possibly 1 to 12)".
fn told(it: &Lasting, times: &Times) -> String {
    let tell = |time: Option<i64>| {
        time.map_or_else(|| "?".to_owned(), |time| times.tell(Timestamp::plain(time)))
    };
    let span = |(from, until)| format!("{} to {}", tell(from), tell(until));
    match it.possible == it.certain {
        true => format!("{} {}", it.name, span(it.certain)),
        false => format!("{} {} (possibly {})", it.name, span(it.certain), span(it.possible)),
    }
}

impl Strip {
    /// In words, for the title of its bar.
    pub(super) fn told(&self) -> &str {
        &self.told
    }

    /// Draws it as the one of that number on a bar.
    pub(super) fn draw(&self, sheet: &mut Sheet, number: usize, bar: f64) {
        let top = bar + 3.0 + number as f64 * STEP;
        let place = |(left, right): (f64, f64)| Rect {
            left,
            top,
            width: (right - left).max(SHORTEST),
            height: HEIGHT,
        };
        if self.possible != self.certain {
            sheet.rect("maybe", &place(self.possible), 1.0);
        }
        let class = if self.instant { "instant" } else { "held" };
        sheet.rect(class, &place(self.certain), 1.0);
    }
}
