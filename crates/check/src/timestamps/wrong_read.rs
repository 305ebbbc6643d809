//! Reads that returned another version than they should have.

use isolde_history::OpId;
use isolde_spec::Anomaly;

use crate::keys::accesses::{ReadFact, WriteFact};
use crate::keys::standing::Standing;
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedDoubt;
use crate::timestamps::rules::WrongSource;
use crate::timestamps::ticks::Tick;

/// A read that returned another version than it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WrongRead {
    /// It is called so, and returned this write, if it is known which.
    Named(Anomaly, Option<OpId>),
    /// Whether it is wrong is not known.
    InDoubt(TimedDoubt),
    /// It returned a write of a transaction whose commit point is still looked for.
    Open,
}

/// Where a read of a value that was written here came from.
pub(crate) fn source(
    case: &TimedCase<'_>,
    write: &WriteFact,
    read: &ReadFact,
) -> WrongSource<Tick> {
    if write.txn == read.txn {
        return if write.op > read.op { WrongSource::OwnLater } else { WrongSource::Aborted };
    }
    if write.undone || matches!(write.standing, Standing::RolledBack | Standing::Unproved) {
        return WrongSource::Aborted;
    }
    match case.ticks.commit_of(write.txn).known() {
        _ if !write.last => WrongSource::Intermediate,
        Some(commit) => WrongSource::Committed(commit),
        None => WrongSource::Overwritten,
    }
}
