//! Timestamps that lie, as data: a few transactions whose values any level explains, and whose
//! timestamps break a rule.
//!
//! Each fault is on keys of its own. Its transactions have timestamps from a stretch of time in which
//! nothing else happens, so the rest of the history stays as clean as it was. The places in that
//! stretch are numbered from 1.

use super::recipes::{End, Say};
use crate::settings::Kind;
use End::{Commits, Follows};
use Say::{C, I, R, W};

/// A way in which timestamps contradict what transactions saw. The values show nothing of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimestampFault {
    /// The start of a reader was moved before the commit of the version that it read.
    StartEarly,
    /// The start of a reader was moved past a commit that it did not see.
    StartLate,
    /// The commit of a writer was moved before the start of a reader that did not see it.
    CommitEarly,
    /// The commit of a writer was moved past the commit of the transaction that read its version and
    /// replaced it.
    CommitLate,
    /// The start and the commit of a writer were exchanged.
    Swapped,
    /// A writer got the commit timestamp of another writer of the same key.
    Duplicated,
    /// A reader that started after two versions of a key were committed read the older one.
    StaleRead,
    /// A reader that had committed before a writer did read its version.
    EarlyRead,
    /// Two blind writers of a key overlap. A serial commit order allows that.
    OverlappingWriters,
    /// A transaction started before the last one of its session committed.
    SessionOverlap,
}

impl TimestampFault {
    /// Every fault.
    pub const ALL: [TimestampFault; 10] = [
        TimestampFault::StartEarly,
        TimestampFault::StartLate,
        TimestampFault::CommitEarly,
        TimestampFault::CommitLate,
        TimestampFault::Swapped,
        TimestampFault::Duplicated,
        TimestampFault::StaleRead,
        TimestampFault::EarlyRead,
        TimestampFault::OverlappingWriters,
        TimestampFault::SessionOverlap,
    ];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            TimestampFault::StartEarly => "start-early",
            TimestampFault::StartLate => "start-late",
            TimestampFault::CommitEarly => "commit-early",
            TimestampFault::CommitLate => "commit-late",
            TimestampFault::Swapped => "swapped",
            TimestampFault::Duplicated => "duplicated",
            TimestampFault::StaleRead => "stale-read",
            TimestampFault::EarlyRead => "early-read",
            TimestampFault::OverlappingWriters => "overlapping-writers",
            TimestampFault::SessionOverlap => "session-overlap",
        }
    }

    /// The fault of that name.
    pub fn named(name: &str) -> Option<TimestampFault> {
        TimestampFault::ALL.into_iter().find(|fault| fault.name().eq_ignore_ascii_case(name))
    }

    /// Whether it also breaks the commit order as a serial order. All of them break snapshot
    /// isolation.
    pub const fn breaks_serial_order(self) -> bool {
        !matches!(self, TimestampFault::OverlappingWriters)
    }

    /// How to plant it into a workload of that kind.
    pub(crate) const fn recipe(self, kind: Kind) -> StampedRecipe {
        let cas = matches!(kind, Kind::Cas);
        let (update, again) = if cas { (INSERT, SWAP) } else { (UPDATE, UPDATE_AGAIN) };
        match self {
            TimestampFault::StartEarly => two((update, 1, 3), (READ_1, 2, 4)),
            TimestampFault::StartLate => two((update, 1, 3), (READ_0, 4, 5)),
            TimestampFault::CommitEarly => two((update, 1, 2), (READ_0, 3, 4)),
            TimestampFault::CommitLate => two((update, 1, 5), (again, 3, 4)),
            TimestampFault::Swapped => two((update, 4, 1), (READ_0, 2, 3)),
            TimestampFault::Duplicated => two((update, 1, 5), (again, 3, 5)),
            TimestampFault::StaleRead => {
                let reader = Some(commits((READ_1, 5, 6)));
                StampedRecipe { third: reader, ..two((update, 1, 2), (again, 3, 4)) }
            }
            TimestampFault::EarlyRead => two((update, 2, 4), (READ_1, 1, 3)),
            // A compare-and-set cannot be blind: it says what it found.
            TimestampFault::OverlappingWriters if cas => two((update, 1, 3), (again, 2, 4)),
            TimestampFault::OverlappingWriters => two((BLIND_1, 1, 3), (BLIND_2, 2, 4)),
            TimestampFault::SessionOverlap => {
                let next = StampedLine { end: Follows, ..commits((READ_OTHER, 2, 5)) };
                StampedRecipe { second: next, ..two((update, 1, 4), (READ_OTHER, 2, 5)) }
            }
        }
    }
}

const X: usize = 0;
const Y: usize = 1;
const UPDATE: &[Say] = &[R(X, 0), W(X, 1)];
const UPDATE_AGAIN: &[Say] = &[R(X, 1), W(X, 2)];
const BLIND_1: &[Say] = &[W(X, 1)];
const BLIND_2: &[Say] = &[W(X, 2)];
const INSERT: &[Say] = &[I(X, 1)];
const SWAP: &[Say] = &[C(X, 1, 2)];
const READ_0: &[Say] = &[R(X, 0)];
const READ_1: &[Say] = &[R(X, 1)];
const READ_OTHER: &[Say] = &[R(Y, 0)];

/// A transaction of a recipe, and where in the stretch of time its timestamps are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampedLine {
    pub(crate) says: &'static [Say],
    pub(crate) end: End,
    pub(crate) start: i64,
    pub(crate) commit: i64,
}

/// How to make a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampedRecipe {
    first: StampedLine,
    second: StampedLine,
    third: Option<StampedLine>,
}

/// How many places the longest recipe has.
pub(crate) const PLACES: i64 = 6;

const fn commits((says, start, commit): (&'static [Say], i64, i64)) -> StampedLine {
    StampedLine { says, end: Commits, start, commit }
}

const fn two(
    first: (&'static [Say], i64, i64),
    second: (&'static [Say], i64, i64),
) -> StampedRecipe {
    StampedRecipe { first: commits(first), second: commits(second), third: None }
}

impl StampedRecipe {
    /// Its transactions.
    pub(crate) fn lines(self) -> impl Iterator<Item = StampedLine> {
        [self.first, self.second].into_iter().chain(self.third)
    }

    /// How many of its transactions run at the same time.
    pub(crate) fn at_a_time(self) -> usize {
        self.lines().filter(|line| line.end != Follows).count()
    }
}
