//! Where sessions wait until all of them are there.

use std::sync::{Condvar, Mutex, PoisonError};

/// Closed at first; opened for all at once, or for none.
#[derive(Default)]
pub(crate) struct Gate {
    /// Whether to begin, once it is known.
    go: Mutex<Option<bool>>,
    known: Condvar,
}

impl Gate {
    /// Waits; whether to begin.
    pub(crate) fn wait(&self) -> bool {
        let mut go = self.go.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *go {
                Some(go) => return go,
                None => go = self.known.wait(go).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Lets all sessions begin, or tells all of them not to.
    pub(crate) fn open(&self, go: bool) {
        *self.go.lock().unwrap_or_else(PoisonError::into_inner) = Some(go);
        self.known.notify_all();
    }
}
