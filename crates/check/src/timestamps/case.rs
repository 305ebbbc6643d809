//! One question by timestamps: the keys, the ticks, and where each transaction stands.

use std::sync::Arc;

use isolde_history::{History, OpKind, TxnId, Value};
use isolde_spec::{By, Promise};

use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::Standing;
use crate::timestamps::rules::{Ordering, Place, Stamps};
use crate::timestamps::supply::{self, wrote};
use crate::timestamps::ticks::{Tick, Ticks};

/// Where each transaction stands in the order of timestamps.
pub(crate) struct Places {
    pub(crate) ordering: Ordering,
    pub(crate) ticks: Ticks,
    /// In commit order: up to when each transaction sees commits. (A snapshot shows them up to the start.)
    limits: Vec<Tick>,
}

impl Places {
    pub(crate) fn new(history: &History, promise: Promise) -> Places {
        let ordering = supply::ordering(history, promise.level);
        let ticks = Ticks::new(history);
        let limits = match ordering {
            Ordering::Snapshots => Vec::new(),
            Ordering::Commits { .. } => {
                let limit = |id: u32| limit(history, ordering, &ticks, TxnId(id));
                (0..history.txn_count() as u32).map(limit).collect()
            }
        };
        Places { ordering, ticks, limits }
    }

    /// Where transactions with snapshots stand.
    pub(crate) fn of_snapshots(ticks: Ticks) -> Places {
        Places { ordering: Ordering::Snapshots, ticks, limits: Vec::new() }
    }

    /// Up to when each transaction sees commits.
    pub(crate) fn limits(&self) -> &[Tick] {
        match self.ordering {
            Ordering::Snapshots => &self.ticks.start,
            Ordering::Commits { .. } => &self.limits,
        }
    }
}

/// One question by timestamps.
pub(crate) struct TimedCase<'h> {
    /// The keys that are looked at.
    pub(crate) keys: Arc<SortedKeys<'h>>,
    pub(crate) promise: Promise,
    pub(crate) ordering: Ordering,
    /// Which transactions count. Those of unknown outcome do if a commit point was found for them.
    pub(crate) standings: Vec<Standing>,
    pub(crate) ticks: Ticks,
    limits: Vec<Tick>,
    /// Transactions of unknown outcome for which commit points are looked for, ascending.
    pub(crate) open: Vec<TxnId>,
    /// Whether the history holds every transaction that ran.
    pub(crate) complete: bool,
    /// Whether keys were deleted.
    pub(crate) deletes: bool,
}

impl<'h> TimedCase<'h> {
    pub(crate) fn new(
        keys: Arc<SortedKeys<'h>>,
        promise: Promise,
        standings: Vec<Standing>,
        places: Places,
        complete: bool,
    ) -> TimedCase<'h> {
        let Places { ordering, ticks, limits } = places;
        let open = Vec::new();
        let deletes = keys.history.has_ops(OpKind::Delete);
        TimedCase { keys, promise, ordering, standings, ticks, limits, open, complete, deletes }
    }

    /// Up to when a transaction sees commits.
    #[inline]
    pub(crate) fn limit(&self, txn: TxnId) -> Tick {
        match self.ordering {
            Ordering::Snapshots => self.ticks.start_of(txn),
            Ordering::Commits { .. } => self.limits[txn.index()],
        }
    }

    /// In commit order, where a transaction that wrote stands: it does not see what was committed just then.
    pub(crate) fn exclusive_place(&self, txn: TxnId) -> Option<Tick> {
        let at = self.ticks.commit_of(txn);
        let below = Tick(at.0.wrapping_sub(1));
        let exclusive = matches!(self.ordering, Ordering::Commits { .. })
            && at != Tick::NEVER
            && self.limit(txn) == below;
        exclusive.then_some(at)
    }

    /// Says when a transaction of unknown outcome committed.
    pub(crate) fn set_commit(&mut self, txn: TxnId, commit: Tick) {
        self.ticks.commit[txn.index()] = commit;
        if let Ordering::Commits { .. } = self.ordering {
            self.limits[txn.index()] = limit(self.keys.history, self.ordering, &self.ticks, txn);
        }
    }

    /// Where a transaction stands, for the rules.
    pub(crate) fn place_of(&self, txn: TxnId) -> Place<Tick> {
        Place { at: self.limit(txn), inclusive: true }
    }

    #[inline]
    pub(crate) fn counts(&self, txn: TxnId) -> bool {
        self.standings[txn.index()].counts()
    }

    /// Whether a commit point of the transaction is still looked for.
    #[inline]
    pub(crate) fn is_open(&self, txn: TxnId) -> bool {
        !self.open.is_empty() && self.open.binary_search(&txn).is_ok()
    }

    /// The timestamps of a transaction.
    pub(crate) fn stamps(&self, txn: TxnId) -> Stamps<Tick> {
        let (start, commit) = (self.ticks.start_of(txn), self.ticks.commit_of(txn));
        Stamps { start: start.known(), commit: commit.known() }
    }

    /// Whether it is the server's snapshots that say what each transaction sees.
    pub(crate) fn by_snapshots(&self) -> bool {
        self.promise.by == By::Snapshots
    }

    /// Whether the recorder gave any version order that has to be that of the timestamps. The order that a
    /// recorder has from snapshots says no more than they do.
    pub(crate) fn given_orders(&self) -> bool {
        !self.by_snapshots() && !self.keys.given.is_empty()
    }

    /// The version order of a key that the recorder gave.
    pub(crate) fn given_order(&self, key: usize) -> Option<&'h [Value]> {
        let at = *self.keys.given.get(&key)?;
        self.keys.history.version_orders().get(at).map(|(_, values)| values.as_slice())
    }
}

/// Up to when a transaction sees commits, in commit order. Ticks have room between them, so that the time
/// just before one is no other's.
fn limit(history: &History, ordering: Ordering, ticks: &Ticks, txn: TxnId) -> Tick {
    let wrote = wrote(&history.txn(txn));
    let (start, commit) = (ticks.start_of(txn).known(), ticks.commit_of(txn).known());
    match (Stamps { start, commit }).place(ordering, wrote) {
        Some(place) if place.inclusive => place.at,
        Some(place) => Tick(place.at.0 - 1),
        None => Tick::NEVER,
    }
}
