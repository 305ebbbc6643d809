//! A snapshot as a set of numbers, and its place among the snapshots of one server.
//!
//! A server takes every snapshot, and ends every transaction, under one lock. So of two snapshots the one that shows more
//! numbers was taken later, and shows all that the other one shows: how many numbers it shows is its place. That is
//! known of each snapshot alone, whatever else comes. (Numbers of transactions that nobody recorded, and of those that
//! were rolled back, count as well: they too only ever get more.)

use isolde_history::{Snapshot, Timestamp};

/// How many bits of a rank are for the numbers that a snapshot shows.
const BITS: u32 = 48;
/// The most of them; one less is the most that a snapshot can show.
const MOST: i64 = (1 << BITS) - 1;
/// How often a server can have been started again.
const RESTARTS: i64 = 1 << 14;

/// A place in the row of all snapshots of a server: how often it had been started again, then how many numbers are shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Rank(i64);

impl Rank {
    pub(super) const FIRST: Rank = Rank(-1);
    pub(super) const LAST: Rank = Rank(i64::MAX);

    fn new(restart: i64, shown: i64) -> Option<Rank> {
        let fits = (0..RESTARTS).contains(&restart) && (0..MOST).contains(&shown);
        fits.then_some(Rank(restart << BITS | shown))
    }

    /// The place that a promise names: how many numbers are shown, and as the logical part how often the server had been
    /// started again.
    pub(super) fn promised(mark: Timestamp) -> Option<Rank> {
        Rank::new(mark.logical, mark.physical)
    }

    /// The place for the rules of timestamps: of those that see from here.
    pub(super) fn start(self) -> Timestamp {
        Timestamp::plain(self.0)
    }

    pub(super) fn of_start(start: Timestamp) -> Rank {
        Rank(start.physical)
    }
}

/// The numbers that a snapshot shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(super) restart: i64,
    /// All below it, of which the last is shown, ...
    pub(super) end: i64,
    /// ... but for these, ascending.
    pub(super) hidden: Box<[i64]>,
    pub(super) rank: Rank,
}

impl Shape {
    /// `None` if its numbers are none that a server gives.
    pub(super) fn new(restart: i64, snapshot: &Snapshot) -> Option<Shape> {
        let (xmin, mut end) = (snapshot.xmin, snapshot.xmax.max(snapshot.xmin));
        let running = snapshot.in_progress.iter().copied();
        let mut hidden: Vec<i64> = running.filter(|id| (xmin..end).contains(id)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        // One form for one set.
        while hidden.last().is_some_and(|last| last + 1 == end) {
            hidden.pop();
            end -= 1;
        }
        let rank = Rank::new(restart, end.checked_sub(hidden.len() as i64)?)?;
        Some(Shape { restart, end, hidden: hidden.into(), rank })
    }

    /// What would show all that happened until the server was started again.
    pub(super) fn end_of(restart: i64) -> Shape {
        let restart = restart.clamp(0, RESTARTS - 1);
        let rank = Rank(restart << BITS | MOST);
        Shape { restart, end: i64::MAX, hidden: Box::default(), rank }
    }

    /// Where it stands.
    pub(crate) fn start(&self) -> Timestamp {
        self.rank.start()
    }

    pub(super) fn shows(&self, (restart, number): Number) -> bool {
        let now = restart == self.restart && number < self.end;
        restart < self.restart || (now && self.hidden.binary_search(&number).is_err())
    }

    /// Whether another one shows all that this one does.
    pub(super) fn is_within(&self, other: &Shape) -> bool {
        let hides = |number: &i64| !self.shows((self.restart, *number));
        self.restart < other.restart
            || (self.restart == other.restart
                && self.end <= other.end
                && other.hidden.iter().all(hides))
    }
}

/// A transaction as the server numbers it, after how many starts of the server.
pub(super) type Number = (i64, i64);

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(restart: i64, xmin: i64, xmax: i64, running: &[i64]) -> Shape {
        let snapshot = Snapshot { xmin, xmax, in_progress: running.to_vec() };
        Shape::new(restart, &snapshot).unwrap()
    }

    #[test]
    fn the_more_a_snapshot_shows_the_later_it_was_taken() {
        // 10 runs, 11 ends, 10 ends.
        let row = [
            shape(0, 10, 10, &[]),
            shape(0, 10, 12, &[10]),
            shape(0, 12, 12, &[]),
            shape(1, 11, 11, &[]),
        ];
        for pair in row.windows(2) {
            assert!(pair[0].rank < pair[1].rank && pair[0].is_within(&pair[1]), "{pair:?}");
            assert!(!pair[1].is_within(&pair[0]), "{pair:?}");
        }
        // What runs from the end on need not be named.
        assert_eq!(row[0], shape(0, 10, 11, &[10]));
        assert!(row[3].shows((0, 11)) && !row[3].shows((1, 11)));
        assert!(row[3].rank < Shape::end_of(1).rank && row[2].rank < Shape::end_of(0).rank);
        assert!(Shape::end_of(0).rank < row[3].rank);
    }

    #[test]
    fn numbers_that_no_server_gives_have_no_place() {
        for (restart, xmax) in [(-1, 5), (0, -5), (0, i64::MAX), (1 << 20, 5)] {
            let snapshot = Snapshot { xmin: xmax, xmax, in_progress: Vec::new() };
            assert_eq!(Shape::new(restart, &snapshot), None);
        }
    }
}
