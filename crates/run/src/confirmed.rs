//! How far the database has come, by its own timestamps or snapshots: what sessions promise of what they do next.

use std::sync::{Mutex, PoisonError};

use isolde_history::Timestamp;

/// How far a session has seen the database come. Where there are timestamps, they count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reached {
    /// It was given a snapshot that shows so many numbers of transactions. A snapshot that is taken later, by whomever,
    /// shows all of them.
    Snapshot {
        /// How often the server had been started again.
        restart: u32,
        shown: i64,
    },
    /// It had a commit confirmed. What begins later commits later.
    Commit(Timestamp),
}

impl Reached {
    /// What a session promises that does nothing before this any more.
    pub(crate) fn watermark(self) -> Timestamp {
        match self {
            Reached::Commit(at) => at,
            Reached::Snapshot { restart, shown } => {
                Timestamp { physical: shown, logical: i64::from(restart) }
            }
        }
    }
}

/// The furthest that any session has seen.
#[derive(Default)]
pub(crate) struct Confirmed(Mutex<Option<Reached>>);

impl Confirmed {
    /// A session has come so far.
    pub(crate) fn add(&self, reached: Reached) {
        let mut greatest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *greatest = (*greatest).max(Some(reached));
    }

    /// The furthest so far; nothing where the database tells neither. What begins from now on does not come before it, if
    /// the database is what it should be.
    pub(crate) fn greatest(&self) -> Option<Reached> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_counts() {
        let confirmed = Confirmed::default();
        assert_eq!(confirmed.greatest(), None);
        for commit in [3, 7, 5] {
            confirmed.add(Reached::Commit(Timestamp::plain(commit)));
        }
        assert_eq!(confirmed.greatest(), Some(Reached::Commit(Timestamp::plain(7))));
    }

    #[test]
    fn after_a_restart_numbers_may_be_smaller() {
        let confirmed = Confirmed::default();
        for (restart, shown) in [(0, 30), (1, 20), (0, 40)] {
            confirmed.add(Reached::Snapshot { restart, shown });
        }
        let watermark = confirmed.greatest().unwrap().watermark();
        assert_eq!(watermark, Timestamp { physical: 20, logical: 1 });
    }
}
