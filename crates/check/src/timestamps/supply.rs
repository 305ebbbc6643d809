//! Whether a history has the timestamps that a promise needs, and what they mean.

use isolde_history::{Effect, History, Outcome, Txn, info};
use isolde_spec::Level;

use crate::timestamps::rules::Ordering;

/// Whether a history can be asked about a level by its timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supply {
    /// Every committed transaction has what is needed.
    Whole,
    /// No transaction has timestamps.
    None,
    /// So many committed transactions lack what is needed.
    Partial {
        /// How many lack it.
        lacking: usize,
        /// Of how many.
        committed: usize,
        /// What they lack, for a person.
        what: &'static str,
    },
    /// Nothing says that commit order is a serial order.
    NotSerial,
    /// There are no rules for the level by timestamps.
    NoRules,
}

impl Supply {
    /// What a history has for a level.
    pub fn of(history: &History, level: Level) -> Supply {
        let needs: fn(&Txn<'_>) -> bool = match level {
            Level::SnapshotIsolation => {
                |txn| txn.start_ts().is_some() && (txn.commit_ts().is_some() || !wrote(txn))
            }
            Level::Serializable => {
                |txn| txn.commit_ts().is_some() || (txn.start_ts().is_some() && !wrote(txn))
            }
            _ => return Supply::NoRules,
        };
        let stamped = |txn: Txn<'_>| txn.start_ts().is_some() || txn.commit_ts().is_some();
        if !history.txns().any(stamped) {
            return Supply::None;
        }
        let committed = || history.txns().filter(|txn| txn.outcome() == Outcome::Committed);
        let lacking = committed().filter(|txn| !needs(txn)).count();
        if lacking > 0 {
            let what = match level {
                Level::SnapshotIsolation => {
                    "a start timestamp (or, if they wrote, a commit timestamp)"
                }
                _ => "a commit timestamp",
            };
            return Supply::Partial { lacking, committed: committed().count(), what };
        }
        if level == Level::Serializable && !commits_are_serial(history) {
            return Supply::NotSerial;
        }
        Supply::Whole
    }
}

impl Supply {
    /// Why a level cannot be decided by timestamps, for a person.
    pub fn reason(&self, level: Level) -> String {
        match self {
            Supply::Whole => "it can be decided by timestamps".to_owned(),
            Supply::None => "no transaction of the history has timestamps".to_owned(),
            Supply::Partial { lacking, committed, what } => {
                format!("{lacking} of {committed} committed transactions lack {what}")
            }
            Supply::NotSerial => "nothing says that commit order is the serial order (the fact \
                                  commit-order=serial of the history would, or --fact commit-order=serial)"
                .to_owned(),
            Supply::NoRules => format!(
                "{level} has no rules by timestamps; snapshot-isolation and serializable have"
            ),
        }
    }
}

/// Whether the history says that commit order is a serial order.
fn commits_are_serial(history: &History) -> bool {
    says(history, info::COMMIT_ORDER, info::SERIAL)
}

fn says(history: &History, name: &str, text: &str) -> bool {
    history.info_text(name) == Some(text)
}

/// The order that the timestamps of a history give, for a level.
pub(crate) fn ordering(history: &History, level: Level) -> Ordering {
    match level {
        Level::Serializable => {
            Ordering::Commits { reads_at_commit: says(history, info::READS_AT, info::AT_COMMIT) }
        }
        _ => Ordering::Snapshots,
    }
}

/// Whether a transaction wrote something that was not rolled back to a savepoint.
pub(crate) fn wrote(txn: &Txn<'_>) -> bool {
    txn.ops().any(|op| op.kind().writes() && op.effect() != Effect::Failed && !op.undone())
}
