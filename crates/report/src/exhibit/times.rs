//! Times of a time line in words, the same wherever it is drawn. A browser cannot count
//! nanoseconds since 1970, and people cannot read them: large times are told from the first one on.
//! The server's timestamps are told as they are, since they are looked up elsewhere.

use isolde_history::Timestamp;

use super::{Basis, Timeline};
use crate::stamps;
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
    Stamps,
    Nanoseconds,
    Microseconds,
    Milliseconds,
}

impl Times {
    /// For all times of a time line.
    pub(crate) fn of(timeline: &Timeline) -> Times {
        let times = || timeline.rows.iter().filter_map(|row| Some(row.time?.physical));
        let first = times().min().unwrap_or(0);
        let last = times().max().unwrap_or(0);
        let plain = first >= 0 && last < PLAIN;
        let how = match (timeline.basis, last.saturating_sub(first)) {
            (Basis::Timestamps, _) => How::Stamps,
            (Basis::Nanoseconds, _) if plain => How::AsTheyAre,
            (Basis::Nanoseconds, ..100_000) => How::Nanoseconds,
            (Basis::Nanoseconds, 100_000..1_000_000_000) => How::Microseconds,
            (Basis::Nanoseconds, _) => How::Milliseconds,
            (Basis::Events | Basis::Order, _) => How::AsTheyAre,
        };
        Times { first, how }
    }

    /// What the times are.
    pub(crate) fn unit(&self, basis: Basis) -> &'static str {
        match (basis, self.how) {
            (Basis::Order, _) => "",
            (Basis::Events, _) => "event",
            (Basis::Timestamps, _) => "ts",
            (Basis::Nanoseconds, How::Microseconds) => "µs",
            (Basis::Nanoseconds, How::Milliseconds) => "ms",
            (Basis::Nanoseconds, _) => "ns",
        }
    }

    /// Whether times are told from the first one on.
    pub(crate) fn is_relative(&self) -> bool {
        matches!(self.how, How::Nanoseconds | How::Microseconds | How::Milliseconds)
    }

    /// What the rows rest on, in a sentence.
    pub(crate) fn basis(&self, basis: Basis) -> &'static str {
        match (basis, self.how) {
            (Basis::Order, _) => {
                "No times are known: this order fits what was read, as far as one does."
            }
            (Basis::Events, _) => "In the order of the log.",
            (Basis::Timestamps, _) => {
                "By the server's timestamps: when each transaction started and committed."
            }
            (_, How::AsTheyAre) => "By the clients' clocks, in nanoseconds.",
            _ => "By the clients' clocks, from the first of these times on.",
        }
    }

    /// One time.
    pub(crate) fn tell(&self, time: Timestamp) -> String {
        let since = time.physical.saturating_sub(self.first).unsigned_abs();
        let sign = if time.physical < self.first { '-' } else { '+' };
        match self.how {
            How::AsTheyAre => signed(time.physical),
            How::Stamps => stamps::tell(time),
            How::Nanoseconds => format!("{sign}{}", number(since)),
            How::Microseconds => format!("{sign}{}.{}", number(since / 1000), since % 1000 / 100),
            How::Milliseconds => {
                format!("{sign}{}.{:03}", number(since / 1_000_000), since / 1000 % 1000)
            }
        }
    }
}

fn signed(time: i64) -> String {
    let sign = if time < 0 { "-" } else { "" };
    format!("{sign}{}", number(time.unsigned_abs()))
}
