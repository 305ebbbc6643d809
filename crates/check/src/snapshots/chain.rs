//! Snapshots of one server in one row, and commits between them.
//!
//! A server takes every snapshot, and ends every transaction, under one lock. So of two snapshots one shows all
//! that the other shows: they stand in a row, each with what became visible since the one before it. A commit
//! stands before the first snapshot that shows it and after the last that does not. That is all that timestamps
//! would say, and so the rules of timestamps can be held against it: a snapshot is a start, and a commit is at
//! or before a start if and only if that snapshot shows it.
//!
//! Commits between the same two snapshots stand at one place: which of them came first nobody could see.

use std::cmp::Reverse;

use hashbrown::HashMap;
use isolde_history::{History, Outcome, Snapshot, TxnId, Value, names};

use crate::timestamps::ticks::Tick;

/// A snapshot as the history names it: how often the server had been started again, the row of numbers, and the
/// number that the snapshot leaves out because it is that of the transaction itself, if it has one: PostgreSQL lists all
/// that runs but the one that asks.
pub(crate) type Named = (i64, Value, Option<i64>);

/// Two snapshots of which each shows a commit that the other one lacks: by their positions, with a transaction
/// that only the first shows and one that only the second shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contradiction {
    pub(crate) snapshots: [Named; 2],
    pub(crate) shown: [TxnId; 2],
}

/// How many bits are left between two places.
const ROOM: u32 = 30;

/// All snapshots in a row.
#[derive(Default)]
pub(crate) struct SnapshotRow {
    /// Where each snapshot stands, and the first of those that show the same numbered transactions.
    places: HashMap<Named, (Tick, Tick)>,
    /// Where each transaction committed; [`Tick::NEVER`] if it has no number.
    pub(crate) commits: Vec<Tick>,
    /// Snapshots that do not fit into one row.
    pub(crate) contradictions: Vec<Contradiction>,
}

/// Transactions with numbers between two starts of the server, by their numbers.
#[derive(Default)]
struct Numbered {
    all: Vec<(i64, TxnId)>,
}

/// What a snapshot shows of the numbered transactions: the first so many, but for some.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shown {
    /// All before this index, ...
    first: usize,
    /// ... but for these, ascending and all below it.
    but: Vec<u32>,
}

/// A snapshot on its way into the row.
struct Placed {
    named: Named,
    shown: Shown,
    /// Of those that show the same, the order in which they were taken: the first number that had not been given
    /// away grows, and then what was running ends. Between two of them, transactions may have committed whose
    /// numbers the history does not have.
    taken: (i64, Reverse<usize>),
}

impl SnapshotRow {
    /// Puts snapshots in a row. None of them may be unreadable.
    pub(crate) fn new(history: &History, named: &[Named]) -> SnapshotRow {
        let numbered = numbered(history);
        let mut restarts: Vec<i64> =
            numbered.keys().copied().chain(named.iter().map(|n| n.0)).collect();
        restarts.sort_unstable();
        restarts.dedup();
        let mut chain = SnapshotRow {
            places: HashMap::with_capacity(named.len()),
            commits: vec![Tick::NEVER; history.txn_count()],
            ..SnapshotRow::default()
        };
        let none = Numbered::default();
        // Everything before a restart had ended by then.
        let mut next = 0;
        for restart in restarts {
            let of = numbered.get(&restart).unwrap_or(&none);
            let mut row = of.placed(history, named.iter().filter(|n| n.0 == restart));
            row.sort_by(|a, b| {
                let key = |p: &Placed| (p.shown.count(), p.taken, p.named);
                key(a).cmp(&key(b))
            });
            next = chain.add(of, &row, next);
        }
        chain
    }

    /// Adds the snapshots between two starts of the server. Odd ticks are snapshots, even ones commits.
    fn add(&mut self, of: &Numbered, row: &[Placed], first: i64) -> i64 {
        let mut at = first;
        let mut before = Shown { first: 0, but: Vec::new() };
        let mut same = tick(at);
        for (i, placed) in row.iter().enumerate() {
            if let Some(index) = before.beyond(&placed.shown)
                && let Some(previous) = i.checked_sub(1).map(|i| &row[i])
                && let Some(other) = placed.shown.beyond(&before)
            {
                let snapshots = [previous.named, placed.named];
                let shown = [of.all[index].1, of.all[other].1];
                self.contradictions.push(Contradiction { snapshots, shown });
            }
            if i == 0 || placed.shown != before {
                at += 2;
                same = tick(at + 1);
            } else if placed.taken != row[i - 1].taken {
                at += 2;
            }
            for index in placed.shown.since(&before) {
                let commit = &mut self.commits[of.all[index].1.index()];
                if *commit == Tick::NEVER {
                    *commit = tick(at);
                }
            }
            self.places.insert(placed.named, (tick(at + 1), same));
            before = placed.shown.clone();
        }
        // What no snapshot shows was committed after the last of them.
        at += 2;
        for (_, txn) in &of.all {
            let commit = &mut self.commits[txn.index()];
            if *commit == Tick::NEVER {
                *commit = tick(at);
            }
        }
        at
    }

    /// Where a snapshot stands.
    pub(crate) fn place(&self, named: Named) -> Tick {
        self.places.get(&named).map_or(Tick::NEVER, |place| place.0)
    }

    /// Where the first snapshot stands that shows the same numbered transactions.
    pub(crate) fn first_place(&self, named: Named) -> Tick {
        self.places.get(&named).map_or(Tick::NEVER, |place| place.1)
    }
}

/// Ticks have room between them, for commits of which no number says where they stand.
fn tick(at: i64) -> Tick {
    Tick(at << ROOM)
}

/// How often the server had been started again before each transaction.
pub(crate) struct Restarts(Vec<i64>);

impl Restarts {
    pub(crate) fn of(history: &History) -> Restarts {
        let mut told = history.txn_ints(names::RESTART).peekable();
        let mut all = Vec::new();
        // Most histories know of none.
        if told.peek().is_some() {
            all.resize(history.txn_count(), 0);
        }
        told.for_each(|(txn, restart)| all[txn.index()] = restart);
        Restarts(all)
    }

    pub(crate) fn before(&self, txn: TxnId) -> i64 {
        self.0.get(txn.index()).copied().unwrap_or(0)
    }
}

/// The numbered transactions that may have committed, by restart.
fn numbered(history: &History) -> HashMap<i64, Numbered> {
    let outcomes = history.txn_outcomes();
    let restarts = Restarts::of(history);
    let mut all: HashMap<i64, Numbered> = HashMap::new();
    for (txn, id) in history.txn_ints(names::XID) {
        if outcomes[txn.index()] != Outcome::Aborted {
            all.entry(restarts.before(txn)).or_default().all.push((id, txn));
        }
    }
    for numbered in all.values_mut() {
        numbered.all.sort_unstable();
    }
    all
}

impl Numbered {
    fn placed<'n>(&self, history: &History, named: impl Iterator<Item = &'n Named>) -> Vec<Placed> {
        let read = |named: &Named| {
            let snapshot = Snapshot::from_value(history.pool(), named.1)?;
            let xmax = snapshot.xmax.max(snapshot.xmin);
            let hidden = snapshot.in_progress.iter();
            let hidden = hidden.filter(|id| (snapshot.xmin..xmax).contains(id)).count();
            let taken = (xmax, Reverse(hidden));
            Some(Placed { named: *named, shown: self.shown(&snapshot, named.2), taken })
        };
        named.filter_map(read).collect()
    }

    fn shown(&self, snapshot: &Snapshot, own: Option<i64>) -> Shown {
        let below = |id: i64| self.all.partition_point(|(other, _)| *other < id);
        let mut first = below(snapshot.xmax.max(snapshot.xmin));
        // A number that a broken history has twice is hidden each time.
        let of = |id: i64| below(id)..self.all.partition_point(|(other, _)| *other <= id);
        let running = snapshot.in_progress.iter().filter(|id| **id >= snapshot.xmin);
        let running = running.chain(&own);
        let mut but: Vec<u32> = running.flat_map(|id| of(*id)).map(|at| at as u32).collect();
        but.sort_unstable();
        but.dedup();
        but.retain(|at| (*at as usize) < first);
        // One form for one set: the last of the first so many is shown.
        while but.last().is_some_and(|last| *last as usize + 1 == first) {
            but.pop();
            first -= 1;
        }
        Shown { first, but }
    }
}

impl Shown {
    /// How many transactions are shown.
    fn count(&self) -> usize {
        self.first - self.but.len()
    }

    fn shows(&self, at: usize) -> bool {
        at < self.first && self.but.binary_search(&(at as u32)).is_err()
    }

    /// One that this shows and another one does not.
    fn beyond(&self, other: &Shown) -> Option<usize> {
        let hidden = other.but.iter().map(|at| *at as usize).find(|at| self.shows(*at));
        // The last of the first so many is shown.
        hidden.or_else(|| (self.first > other.first).then(|| self.first - 1))
    }

    /// Those that this shows and the one before it in the row does not.
    fn since<'s>(&'s self, before: &'s Shown) -> impl Iterator<Item = usize> + 's {
        let old = before.but.iter().map(|at| *at as usize);
        let new = before.first..self.first.max(before.first);
        old.chain(new).filter(|at| self.shows(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::notation::parse;

    /// The row as text: commits by the names of their transactions, snapshots as bars.
    fn row(text: &str) -> String {
        let history = parse(text).unwrap();
        let restarts = Restarts::of(&history);
        let named = history.txn_attrs(names::SNAPSHOT);
        let mut named: Vec<Named> =
            named.map(|(txn, value)| (restarts.before(txn), value, None)).collect();
        named.sort_unstable();
        named.dedup();
        let chain = SnapshotRow::new(&history, &named);
        let mut events: Vec<(Tick, String)> =
            named.iter().map(|n| (chain.place(*n), "|".into())).collect();
        for txn in history.txns() {
            let commit = chain.commits[txn.id().index()];
            if commit != Tick::NEVER {
                events.push((commit, txn.xid().unwrap().to_string()));
            }
        }
        events.sort();
        events.dedup();
        let told: Vec<String> = events.into_iter().map(|(_, text)| text).collect();
        let wrong = if chain.contradictions.is_empty() { "" } else { " !" };
        told.join(" ") + wrong
    }

    fn snapshot(text: &str) -> String {
        let parts: Vec<&str> = text.split(':').collect();
        format!("snapshot={{xmin:{},xmax:{},xip:[{}]}}", parts[0], parts[1], parts[2])
    }

    /// Lines of `xid snapshot`, a dash for none.
    fn lines(all: &[&str]) -> String {
        let mut out = String::new();
        for (i, line) in all.iter().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            let xid = if words[0] == "-" { String::new() } else { format!("xid={},", words[0]) };
            let restart = words.get(2).map_or(String::new(), |r| format!("restart={r},"));
            out.push_str(&format!("s{i}: w(x,{i}) {{{xid}{restart}{}}}\n", snapshot(words[1])));
        }
        out
    }

    #[test]
    fn commits_stand_before_the_first_snapshot_that_shows_them() {
        assert_eq!(row(&lines(&["10 10:10:", "11 11:11:", "- 12:12:"])), "| 10 | 11 |");
        // 10 is still running when 11 has ended. The first two snapshots show the same, and were not taken at the
        // same time.
        assert_eq!(
            row(&lines(&["10 10:10:", "11 10:11:10", "- 10:12:10", "- 12:12:"])),
            "| | 11 | 10 |"
        );
        // Nobody could see which of the two came first.
        assert_eq!(row(&lines(&["10 10:10:", "11 10:10:", "- 12:12:"])), "| 10 11 |");
    }

    #[test]
    fn numbers_are_used_again_after_a_crash() {
        let text = lines(&["10 10:10:", "11 11:11:", "11 11:11: 1", "- 12:12: 1"]);
        assert_eq!(row(&text), "| 10 | 11 | 11 |");
    }

    #[test]
    fn snapshots_that_each_show_what_the_other_lacks_are_found() {
        let text = lines(&["10 9:9:", "11 9:9:", "- 10:12:10", "- 11:12:11"]);
        assert!(row(&text).ends_with('!'), "{}", row(&text));
    }
}
