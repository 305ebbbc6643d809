//! In which order the rows of several transactions stand.
//!
//! Times of the clients' clocks, or of the server's, are kept wherever they are known. Between them nothing was recorded:
//! there an order is taken in which a value is written before it is read, and read before it is
//! overwritten, if there is one. That makes a picture of how it may have happened, not of how it did.

use std::collections::HashMap;

use isolde_history::{OpId, Timestamp};
use isolde_spec::Edges;

use super::sources::Sources;
use super::{Basis, Link, Part, Row, What};

/// A row of a lane.
type Place = (usize, usize);

/// Merges what each transaction did.
pub(super) fn merge(
    clock: Basis,
    parts: &[Part],
    lanes: Vec<Vec<Row>>,
    links: &[Link],
    sources: &Sources<'_>,
) -> Vec<Row> {
    let mut merger = Merger::new(clock, parts, lanes, links, sources);
    let total: usize = merger.lanes.iter().map(Vec::len).sum();
    (0..total).filter_map(|_| merger.next()).collect()
}

struct Merger {
    lanes: Vec<Vec<Row>>,
    /// How many rows of each lane have been taken.
    taken: Vec<usize>,
    /// The last time that a lane has shown: what follows it is not earlier.
    since: Vec<Option<Timestamp>>,
    /// The lanes in the order of the history.
    order: Vec<usize>,
    /// What must be taken before a row: by lane and row.
    after: HashMap<Place, Vec<Place>>,
}

impl Merger {
    fn new(
        clock: Basis,
        parts: &[Part],
        lanes: Vec<Vec<Row>>,
        links: &[Link],
        sources: &Sources<'_>,
    ) -> Merger {
        let ties = if clock == Basis::Timestamps { at_one_time(&lanes) } else { Vec::new() };
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|at| parts[*at].txn);
        let mut after: HashMap<Place, Vec<Place>> = HashMap::new();
        let linked = links.iter().filter_map(|link| before(&lanes, link));
        let by_values = by_values(parts, &lanes, sources);
        for (first, second) in linked.chain(by_values).chain(ties) {
            if !surely_before(&lanes, second, first) {
                after.entry(second).or_default().push(first);
            }
        }
        let mut last_of: HashMap<&str, usize> = HashMap::new();
        for &at in &order {
            if let Some(previous) = last_of.insert(&parts[at].session, at) {
                let end = (previous, lanes[previous].len() - 1);
                if !surely_before(&lanes, (at, 0), end) {
                    after.entry((at, 0)).or_default().push(end);
                }
            }
        }
        let since = lanes.iter().map(|lane| since(clock, lane)).collect();
        let taken = vec![0; lanes.len()];
        Merger { lanes, taken, since, order, after }
    }

    fn next(&mut self) -> Option<Row> {
        let open = || self.order.iter().copied().filter(|at| self.head(*at).is_some());
        let free = open().filter(|at| !self.waits(*at)).min_by_key(|at| self.when(*at));
        // What waits until others are past its time has waited in vain.
        let due = open().filter(|at| self.waits(*at)).filter_map(|at| Some((self.latest(at)?, at)));
        let due = due.min().filter(|(latest, _)| {
            let next = free.and_then(|at| self.head(at)).and_then(|row| row.time);
            next.is_some_and(|time| time > *latest)
        });
        // Where everything waits for something else, the times decide, and else the history's order.
        let first = || open().min_by_key(|at| self.when(*at));
        let at = due.map(|(_, at)| at).or(free).or_else(first)?;
        let row = self.head(at)?.clone();
        self.taken[at] += 1;
        self.since[at] = self.since[at].max(row.time);
        Some(row)
    }

    fn head(&self, at: usize) -> Option<&Row> {
        self.lanes[at].get(self.taken[at])
    }

    /// Whether something must come first that has not.
    fn waits(&self, at: usize) -> bool {
        let first = self.after.get(&(at, self.taken[at])).into_iter().flatten();
        first.into_iter().any(|(lane, row)| *row >= self.taken[*lane])
    }

    /// The next time that a lane shows: its next row is not later.
    fn latest(&self, at: usize) -> Option<Timestamp> {
        self.lanes[at][self.taken[at]..].iter().find_map(|row| row.time)
    }

    /// When the next row of a lane happened: at its time, or not before the last known one.
    fn when(&self, at: usize) -> Option<Timestamp> {
        self.head(at).and_then(|row| row.time).max(self.since[at])
    }
}

/// From when on a lane may be shown. By the server's timestamps, a transaction that does not say when it started
/// stands where it committed.
fn since(clock: Basis, lane: &[Row]) -> Option<Timestamp> {
    let unsaid = lane.first().is_some_and(|row| row.time.is_none());
    let end = lane.last().and_then(|row| row.time);
    end.filter(|_| unsaid && clock == Basis::Timestamps)
}

/// What a dependency says about two rows: the first comes before the second.
fn before(lanes: &[Vec<Row>], link: &Link) -> Option<(Place, Place)> {
    let row = |lane: usize, op: Option<usize>| {
        let wanted = What::Op(op?);
        lanes[lane].iter().position(|row| row.what == wanted).map(|at| (lane, at))
    };
    match link.kind {
        Edges::SO | Edges::RT => Some(((link.from, lanes[link.from].len() - 1), (link.to, 0))),
        _ => row(link.from, link.from_op).zip(row(link.to, link.to_op)),
    }
}

/// What the values say: they were written before they were read, and read before their own writer
/// replaced them.
fn by_values(parts: &[Part], lanes: &[Vec<Row>], sources: &Sources<'_>) -> Vec<(Place, Place)> {
    let mut place: HashMap<OpId, Place> = HashMap::new();
    for (lane, rows) in lanes.iter().enumerate() {
        for (at, row) in rows.iter().enumerate() {
            let range = match row.what {
                What::Op(op) => op..op + 1,
                What::Folded(op, count) => op..op + count,
                _ => 0..0,
            };
            place.extend(parts[lane].ops[range].iter().map(|op| (op.op, (lane, at))));
        }
    }
    let mut orders = Vec::new();
    for (&op, &read) in &place {
        for write in sources.all_of(op) {
            orders.extend(place.get(&write).map(|write| (*write, read)));
            let next = sources.next_write(write).and_then(|next| place.get(&next));
            orders.extend(next.map(|next| (read, *next)));
        }
    }
    // The order of a map is no order.
    orders.sort_unstable();
    orders.retain(|(first, second)| first.0 != second.0);
    orders
}

/// By the server's timestamps, what ended at the very time when something else began ended first: a snapshot
/// shows what was committed at its time.
fn at_one_time(lanes: &[Vec<Row>]) -> Vec<(Place, Place)> {
    let begin = |lane: &Vec<Row>| lane.first().and_then(|row| row.time);
    let end = |lane: &Vec<Row>| lane.last().and_then(|row| row.time);
    let mut orders = Vec::new();
    for (a, first) in lanes.iter().enumerate() {
        // A transaction of one moment neither ends before another one of that moment nor begins after it.
        let Some(at) = end(first).filter(|at| begin(first) != Some(*at)) else { continue };
        let later =
            lanes.iter().enumerate().filter(|(b, other)| *b != a && begin(other) == Some(at));
        orders.extend(later.map(|(b, _)| ((a, first.len() - 1), (b, 0))));
    }
    orders
}

/// Whether the times say that one row came before another one.
fn surely_before(lanes: &[Vec<Row>], first: Place, second: Place) -> bool {
    let latest = lanes[first.0][first.1..].iter().filter_map(|row| row.time).min();
    let earliest = lanes[second.0][..=second.1].iter().filter_map(|row| row.time).max();
    latest.zip(earliest).is_some_and(|(latest, earliest)| latest < earliest)
}
