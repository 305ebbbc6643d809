//! The versions of one key in the order of their commits, and what a place shows of them.

use std::cell::RefCell;
use std::ops::Range;

use hashbrown::HashMap;
use isolde_history::{TxnId, Value};

use crate::keys::key_facts::KeyFacts;
use crate::timestamps::ticks::{Tick, Ticks};

/// A version of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedVersion {
    pub(crate) commit: Tick,
    pub(crate) start: Tick,
    pub(crate) value: Value,
    pub(crate) txn: TxnId,
    /// The last write of the transaction, an index of the key's writes.
    pub(crate) write: u32,
}

/// The versions of one key, in memory that the next key uses again.
#[derive(Default)]
pub(crate) struct Timeline {
    /// By commit, then by the order of the history.
    pub(crate) versions: Vec<TimedVersion>,
    /// Of a list: all elements in the order of versions, and where those of each version end.
    pub(crate) elements: Vec<Value>,
    pub(crate) ends: Vec<u32>,
    /// Where the last look-up ended: reads come nearly in the order of their places.
    finger: usize,
    /// How often each value is among many versions with one commit timestamp, by where they begin.
    counted: RefCell<HashMap<usize, HashMap<Value, usize>>>,
}

/// More versions with one commit timestamp than these are counted by value.
const FEW: usize = 16;

/// What a reader may have seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedValue {
    /// This value.
    This(Value),
    /// Any other one.
    NotThis(Value),
}

impl WantedValue {
    pub(crate) fn is_met_by(self, value: Value) -> bool {
        match self {
            WantedValue::This(wanted) => value == wanted,
            WantedValue::NotThis(other) => value != other,
        }
    }
}

impl Timeline {
    /// Puts the versions of a key in order.
    pub(crate) fn load(&mut self, facts: &KeyFacts, ticks: &Ticks) {
        self.versions.clear();
        self.counted.get_mut().clear();
        self.finger = 0;
        for (i, write) in facts.writes.iter().enumerate() {
            let commit = ticks.commit_of(write.txn);
            if write.is_version() && commit != Tick::NEVER {
                let start = ticks.start_of(write.txn);
                let (value, txn, write) = (write.value, write.txn, i as u32);
                self.versions.push(TimedVersion { commit, start, value, txn, write });
            }
        }
        if !self.versions.is_sorted_by_key(|v| v.commit) {
            self.versions.sort_by_key(|v| v.commit);
        }
        self.elements.clear();
        self.ends.clear();
        if facts.is_list {
            for version in &self.versions {
                let before = self.elements.len();
                let own = facts.writes[..=version.write as usize].iter().rev();
                let own = own.take_while(|w| w.txn == version.txn).filter(|w| !w.undone);
                self.elements.extend(own.map(|w| w.value));
                self.elements[before..].reverse();
                self.ends.push(self.elements.len() as u32);
            }
        }
    }

    /// How many versions were committed up to a tick. Near the last answer it takes no time.
    #[inline]
    pub(crate) fn count_until(&mut self, limit: Tick) -> usize {
        let versions = &self.versions;
        let seen = |at: usize| versions.get(at).is_some_and(|v| v.commit <= limit);
        let mut at = self.finger;
        if seen(at) {
            let mut step = 1;
            while seen(at + step) {
                at += step;
                step *= 2;
            }
            let end = (at + step).min(versions.len());
            at = at + 1 + versions[at + 1..end].partition_point(|v| v.commit <= limit);
        } else if at > 0 && !seen(at - 1) {
            let mut step = 1;
            while step <= at && !seen(at - step) {
                step *= 2;
            }
            let from = at.saturating_sub(step);
            at = from + versions[from..at].partition_point(|v| v.commit <= limit);
        }
        self.finger = at;
        at
    }

    /// The newest versions among the first so many, of which not all are the reader's own: one, or several if
    /// they have the same commit timestamp; none if the initial state is visible.
    pub(crate) fn newest(&self, count: usize, reader: TxnId) -> Range<usize> {
        let mut end = count;
        while let Some(last) = end.checked_sub(1) {
            let commit = self.versions[last].commit;
            let start = self.versions[..end].partition_point(|v| v.commit < commit);
            // A transaction has one version of a key.
            if end - start > 1 || self.versions[last].txn != reader {
                return start..end;
            }
            end = start;
        }
        0..0
    }

    /// Whether one of some versions with one commit timestamp, other than the reader's own, is as it is wanted.
    pub(crate) fn any(&self, range: Range<usize>, reader: TxnId, wanted: WantedValue) -> bool {
        let versions = &self.versions[range.clone()];
        if versions.len() <= FEW {
            return versions.iter().any(|v| v.txn != reader && wanted.is_met_by(v.value));
        }
        // Many readers may ask for the same: how often each value is among them is counted once.
        let mut counted = self.counted.borrow_mut();
        let counts = counted.entry(range.start).or_insert_with(|| {
            let mut counts: HashMap<Value, usize> = HashMap::new();
            versions.iter().for_each(|v| *counts.entry(v.value).or_default() += 1);
            counts
        });
        // Those with one commit timestamp are in the order of the history.
        let own =
            versions.binary_search_by_key(&reader, |v| v.txn).ok().map(|at| versions[at].value);
        let met = match wanted {
            WantedValue::This(value) => counts.get(&value).copied().unwrap_or(0),
            WantedValue::NotThis(value) => {
                versions.len() - counts.get(&value).copied().unwrap_or(0)
            }
        };
        met > usize::from(own.is_some_and(|own| wanted.is_met_by(own)))
    }

    /// Whether a transaction, which committed then, would be among the first so many versions itself.
    pub(crate) fn shows_itself(&self, txn: TxnId, commit: Tick, count: usize) -> bool {
        let seen = &self.versions[..count];
        let last = seen.last().is_some_and(|last| last.commit >= commit);
        let from = |seen: &[TimedVersion]| seen.partition_point(|v| v.commit < commit);
        let then = |seen: &[TimedVersion]| {
            seen[from(seen)..].iter().take_while(|v| v.commit == commit).any(|v| v.txn == txn)
        };
        commit != Tick::NEVER && last && then(seen)
    }

    /// The elements of a version of a list.
    pub(crate) fn block(&self, version: usize) -> &[Value] {
        let start = version.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.elements[start..self.ends[version] as usize]
    }

    /// The elements that the first so many versions made.
    #[inline]
    pub(crate) fn list(&self, count: usize) -> &[Value] {
        let end = count.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        &self.elements[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_from_every_other() {
        let version = |commit: i64| TimedVersion {
            commit: Tick(commit),
            start: Tick(commit - 1),
            value: Value::ABSENT,
            txn: TxnId(0),
            write: 0,
        };
        let mut timeline = Timeline::default();
        for count in 0..20 {
            timeline.versions = (0..count).map(|i| version(10 * i)).collect();
            for from in 0..=count as usize {
                for limit in -5..200 {
                    timeline.finger = from;
                    let expected = timeline.versions.partition_point(|v| v.commit.0 <= limit);
                    assert_eq!(timeline.count_until(Tick(limit)), expected, "{count} {from}");
                }
            }
        }
    }
}
