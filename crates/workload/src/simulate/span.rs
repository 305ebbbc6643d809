//! When transactions happen by the clock of the simulated database.
//!
//! The clock makes two steps a tick. A snapshot that is taken when a transaction begins has the second
//! step of that tick; where everything happens when the database decides, the snapshot has the first
//! step and the commit the second one. At each tick one transaction begins or is decided, so no two of
//! them share a step.

/// How many steps a tick has.
pub(crate) const STEPS: i64 = 2;

/// When a transaction saw its snapshot and when it took effect, in steps of the database's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: i64,
    pub(crate) commit: i64,
    /// Whether a recipe says so, and not what happened.
    pub(crate) planted: bool,
}

impl Span {
    /// Of a transaction that begins at that tick.
    pub(crate) const fn begin(tick: i64) -> Span {
        Span { start: tick * STEPS, commit: 0, planted: false }
    }

    /// Of a recipe: at these ticks after that one.
    pub(crate) const fn planted(start: i64, commit: i64) -> Span {
        Span { start: start * STEPS, commit: commit * STEPS, planted: true }
    }

    /// The snapshot is taken at that tick, unless a recipe says otherwise.
    pub(crate) fn begins(&mut self, tick: i64) {
        if !self.planted {
            *self = Span::begin(tick);
        }
    }

    /// The same so many ticks later, if a recipe says it.
    pub(crate) fn shift(&mut self, ticks: i64) {
        if self.planted {
            self.start += ticks * STEPS;
            self.commit += ticks * STEPS;
        }
    }

    /// The database decides at that tick; then, too, everything was read if it was read `at_once`.
    pub(crate) fn decide(&mut self, tick: i64, at_once: bool) {
        if self.planted {
            return;
        }
        self.commit = tick * STEPS;
        if at_once {
            self.start = self.commit - 1;
        }
    }
}
