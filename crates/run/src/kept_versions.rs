//! What a server showed of the versions of its rows: kept until the run is over, then written on the tape as version
//! orders, and compared with the commits that were confirmed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::{HashMap, HashSet};
use isolde_history::{LostCommit, OpKind, Outcome, SinkError, Value};
use isolde_target::{Contents, Failure, Show, TableVersions, Target};

use crate::attempt::{Act, Attempt};
use crate::clock::RunClock;
use crate::tape::Tape;

/// What a server showed of the versions of its rows, in numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShownVersions {
    /// How many keys have an order.
    pub ordered: u64,
    /// How many keys have versions, but no order.
    pub unordered: u64,
    /// Why the first of those has none.
    pub why_unordered: Option<String>,
    /// Why the versions of some tables could not be read; nothing is said of their keys.
    pub unread: Option<String>,
    /// How many versions there were.
    pub versions: u64,
    /// How long it took to read them.
    pub took: Duration,
    /// How many commits were confirmed and are lost.
    pub lost: u64,
}

/// The versions of the tables of a run, and what its sessions were told.
pub(crate) struct KeptVersions {
    /// Whether the target shows any.
    shown: bool,
    /// What rows hold. Lists show the order of their elements themselves, also where one may read what was not
    /// committed: a second word for it would only raise the question which of the two is right.
    contents: Contents,
    /// How many rows a table has.
    rows: u32,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The rounds whose tables were read.
    rounds: HashSet<u32>,
    /// All versions of each key: in order, or as found, and why there is no order.
    keys: Vec<(u64, Vec<i64>, Option<String>)>,
    /// What transactions left behind whose commit was confirmed.
    confirmed: Vec<LeftBehind>,
    unread: Option<String>,
    took: Duration,
}

/// What a transaction left behind under a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LeftBehind {
    /// The number of the transaction among those that were confirmed.
    txn: u32,
    session: u32,
    key: u64,
    value: i64,
}

impl KeptVersions {
    pub(crate) fn new(target: &dyn Target, contents: Contents, rows: u32) -> KeptVersions {
        let shown = target.shows(Show::Versions).is_ok();
        KeptVersions { shown, contents, rows, kept: Mutex::new(Kept::default()) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the versions of a round's table, which no session will touch again.
    pub(crate) fn read(&self, target: &dyn Target, round: u32, number: u32) -> Result<(), Failure> {
        if !self.shown {
            return Ok(());
        }
        let began = Instant::now();
        let Some(TableVersions { rows }) = target.versions(number)? else { return Ok(()) };
        let mut kept = self.kept();
        if kept.rounds.insert(round) {
            let first = u64::from(round) * u64::from(self.rows);
            let keys = rows.into_iter();
            kept.keys.extend(keys.map(|r| (first + u64::from(r.row), r.values, r.unordered)));
        }
        kept.took += began.elapsed();
        Ok(())
    }

    /// A table's versions could not be read.
    pub(crate) fn unread(&self, why: String) {
        if self.shown {
            self.kept().unread.get_or_insert(why);
        }
    }

    /// Remembers what a transaction wrote whose commit was confirmed.
    pub(crate) fn note(&self, attempt: &Attempt) {
        if !self.shown || attempt.outcome != Outcome::Committed {
            return;
        }
        let mut kept = self.kept();
        let txn = kept.confirmed.last().map_or(0, |last| last.txn + 1);
        let session = attempt.session;
        let left = left_behind(&attempt.acts).into_iter();
        kept.confirmed.extend(left.map(|(key, value)| LeftBehind { txn, session, key, value }));
    }

    /// Writes all orders on the tape, and the commits that are lost.
    pub(crate) fn write(
        &self,
        tape: &mut dyn Tape,
        clock: RunClock,
    ) -> Result<Option<ShownVersions>, SinkError> {
        if !self.shown {
            return Ok(None);
        }
        let Kept { rounds, keys, confirmed, unread, took } = std::mem::take(&mut *self.kept());
        let mut shown = ShownVersions { unread, took, ..ShownVersions::default() };
        let read = |key: u64| rounds.contains(&((key / u64::from(self.rows.max(1))) as u32));
        for lost in lost(&keys, confirmed.into_iter().filter(|left| read(left.key))) {
            let pool = tape.pool();
            let (session, key) = (Value::from_u32(lost.session), pool.int(lost.key as i64));
            let lost = LostCommit::ByValue { session, key, value: pool.int(lost.value) };
            let event = lost.to_event(pool, clock.now());
            tape.event(event)?;
            shown.lost += 1;
        }
        for (key, values, unordered) in keys {
            shown.versions += values.len() as u64;
            if let Some(why) = unordered {
                shown.unordered += 1;
                shown.why_unordered.get_or_insert(format!("key {key}: {why}"));
                continue;
            }
            shown.ordered += 1;
            if self.contents == Contents::Lists {
                continue;
            }
            let pool = tape.pool();
            let (key, values) = (pool.int_key(key as i64), values.into_iter());
            let values: Vec<Value> = values.map(|value| pool.int(value)).collect();
            tape.version_order(key, &values)?;
        }
        tape.save()?;
        Ok(Some(shown))
    }
}

/// The values that a transaction leaves behind: the last of each key, and every element that it appended.
fn left_behind(acts: &[Act]) -> Vec<(u64, i64)> {
    let mut left: Vec<(u64, i64)> = Vec::new();
    for act in acts.iter().filter(|act| act.wrote()) {
        if act.kind != OpKind::Append {
            left.retain(|(key, _)| *key != act.key);
        }
        left.push((act.key, act.value));
    }
    left
}

/// Of each transaction of which something is not among the versions, the first such value.
fn lost(
    keys: &[(u64, Vec<i64>, Option<String>)],
    confirmed: impl Iterator<Item = LeftBehind>,
) -> Vec<LeftBehind> {
    // No value is written twice, so it is enough to know where each one was found.
    let found: HashMap<i64, u64> =
        keys.iter().flat_map(|(key, values, _)| values.iter().map(|v| (*v, *key))).collect();
    let mut lost: Vec<LeftBehind> =
        confirmed.filter(|left| found.get(&left.value) != Some(&left.key)).collect();
    lost.dedup_by_key(|left| left.txn);
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_target::{Answer, Path};

    fn act(kind: OpKind, key: u64, value: i64, done: bool) -> Act {
        let (path, answer, times) = (Path::PrimaryKey, Some(Answer::Done(done)), (0, Some(0)));
        Act {
            key,
            kind,
            path,
            value,
            expected: 0,
            answer,
            revision: None,
            snapshot: None,
            begin: times.0,
            end: times.1,
        }
    }

    #[test]
    fn the_last_write_of_each_key_is_left_behind_and_every_element() {
        let acts = [
            act(OpKind::Write, 1, 11, true),
            act(OpKind::Write, 2, 21, true),
            act(OpKind::Write, 1, 12, true),
            act(OpKind::Cas, 2, 22, false),
            act(OpKind::Append, 3, 31, true),
            act(OpKind::Append, 3, 32, true),
        ];
        assert_eq!(left_behind(&acts), [(2, 21), (1, 12), (3, 31), (3, 32)]);
    }

    #[test]
    fn a_transaction_is_lost_once_and_only_if_a_value_is_nowhere() {
        let keys = [(1, vec![11, 12], None), (2, vec![21], Some("why".to_owned()))];
        let left = |txn, key, value| LeftBehind { txn, session: 0, key, value };
        let confirmed = [left(0, 1, 11), left(0, 2, 21), left(1, 1, 13), left(1, 2, 22)];
        let wrong_row = left(2, 2, 12);
        let all = confirmed.into_iter().chain([wrong_row]);
        assert_eq!(lost(&keys, all), [left(1, 1, 13), wrong_row]);
    }
}
