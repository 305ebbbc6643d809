//! Snapshots in a row, and commits between them.
//!
//! A commit stands just before the first snapshot that shows it. Which that is, is known when no snapshot before it can
//! come any more: so the row is swept from its beginning as far as the source has come. What comes behind that is put
//! where it belongs, as long as it does not part commits that were taken to stand at one place.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use isolde_history::Timestamp;

use super::shape::{Number, Rank, Shape};
use crate::bodies::TxnRef;
use crate::divider;

/// A snapshot in the row.
struct RowEntry {
    shape: Arc<Shape>,
    /// A transaction that has it, and whether that is certain to have committed; none of the end of a run.
    owner: Option<TxnRef>,
    certain: bool,
    /// Where those stand that see from here, and the commits that it is the first to show.
    start: Timestamp,
    commit: Timestamp,
    /// The numbers of those commits.
    placed: Vec<i64>,
}

/// What became of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Added {
    /// It is in the row.
    Placed,
    /// It and this one each show what the other does not.
    Apart(Arc<Shape>, TxnRef),
    /// It came when its place could not be had any more.
    TooLate,
}

/// The snapshots of a stream.
pub(super) struct SnapshotRow {
    entries: BTreeMap<Rank, RowEntry>,
    /// The last that was swept.
    swept: Rank,
    /// Before this nothing is kept.
    floor: Rank,
    /// Commits that no snapshot shows that was swept.
    unplaced: BTreeMap<Number, TxnRef>,
    /// All numbers of transactions that may have committed, as far as they are kept.
    numbers: BTreeMap<Number, TxnRef>,
    bytes: usize,
    /// How many snapshots are kept that have been swept.
    kept: usize,
}

impl SnapshotRow {
    /// No snapshots yet; of those that have been swept, so many are going to be kept.
    pub(super) fn new(kept: usize) -> SnapshotRow {
        SnapshotRow {
            kept,
            entries: BTreeMap::new(),
            swept: Rank::FIRST,
            floor: Rank::FIRST,
            unplaced: BTreeMap::new(),
            numbers: BTreeMap::new(),
            bytes: 0,
        }
    }
}

/// Where commits stand that a snapshot is the first to show. The logical part names a transaction that has the snapshot:
/// it parts these commits from all later ones.
fn commit_before(rank: Rank, owner: Option<TxnRef>) -> Timestamp {
    let logical = owner.map_or(i64::MIN, divider::name);
    Timestamp { logical, ..rank.start() }
}

impl SnapshotRow {
    /// From now on so many snapshots are kept that have been swept.
    pub(super) fn limit(&mut self, kept: usize) {
        self.kept = kept;
    }

    /// Adds the snapshot of a transaction.
    pub(super) fn add(&mut self, shape: &Arc<Shape>, owner: TxnRef, certain: bool) -> Added {
        let rank = shape.rank;
        if rank < self.floor {
            return Added::TooLate;
        }
        self.add_end(shape.restart);
        if let Some(same) = self.entries.get_mut(&rank) {
            if same.shape != *shape {
                return apart(same).unwrap_or(Added::TooLate);
            }
            if certain && !same.certain && rank > self.swept {
                (same.owner, same.certain) = (Some(owner), true);
            }
            return Added::Placed;
        }
        let before = self.entries.range(..rank).next_back().map(|(_, entry)| entry);
        let after = self.entries.range(rank..).next().map(|(_, entry)| entry);
        let earlier = before.filter(|entry| !entry.shape.is_within(shape));
        let later = after.filter(|entry| !shape.is_within(&entry.shape));
        if let Some(other) = earlier.or(later) {
            return apart(other).unwrap_or(Added::TooLate);
        }
        let place = before.map(|entry| entry.start);
        let start = rank.start();
        let commit = commit_before(rank, Some(owner));
        let (shape, owner) = (shape.clone(), Some(owner));
        let mut entry = RowEntry { shape, owner, certain, start, commit, placed: Vec::new() };
        if rank < self.swept && !self.join(&mut entry, place) {
            return Added::TooLate;
        }
        self.bytes += entry.bytes();
        self.entries.insert(rank, entry);
        Added::Placed
    }

    /// Puts a late snapshot between two that have been swept: `false` if it parts commits that stand at one place.
    fn join(&mut self, late: &mut RowEntry, before: Option<Timestamp>) -> bool {
        let Some((_, next)) = self.entries.range_mut(late.shape.rank..).next() else {
            return true;
        };
        let of = |number: &i64| (next.shape.restart, *number);
        let shown = next.placed.iter().filter(|number| late.shape.shows(of(number))).count();
        let none = shown == 0 && before != Some(next.start);
        if none {
            return true;
        }
        if shown < next.placed.len() {
            return false;
        }
        // It shows what the next one shows, so it stands there.
        late.placed = std::mem::take(&mut next.placed);
        (late.start, late.commit) = (next.start, next.commit);
        true
    }

    /// What no snapshot shows before the server is started again stands behind all of them.
    fn add_end(&mut self, restart: i64) {
        let shape = Shape::end_of(restart);
        let rank = shape.rank;
        self.entries.entry(rank).or_insert_with(|| RowEntry {
            shape: Arc::new(shape),
            owner: None,
            certain: false,
            start: rank.start(),
            commit: commit_before(rank, None),
            placed: Vec::new(),
        });
    }

    /// Notes the number of a transaction that may have committed: `false` if another one has it.
    pub(super) fn number(&mut self, number: Number, txn: TxnRef) -> bool {
        self.numbers.insert(number, txn).is_none()
    }

    /// Where a commit stands; `Ok(None)` if that is not known yet, an error if it cannot be known any more.
    pub(super) fn commit(
        &mut self,
        number: Number,
        txn: TxnRef,
        own: &Shape,
    ) -> Result<Option<Timestamp>, ()> {
        let shown = |entry: &RowEntry| entry.shape.shows(number);
        if !self.entries.get(&self.swept).is_some_and(shown) {
            self.unplaced.insert(number, txn);
            return Ok(None);
        }
        // Its own snapshot does not show it, unless it is a wrong one.
        let from = if own.shows(number) { Rank::FIRST } else { own.rank };
        let mut swept = self.entries.range(from..=self.swept);
        let rank = *swept.find(|(_, entry)| shown(entry)).ok_or(())?.0;
        let before = self.entries.range(..rank).next_back().map(|(_, entry)| entry.start);
        let first = self.entries.get_mut(&rank).ok_or(())?;
        let unkept = from < self.floor && rank == self.floor;
        // Between two that stand at one place there is no room.
        if unkept || before == Some(first.start) {
            return Err(());
        }
        first.placed.push(number.1);
        Ok(Some(first.commit))
    }

    /// Whether a snapshot has been swept.
    pub(super) fn is_swept(&self, rank: Rank) -> bool {
        rank <= self.swept
    }

    /// Where those stand that see from a snapshot.
    pub(super) fn start(&self, rank: Rank) -> Option<Timestamp> {
        self.entries.get(&rank).map(|entry| entry.start)
    }

    /// Sweeps up to a place before which no snapshot comes any more: hands back all commits that have got their place.
    pub(super) fn sweep(&mut self, to: Rank) -> Vec<(TxnRef, Timestamp)> {
        let mut found = Vec::new();
        let range = (Bound::Excluded(self.swept), Bound::Included(to));
        if to <= self.swept {
            return found;
        }
        for (rank, entry) in self.entries.range_mut(range) {
            entry.commit = commit_before(*rank, entry.owner);
            let (restart, end) = (entry.shape.restart, entry.shape.end);
            let below = self.unplaced.range((restart, i64::MIN)..(restart, end));
            let shown = below.filter(|(number, _)| entry.shape.shows(**number));
            for (number, txn) in shown {
                entry.placed.push(number.1);
                found.push((*txn, entry.commit));
            }
            self.bytes += entry.placed.capacity() * size_of::<i64>();
            entry.placed.iter().for_each(|number| _ = self.unplaced.remove(&(restart, *number)));
            self.swept = *rank;
        }
        found
    }

    /// Forgets the oldest that have been swept.
    pub(super) fn forget(&mut self) {
        while self.entries.len() > self.kept
            && let Some(first) = self.entries.first_entry()
            && *first.key() < self.swept
        {
            let (_, entry) = first.remove_entry();
            self.bytes = self.bytes.saturating_sub(entry.bytes());
            let numbers = entry.placed.iter().map(|number| (entry.shape.restart, *number));
            numbers.for_each(|number| _ = self.numbers.remove(&number));
            self.floor = self.entries.first_key_value().map_or(self.floor, |(rank, _)| *rank);
        }
    }

    /// A transaction that one snapshot shows and another does not.
    pub(super) fn between(&self, shows: &Shape, lacks: &Shape) -> Option<TxnRef> {
        let hidden = lacks.hidden.iter().map(|number| (lacks.restart, *number));
        let mut hidden = hidden.filter(|number| shows.shows(*number));
        let hidden = hidden.find_map(|number| self.numbers.get(&number));
        let (from, to) = ((lacks.restart, lacks.end), (shows.restart, shows.end));
        let rest = || {
            let range = (from < to).then(|| self.numbers.range(from..to));
            range.into_iter().flatten().find(|(number, _)| shows.shows(**number))
        };
        hidden.or_else(|| rest().map(|(_, txn)| txn)).copied()
    }

    /// Whether all is kept of what came before a snapshot.
    pub(super) fn keeps(&self, rank: Rank) -> bool {
        rank >= self.floor
    }

    pub(super) fn swept(&self) -> Rank {
        self.swept
    }

    /// The bytes that it takes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        let number = 2 * size_of::<(Number, TxnRef)>();
        self.bytes + (self.unplaced.len() + self.numbers.len()) * number
    }
}

impl RowEntry {
    fn bytes(&self) -> usize {
        let lists = self.shape.hidden.len() + self.placed.capacity();
        2 * size_of::<(Rank, RowEntry)>() + size_of::<Shape>() + lists * size_of::<i64>()
    }
}

fn apart(entry: &RowEntry) -> Option<Added> {
    Some(Added::Apart(entry.shape.clone(), entry.owner?))
}
