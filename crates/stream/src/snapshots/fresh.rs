//! FRESH on a stream: a snapshot shows every commit that had been confirmed before it was asked for.
//!
//! Two staircases say whether anything is wrong at all: the newest commit that was confirmed up to each time, and the
//! oldest snapshot that was asked for from each time on. Only if one of them says so are transactions looked at.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use hashbrown::HashSet;
use isolde_history::Timestamp;

use crate::bodies::TxnRef;

/// A transaction that has its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) txn: TxnRef,
    /// When its snapshot was asked for, and where that stands.
    pub(super) sent: Option<i64>,
    pub(super) start: Timestamp,
    /// If it wrote: when its commit had been confirmed for certain, and where that stands.
    pub(super) confirmed: Option<(i64, Timestamp)>,
}

/// What was asked for and confirmed when.
#[derive(Default)]
pub(super) struct Fresh {
    asked: BTreeMap<(i64, TxnRef), Timestamp>,
    /// By when they were asked for: snapshots that are older than all that were asked for later.
    oldest: BTreeMap<i64, Timestamp>,
    /// By when they were confirmed: commits that are newer than all that were confirmed earlier.
    newest: BTreeMap<i64, (Timestamp, TxnRef)>,
    told: HashSet<TxnRef>,
    /// Up to when what was asked for, and what was confirmed, is forgotten.
    asked_forgotten: Option<i64>,
    confirmed_forgotten: Option<i64>,
    /// How many transactions are kept.
    kept: usize,
}

/// What is wrong.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Stale {
    /// Transactions, each with a commit that its snapshot misses.
    pub(super) found: Vec<(TxnRef, TxnRef)>,
    /// Whether something may be wrong that is not kept any more.
    pub(super) doubt: bool,
}

impl Fresh {
    /// No transactions yet; so many are going to be kept.
    pub(super) fn new(kept: usize) -> Fresh {
        Fresh { kept, ..Fresh::default() }
    }

    /// From now on so many transactions are kept.
    pub(super) fn limit(&mut self, kept: usize) {
        self.kept = kept;
    }

    /// A transaction has got its place.
    pub(super) fn add(&mut self, settled: &Settled) -> Stale {
        let mut stale = Stale::default();
        if let Some(sent) = settled.sent {
            self.look_back(sent, settled, &mut stale);
        }
        if let Some((confirmed, commit)) = settled.confirmed {
            self.look_ahead(confirmed, commit, settled.txn, &mut stale);
            self.note_confirmed(confirmed, commit, settled.txn);
        }
        if let Some(sent) = settled.sent {
            self.note_asked(sent, settled);
        }
        self.forget();
        stale
    }

    /// What had been confirmed when a snapshot was asked for.
    fn look_back(&mut self, sent: i64, settled: &Settled, stale: &mut Stale) {
        stale.doubt |= self.confirmed_forgotten.is_some_and(|until| sent <= until);
        let missed = self.newest.range(..sent).next_back().map(|(_, newest)| *newest);
        if let Some((_, writer)) = missed.filter(|(commit, _)| *commit > settled.start) {
            self.told.insert(settled.txn);
            stale.found.push((settled.txn, writer));
        }
    }

    /// Which snapshots were asked for when a commit had been confirmed.
    fn look_ahead(&mut self, confirmed: i64, commit: Timestamp, txn: TxnRef, stale: &mut Stale) {
        stale.doubt |= self.asked_forgotten.is_some_and(|until| confirmed < until);
        let oldest = self.oldest.range((Excluded(confirmed), Unbounded)).next();
        if oldest.is_none_or(|(_, start)| *start >= commit) {
            return;
        }
        let from = (confirmed, TxnRef::new(u32::MAX, isolde_history::TxnId(u32::MAX)));
        for ((_, reader), start) in self.asked.range((Excluded(from), Unbounded)) {
            if *start < commit && *reader != txn && self.told.insert(*reader) {
                stale.found.push((*reader, txn));
            }
        }
    }

    fn note_confirmed(&mut self, confirmed: i64, commit: Timestamp, txn: TxnRef) {
        let before = self.newest.range(..=confirmed).next_back();
        if before.is_some_and(|(_, (newest, _))| *newest >= commit) {
            return;
        }
        while let Some((&at, (newest, _))) = self.newest.range(confirmed..).next()
            && *newest <= commit
        {
            self.newest.remove(&at);
        }
        self.newest.insert(confirmed, (commit, txn));
    }

    fn note_asked(&mut self, sent: i64, settled: &Settled) {
        self.asked.insert((sent, settled.txn), settled.start);
        let after = self.oldest.range(sent..).next();
        if after.is_some_and(|(_, oldest)| *oldest <= settled.start) {
            return;
        }
        while let Some((&at, oldest)) = self.oldest.range(..=sent).next_back()
            && *oldest >= settled.start
        {
            self.oldest.remove(&at);
        }
        self.oldest.insert(sent, settled.start);
    }

    fn forget(&mut self) {
        while self.asked.len() > self.kept
            && let Some(((sent, txn), _)) = self.asked.pop_first()
        {
            self.told.remove(&txn);
            self.asked_forgotten = self.asked_forgotten.max(Some(sent));
            while let Some(first) = self.oldest.first_entry()
                && *first.key() <= sent
            {
                first.remove();
            }
        }
        // What was confirmed later is newer: it only matters for what was asked for in between.
        while self.newest.len() > self.kept && self.newest.pop_first().is_some() {
            let until = self.newest.first_key_value().map(|(at, _)| *at);
            self.confirmed_forgotten = self.confirmed_forgotten.max(until);
        }
    }

    /// The bytes that it takes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        let entries = self.asked.len() + self.oldest.len() + self.newest.len() + self.told.len();
        entries * 2 * size_of::<(i64, TxnRef, Timestamp)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::TxnId;

    /// What is found is what two loops over all transactions find, in any order in which they come.
    #[test]
    fn staircases_find_what_two_loops_find() {
        let mut state = 11_u64;
        let mut below = move |end: u64| {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            (state >> 33) % end
        };
        for _ in 0..3_000 {
            let count = 1 + below(7);
            let all: Vec<Settled> = (0..count)
                .map(|i| {
                    let confirmed = (below(12) as i64, Timestamp::plain(1 + below(12) as i64));
                    Settled {
                        txn: TxnRef::new(0, TxnId(i as u32)),
                        sent: (below(8) > 0).then(|| below(12) as i64),
                        start: Timestamp::plain(below(12) as i64),
                        confirmed: (below(3) > 0).then_some(confirmed),
                    }
                })
                .collect();
            let stale = |t: &&Settled| {
                all.iter().any(|w| {
                    let missed = w.confirmed.is_some_and(|(at, commit)| {
                        t.sent.is_some_and(|sent| at < sent) && commit > t.start
                    });
                    w.txn != t.txn && missed
                })
            };
            let expected: Vec<TxnRef> = all.iter().filter(stale).map(|t| t.txn).collect();
            let mut fresh = Fresh::new(1 << 16);
            let mut found: Vec<TxnRef> = Vec::new();
            for settled in &all {
                found.extend(fresh.add(settled).found.iter().map(|(txn, _)| *txn));
            }
            found.sort_unstable();
            assert_eq!(found, expected, "{all:?}");
        }
    }
}
