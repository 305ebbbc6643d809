//! Memory for what has begun to come and is not whole: all connections share it, so that many of them cannot take more than
//! one source may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes all connections may take together.
const MOST: usize = 256 << 20;

/// What all connections share. Clones are the same.
#[derive(Clone)]
pub(crate) struct Room {
    taken: Arc<AtomicUsize>,
    most: usize,
}

impl Default for Room {
    fn default() -> Room {
        Room { taken: Arc::default(), most: MOST }
    }
}

impl Room {
    /// Of another size, for tests.
    #[cfg(test)]
    pub(crate) fn of(most: usize) -> Room {
        Room { taken: Arc::default(), most }
    }

    /// What one connection has of it: nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share { room: self.clone(), taken: 0 }
    }
}

/// What one connection has of it, until it goes.
pub(crate) struct Share {
    room: Room,
    taken: usize,
}

impl Share {
    /// From now on it takes so many bytes; not if there is no room for more than it has.
    pub(crate) fn takes(&mut self, bytes: usize) -> bool {
        let (before, most) = (self.taken, self.room.most);
        let changed = |all: usize| {
            let all = all - before + bytes;
            (bytes <= before || all <= most).then_some(all)
        };
        let taken = &self.room.taken;
        let done = taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, changed).is_ok();
        if done {
            self.taken = bytes;
        }
        done
    }

    /// So many bytes more.
    pub(crate) fn takes_more(&mut self, bytes: usize) -> bool {
        self.takes(self.taken + bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.takes(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_lets_go_of_another_may_take() {
        let room = Room::of(10);
        let (mut one, mut other) = (room.share(), room.share());
        assert!(one.takes(6) && other.takes_more(4) && !other.takes_more(1) && !one.takes(7));
        assert!(one.takes(2) && other.takes(8) && !one.takes(3));
        drop(one);
        assert!(other.takes(10) && !other.takes(11));
    }
}
