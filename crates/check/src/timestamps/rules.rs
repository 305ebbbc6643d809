//! The rules of promises by timestamps, as plain functions of timestamps: for a whole history and for a
//! stream alike. A timestamp is anything that can be compared.
//!
//! - **Snapshot isolation**: a transaction sees exactly the versions that were committed at or before its
//!   start, and none of its own. Two transactions that wrote one key do not overlap.
//! - **Serializability by commit order**: a transaction that wrote stands at its commit timestamp and sees
//!   what was committed before it; one that only read sees what was committed at or before its place.
//! - **Sessions**: a transaction sees all that its session did before it.

use isolde_spec::Anomaly;

/// Which order the timestamps give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordering {
    /// Transactions read the snapshot of their start: snapshot isolation.
    Snapshots,
    /// Commit order is a serial order.
    Commits {
        /// Whether transactions that only read stand at their commit timestamp, not at their start.
        reads_at_commit: bool,
    },
}

/// The timestamps of a transaction, as far as it has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps<T> {
    /// When it started.
    pub start: Option<T>,
    /// When it committed.
    pub commit: Option<T>,
}

/// Where a transaction stands in the order of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<T> {
    /// The timestamp.
    pub at: T,
    /// Whether a version that was committed just then is visible, too.
    pub inclusive: bool,
}

impl<T: Copy + Ord> Place<T> {
    /// Whether a version is visible. (A transaction never sees its own versions by this rule.)
    #[inline]
    pub fn sees(&self, commit: T) -> bool {
        commit < self.at || (self.inclusive && commit == self.at)
    }
}

impl<T: Copy + Ord> Stamps<T> {
    /// Where the transaction stands; `None` if it lacks the timestamp that says so.
    #[inline]
    pub fn place(&self, ordering: Ordering, wrote: bool) -> Option<Place<T>> {
        let reader = |at: T| Place { at, inclusive: true };
        match ordering {
            Ordering::Snapshots => self.start.map(reader),
            Ordering::Commits { .. } if wrote => {
                self.commit.map(|at| Place { at, inclusive: false })
            }
            Ordering::Commits { reads_at_commit: true } => self.commit.or(self.start).map(reader),
            Ordering::Commits { reads_at_commit: false } => self.start.or(self.commit).map(reader),
        }
    }

    /// Whether the two contradict each other: a transaction that wrote commits after its start, any other
    /// not before it.
    #[inline]
    pub fn are_bad(&self, wrote: bool) -> bool {
        match (self.start, self.commit) {
            (Some(start), Some(commit)) => start > commit || (wrote && start == commit),
            _ => false,
        }
    }

    /// What later transactions of its session have to have seen: the time up to which they must see.
    pub fn binds_its_session(&self, ordering: Ordering, wrote: bool) -> Option<T> {
        match ordering {
            Ordering::Snapshots => self.commit.or(self.start),
            Ordering::Commits { .. } => self.place(ordering, wrote).map(|place| place.at),
        }
    }
}

/// Whether a transaction at a place comes after what binds its session. A snapshot shows what was committed
/// up to then; in commit order, places never decrease, and that of a writer is greater than all earlier ones.
#[inline]
pub fn keeps_session_order<T: Copy + Ord>(bound: T, place: Place<T>) -> bool {
    if place.inclusive { bound <= place.at } else { bound < place.at }
}

/// Whether two transactions overlap: neither had committed when the other started.
#[inline]
pub fn overlap<T: Copy + Ord>(a: (T, T), b: (T, T)) -> bool {
    a.1 > b.0 && b.1 > a.0
}

/// Each writer of a key that overlaps one that commits later, with the first of those. The writers, as pairs
/// of start and commit, are in the order of their commits. So of `k` writers that all overlap, `k - 1` are
/// found, each once.
pub fn conflicts<T: Copy + Ord>(writers: &[(T, T)]) -> Vec<(usize, usize)> {
    // Going back from the last, the writers that may be the first opponent of an earlier one: those that
    // start before all that commit earlier among them. Starts ascend from the bottom of the stack.
    let mut open: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    for (i, &(start, commit)) in writers.iter().enumerate().rev() {
        let first = open.partition_point(|j| writers[*j].0 < commit);
        // The last of those that start in time lies nearest.
        if let Some(j) = first.checked_sub(1) {
            found.push((i, open[j]));
        }
        while open.last().is_some_and(|j| writers[*j].0 >= start) {
            open.pop();
        }
        open.push(i);
    }
    found.reverse();
    found
}

/// A write of the value that a read returned and should not have returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongSource<T> {
    /// A version, or the initial state, that was visible once and had been overwritten.
    Overwritten,
    /// A version that was committed at this time.
    Committed(T),
    /// A write that its transaction overwrote before it committed.
    Intermediate,
    /// A write that was rolled back.
    Aborted,
    /// A write that the reader itself made later.
    OwnLater,
}

impl<T: Copy + Ord> WrongSource<T> {
    /// What such a read is called.
    pub fn name(&self, place: Place<T>) -> Anomaly {
        match self {
            WrongSource::Overwritten => Anomaly::StaleRead,
            WrongSource::Committed(at) if place.sees(*at) => Anomaly::StaleRead,
            WrongSource::Committed(_) => Anomaly::UncommittedVersionRead,
            WrongSource::Intermediate => Anomaly::IntermediateRead,
            WrongSource::Aborted => Anomaly::AbortedRead,
            WrongSource::OwnLater => Anomaly::FutureRead,
        }
    }
}

/// Of several names of one wrong read, the lowest counts: of equal values, that of the writer that comes
/// nearest to being right.
pub fn rank(anomaly: Anomaly) -> usize {
    let order = [
        Anomaly::StaleRead,
        Anomaly::UncommittedVersionRead,
        Anomaly::IntermediateRead,
        Anomaly::AbortedRead,
        Anomaly::FutureRead,
    ];
    order.iter().position(|a| *a == anomaly).unwrap_or(order.len())
}

/// What two overlapping writers of a key are called: an update was lost if both had read the version that
/// both replaced.
pub fn name_of_conflict(read_the_same: bool) -> Anomaly {
    if read_the_same { Anomaly::LostUpdate } else { Anomaly::ConcurrentWrites }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_overlapping_writers_are_k_minus_one_conflicts() {
        let all = [(1, 10), (2, 11), (3, 12), (4, 13)];
        assert_eq!(conflicts(&all), [(0, 1), (1, 2), (2, 3)]);
        // One long transaction overlaps all, and is named by each.
        let long = [(1, 2), (3, 4), (5, 6), (0, 7)];
        assert_eq!(conflicts(&long), [(0, 3), (1, 3), (2, 3)]);
        assert_eq!(conflicts(&[(1, 2), (2, 3), (3, 4)]), []);
        assert_eq!(conflicts(&[(1, 5), (2, 5)]), [(0, 1)]);
    }

    #[test]
    fn conflicts_are_what_the_definition_says() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for _ in 0..2_000 {
            let count = next() % 7;
            let mut writers: Vec<(u32, u32)> = (0..count)
                .map(|_| {
                    let start = next() % 12;
                    (start, start + 1 + next() % 5)
                })
                .collect();
            writers.sort_by_key(|w| w.1);
            let mut expected = Vec::new();
            for i in 0..writers.len() {
                let later = (i + 1..writers.len()).find(|j| overlap(writers[i], writers[*j]));
                expected.extend(later.map(|j| (i, j)));
            }
            assert_eq!(conflicts(&writers), expected, "{writers:?}");
        }
    }

    #[test]
    fn places() {
        let both = Stamps { start: Some(3), commit: Some(5) };
        let commits = |reads_at_commit| Ordering::Commits { reads_at_commit };
        let at = |ordering, wrote| both.place(ordering, wrote).map(|p| (p.at, p.inclusive));
        assert_eq!(at(Ordering::Snapshots, true), Some((3, true)));
        assert_eq!(at(commits(false), true), Some((5, false)));
        assert_eq!(at(commits(false), false), Some((3, true)));
        assert_eq!(at(commits(true), false), Some((5, true)));
        let commit_only = Stamps { start: None, commit: Some(5) };
        assert_eq!(commit_only.place(commits(false), false).map(|p| p.at), Some(5));
        assert_eq!(commit_only.place(Ordering::Snapshots, false), None);
        assert!(Stamps { start: Some(5), commit: Some(5) }.are_bad(true));
        assert!(!Stamps { start: Some(5), commit: Some(5) }.are_bad(false));
        assert!(Stamps { start: Some(6), commit: Some(5) }.are_bad(false));
    }
}
