//! The part that is right: versions of rows, snapshots, locks, and the one clock of them all.

use std::collections::{BTreeMap, HashMap};

use isolde_history::ErrorClass;

use crate::failure::{After, Failure};

/// A row: the number of its table, and its own.
pub(super) type Key = (u32, u32);

/// What a row holds: one integer if it is a register, any number if it is a list; nothing if it is not
/// there.
pub(super) type RowValue = Option<Vec<i64>>;

/// What a row held from some commit on.
#[derive(Clone, Debug)]
struct Version {
    /// When it was committed.
    at: u64,
    cell: RowValue,
}

/// All rows, each with the versions that a transaction may still want to see, oldest first.
#[derive(Default, Debug)]
pub(super) struct Store {
    rows: HashMap<Key, Vec<Version>>,
    /// Which transaction is about to write which row. None waits: the second one has a conflict.
    locks: HashMap<Key, u64>,
    /// What happened last: every snapshot and every commit has a time of its own.
    clock: u64,
    /// How many transactions look at each snapshot.
    watched: BTreeMap<u64, u32>,
}

impl Store {
    /// The time of what happened last, which shows all that is committed.
    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    /// A time that nothing else has, after all others.
    pub(super) fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Keeps what a snapshot shows.
    pub(super) fn watch(&mut self, snapshot: u64) {
        *self.watched.entry(snapshot).or_default() += 1;
    }

    /// Lets go of it.
    pub(super) fn unwatch(&mut self, snapshot: u64) {
        if let Some(count) = self.watched.get_mut(&snapshot) {
            *count -= 1;
            if *count == 0 {
                self.watched.remove(&snapshot);
            }
        }
    }

    /// What a row held at a snapshot.
    pub(super) fn read(&self, key: Key, snapshot: u64) -> RowValue {
        let versions = self.rows.get(&key)?;
        let seen = versions.partition_point(|v| v.at <= snapshot);
        versions[..seen].last()?.cell.clone()
    }

    /// Whether a row was written after a snapshot.
    pub(super) fn changed_since(&self, key: Key, snapshot: u64) -> bool {
        self.rows.get(&key).and_then(|versions| versions.last()).is_some_and(|v| v.at > snapshot)
    }

    /// Announces a write. One writer a row, so that no other transaction commits between a read and a
    /// write of the same statement.
    pub(super) fn lock(&mut self, key: Key, txn: u64) -> Result<(), Failure> {
        if *self.locks.entry(key).or_insert(txn) == txn {
            return Ok(());
        }
        let message = "another transaction is writing the row";
        let failure = Failure::conflict(After::Open, "locked", message);
        Err(failure.with_class(ErrorClass::LockTimeout))
    }

    /// Lets go of a row.
    pub(super) fn unlock(&mut self, key: Key, txn: u64) {
        if self.locks.get(&key) == Some(&txn) {
            self.locks.remove(&key);
        }
    }

    /// Commits writes, all at once. The time of the commit.
    pub(super) fn install(&mut self, writes: impl IntoIterator<Item = (Key, RowValue)>) -> u64 {
        let at = self.tick();
        let oldest = self.watched.keys().next().copied().unwrap_or(at);
        for (key, cell) in writes {
            let versions = self.rows.entry(key).or_default();
            versions.push(Version { at, cell });
            // Of those that are as old as the oldest snapshot, only the newest can be seen.
            let old = versions.partition_point(|v| v.at <= oldest);
            versions.drain(..old.saturating_sub(1));
        }
        at
    }

    /// Forgets tables.
    pub(super) fn forget(&mut self, tables: &[u32]) {
        self.rows.retain(|(table, _), _| !tables.contains(table));
    }
}
