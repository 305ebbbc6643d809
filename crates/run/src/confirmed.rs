//! How far commits have come, by the timestamps of the database: what sessions promise of what they do next.

use std::sync::{Mutex, PoisonError};

use isolde_history::Timestamp;

/// The greatest commit timestamp that any session has had confirmed.
#[derive(Default)]
pub(crate) struct Confirmed(Mutex<Option<Timestamp>>);

impl Confirmed {
    /// A commit was confirmed.
    pub(crate) fn add(&self, commit: Timestamp) {
        let mut greatest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *greatest = (*greatest).max(Some(commit));
    }

    /// The greatest so far; nothing where the database tells no timestamps. What begins from now on commits
    /// later, if the timestamps are what they should be.
    pub(crate) fn greatest(&self) -> Option<Timestamp> {
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
            confirmed.add(Timestamp::plain(commit));
        }
        assert_eq!(confirmed.greatest(), Some(Timestamp::plain(7)));
    }
}
