//! Times of a time line in words, the same wherever it is drawn. A browser cannot count
//! nanoseconds since 1970, and people cannot read them: large times are told from the first one on.

use super::{Basis, Timeline};
use crate::wrap::number;

/// Times below this are told as they are.
const PLAIN: i64 = 1_000_000;

/// How the times of one time line are told.
pub(crate) struct Times {
    first: i64,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    AsTheyAre,
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl Times {
    /// For all times of a time line.
    pub(crate) fn of(timeline: &Timeline) -> Times {
        let times = || timeline.rows.iter().filter_map(|row| row.time);
        let first = times().min().unwrap_or(0);
        let last = times().max().unwrap_or(0);
        let plain = first >= 0 && last < PLAIN;
        let how = match last.saturating_sub(first) {
            _ if plain || timeline.basis != Basis::Nanoseconds => How::AsTheyAre,
            ..100_000 => How::Nanoseconds,
            100_000..1_000_000_000 => How::Microseconds,
            _ => How::Milliseconds,
        };
        Times { first, how }
    }

    /// What the times are.
    pub(crate) fn unit(&self, basis: Basis) -> &'static str {
        match (basis, self.how) {
            (Basis::Order, _) => "",
            (Basis::Events, _) => "event",
            (Basis::Nanoseconds, How::AsTheyAre | How::Nanoseconds) => "ns",
            (Basis::Nanoseconds, How::Microseconds) => "µs",
            (Basis::Nanoseconds, How::Milliseconds) => "ms",
        }
    }

    /// What the rows rest on, in a sentence.
    pub(crate) fn basis(&self, basis: Basis) -> &'static str {
        match (basis, self.how) {
            (Basis::Order, _) => {
                "No times are known: this order fits what was read, as far as one does."
            }
            (Basis::Events, _) => "In the order of the log.",
            (_, How::AsTheyAre) => "By the clients' clocks, in nanoseconds.",
            _ => "By the clients' clocks, from the first of these times on.",
        }
    }

    /// One time.
    pub(crate) fn tell(&self, time: i64) -> String {
        let since = time.saturating_sub(self.first).unsigned_abs();
        match self.how {
            How::AsTheyAre => signed(time),
            How::Nanoseconds => format!("+{}", number(since)),
            How::Microseconds => format!("+{}.{}", number(since / 1000), since % 1000 / 100),
            How::Milliseconds => {
                format!("+{}.{:03}", number(since / 1_000_000), since / 1000 % 1000)
            }
        }
    }
}

fn signed(time: i64) -> String {
    let sign = if time < 0 { "-" } else { "" };
    format!("{sign}{}", number(time.unsigned_abs()))
}
