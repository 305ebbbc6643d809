//! Times of a witness in a sentence, as its time line tells them: "20", "+20.1 us", "between 20 and 21".

use isolde_history::Timestamp;
use isolde_spec::Stretch;

use super::{Timeline, Times};

/// Tells the times of one witness.
pub(super) struct Moments {
    times: Times,
    unit: &'static str,
}

impl Moments {
    pub(super) fn of(timeline: &Timeline) -> Moments {
        let times = Times::of(timeline);
        let unit = match times.unit(timeline.basis) {
            // Plain ASCII: a terminal may have nothing else.
            "µs" => "us",
            unit => unit,
        };
        Moments { times, unit }
    }

    /// One time. A unit is said only where times are told from the first one on.
    pub(super) fn at(&self, time: i64) -> String {
        let told = self.times.tell(Timestamp::plain(time));
        if self.times.is_relative() {
            return format!("{told} {}", self.unit);
        }
        told
    }

    /// Where one instant is: "between 20 and 21".
    pub(super) fn within(&self, stretch: &Stretch) -> String {
        match (stretch.from, stretch.until) {
            (Some(from), Some(until)) if from == until => format!("at {}", self.at(from)),
            (Some(from), Some(until)) => {
                format!("between {} and {}", self.at(from), self.at(until))
            }
            (Some(from), None) => format!("at {} or later", self.at(from)),
            (None, Some(until)) => format!("at {} or before", self.at(until)),
            (None, None) => "at an unknown time".to_owned(),
        }
    }

    /// Between which times something lasted: "from 3 to 10".
    pub(super) fn lasting(&self, stretch: &Stretch) -> String {
        let told = |time: Option<i64>| time.map_or("an unknown time".to_owned(), |t| self.at(t));
        format!("from {} to {}", told(stretch.from), told(stretch.until))
    }
}
