//! The course of a run: how many transactions ended when, and what was done to the servers meanwhile.

mod lanes;
mod times;

pub(crate) use lanes::{Lane, kinds, when};
pub(crate) use times::Scale;

use isolde_history::{Clock, History, Interval, Outcome};
use isolde_spec::{Counted, Verdict};

/// How many stretches of time there are at most and at least.
const BINS: usize = 120;
const LEAST_BINS: usize = 20;

/// How many transactions ended in a stretch of time, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) unknown: u64,
    /// How many violations become visible with a transaction that ended in it.
    pub(crate) violations: u64,
}

/// A run from its first transaction to its last.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) scale: Scale,
    pub(crate) bins: Vec<Bin>,
    /// What happened, a row for each kind.
    pub(crate) lanes: Vec<Lane>,
}

impl Course {
    /// The course of a history that has events and times in nanoseconds.
    pub(crate) fn of(history: &History, shown: Option<&Verdict>) -> Option<Course> {
        if history.faults().next().is_none() || history.meta().clock != Clock::Nanoseconds {
            return None;
        }
        let scale = Scale::of(history)?;
        let count = history.txn_count().clamp(LEAST_BINS, BINS);
        let mut bins = vec![Bin::default(); count];
        for txn in history.txns() {
            let Some(time) = moment(txn.interval(), txn.outcome()) else { continue };
            let Some(bin) = bins.get_mut(scale.bin(time, count)) else { continue };
            match txn.outcome() {
                Outcome::Committed => bin.committed += 1,
                Outcome::Aborted => bin.aborted += 1,
                Outcome::Unknown => bin.unknown += 1,
            }
        }
        for position in shown.into_iter().flat_map(places) {
            // A position is from 1 to the number of transactions.
            let at = (*position as usize).checked_sub(1).filter(|at| *at < history.txn_count());
            let txn = at.and_then(|at| u32::try_from(at).ok());
            let Some(txn) = txn.map(|at| history.txn(isolde_history::TxnId(at))) else { continue };
            let time = moment(txn.interval(), txn.outcome());
            if let Some(bin) = time.and_then(|time| bins.get_mut(scale.bin(time, count))) {
                bin.violations += 1;
            }
        }
        let lanes = lanes::of(history, &scale);
        Some(Course { scale, bins, lanes })
    }

    /// How many seconds a bin is long.
    pub(crate) fn bin_seconds(&self) -> f64 {
        self.scale.span() as f64 / 1e9 / self.bins.len().max(1) as f64
    }
}

/// Where violations are: those that were counted and, if the search for cycles stopped early, the
/// transactions that are in cycles instead of them.
fn places(verdict: &Verdict) -> Vec<&u32> {
    let in_cycles = verdict.procedure.places.first().filter(|(_, places)| !places.is_empty());
    let sampled = |c: &&Counted| c.at_least && in_cycles.is_some();
    let exact = verdict.counts.iter().filter(|c| !sampled(c)).flat_map(|c| &c.positions);
    let others = verdict.counts.iter().any(|c| sampled(&c));
    exact.chain(in_cycles.filter(|_| others).into_iter().flat_map(|(_, p)| p)).collect()
}

/// When a transaction is counted: at its end, or at its begin if its outcome is unknown.
fn moment(Interval { begin, end }: Interval, outcome: Outcome) -> Option<i64> {
    if outcome == Outcome::Unknown { begin.or(end) } else { end.or(begin) }
}

#[cfg(test)]
mod tests {
    use isolde_history::notation::parse;

    use super::*;

    fn course(text: &str) -> Option<Course> {
        Course::of(&parse(text).unwrap(), None)
    }

    #[test]
    fn transactions_are_counted_where_they_end() {
        let text = "event kill @[20,40] n1\na: w(x,1) @[0,9]\na: w(x,2) abort @[10,50]\n\
            b: w(x,3) unknown @[60,_]\na: w(x,4) @[60,100]\n";
        let course = course(text).unwrap();
        assert_eq!(course.bins.len(), LEAST_BINS);
        let at = |bin: usize| course.bins[bin];
        assert_eq!(at(1).committed, 1, "5 ns each");
        assert_eq!(at(10).aborted, 1);
        assert_eq!(at(12).unknown, 1);
        assert_eq!(at(19).committed, 1, "the last moment is of the last bin");
        assert_eq!(course.lanes[0].name, "kill n1");
        assert_eq!((course.lanes[0].spans[0].from, course.lanes[0].spans[0].to), (0.2, 0.4));
    }

    #[test]
    fn without_times_or_events_there_is_none() {
        assert!(course("a: w(x,1) @[0,9]\n").is_none());
        assert!(course("event kill @[1,2]\na: w(x,1)\n").is_none());
        assert!(course("clock events\nevent kill @[1,2]\na: w(x,1) @[0,9]\n").is_none());
    }

    #[test]
    fn extreme_times_do_no_harm() {
        let (low, high) = (i64::MIN + 1, i64::MAX);
        let text = format!(
            "event kill @[{low},{high}]\nevent kill @[{high},_]\nevent heal @[_,{low}]\n\
             event odd @[9,2]\nevent never\na: w(x,1) @[{low},{high}]\nb: w(x,2) @[5,5]\n"
        );
        let course = course(&text).unwrap();
        assert_eq!(course.bins.iter().map(|bin| bin.committed).sum::<u64>(), 2);
        let all = course.lanes.iter().flat_map(|lane| &lane.spans);
        assert!(all.clone().count() >= 3);
        assert!(all.into_iter().all(|span| (0.0..=1.0).contains(&span.from) && span.to <= 1.0));
        assert!(
            Course::of(&parse("event kill @[7,7]\na: w(x,1) @[7,7]\n").unwrap(), None).is_some()
        );
    }

    #[test]
    fn many_short_events_become_few_bands() {
        let mut text = "a: w(x,1) @[0,1000000]\n".to_owned();
        for at in 0..5000 {
            text += &format!("event drop @[{},_] \"session {}\"\n", at * 100, at % 50);
            text += &format!("event odd{at} @[{at},_]\n");
        }
        let course = course(&text).unwrap();
        assert_eq!((course.lanes[0].name.as_str(), course.lanes[0].count), ("drop", 5000));
        assert!(course.lanes.len() <= lanes::MOST_LANES);
        assert!(course.lanes.iter().all(|lane| lane.spans.len() <= 401));
        assert_eq!(course.lanes.iter().map(|lane| lane.count).sum::<u64>(), 10_000);
    }
}
