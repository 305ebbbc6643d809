//! Whether a history has the snapshots that a promise needs.

use isolde_history::{
    Effect, History, LockMode, Op, OpKind, Outcome, Snapshot, Stmt, Txn, Value, names,
};
use isolde_spec::Level;

use super::chain::Restarts;
use crate::timestamps::supply::wrote;

/// Whether a history can be asked about a level by its snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotSupply {
    /// Every committed transaction has what is needed.
    Whole,
    /// There are no snapshots of the kind that the level needs.
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
    /// Two transactions that may have committed have one number: a restart was not noticed, or the history is of
    /// several servers. Then numbers say nothing.
    SharedNumber {
        /// The number.
        number: i64,
    },
    /// There are no rules for the level by snapshots.
    NoRules,
}

/// Which transactions or statements have snapshots that can be read, and which transactions have numbers.
struct Had {
    /// Empty where only those of statements count.
    txns: Vec<bool>,
    /// Empty where only those of transactions count.
    stmts: Vec<bool>,
    numbered: Vec<bool>,
}

impl SnapshotSupply {
    /// What a history has for a level.
    pub fn of(history: &History, level: Level) -> SnapshotSupply {
        let whole = match level {
            Level::SnapshotIsolation => true,
            Level::ReadCommitted => false,
            _ => return SnapshotSupply::NoRules,
        };
        let had = Had::new(history, whole);
        if !had.txns.contains(&true) && !had.stmts.contains(&true) {
            return SnapshotSupply::None;
        }
        if let Some(number) = shared_number(history) {
            return SnapshotSupply::SharedNumber { number };
        }
        let committed = || history.txns().filter(|txn| txn.outcome() == Outcome::Committed);
        let unread = if whole { "a snapshot" } else { "a snapshot for each plain read" };
        let no_snapshot = committed().filter(|txn| !had.snapshots(txn, whole)).count();
        let no_number = committed().filter(|txn| wrote(txn) && !had.numbered[txn.id().index()]);
        let (lacking, what) = match no_snapshot {
            0 => (no_number.count(), "the server's number, though they wrote"),
            some => (some, unread),
        };
        match lacking {
            0 => SnapshotSupply::Whole,
            _ => SnapshotSupply::Partial { lacking, committed: committed().count(), what },
        }
    }

    /// Why a level cannot be decided by snapshots, for a person.
    pub fn reason(&self, level: Level) -> String {
        match self {
            SnapshotSupply::Whole => "it can be decided by snapshots".to_owned(),
            SnapshotSupply::None if level == Level::ReadCommitted => {
                "no statement of the history has a snapshot of its own".to_owned()
            }
            SnapshotSupply::None => "no transaction of the history has a snapshot".to_owned(),
            SnapshotSupply::Partial { lacking, committed, what } => {
                format!("{lacking} of {committed} committed transactions lack {what}")
            }
            SnapshotSupply::SharedNumber { number } => format!(
                "two transactions have the number {number}: the server was started again between them, or they \
                 ran on different servers"
            ),
            SnapshotSupply::NoRules => {
                format!(
                    "{level} has no rules by snapshots; read-committed and snapshot-isolation have"
                )
            }
        }
    }
}

impl Had {
    fn new(history: &History, whole: bool) -> Had {
        let mut readable = Readable::new(history);
        let (mut txns, mut stmts) = (Vec::new(), Vec::new());
        if whole {
            txns.resize(history.txn_count(), false);
            let all = history.txn_attrs(names::SNAPSHOT);
            all.for_each(|(txn, value)| txns[txn.index()] = readable.is(value));
        } else {
            stmts.resize(history.stmt_count(), false);
            let all = history.stmt_attrs(names::SNAPSHOT);
            all.for_each(|(stmt, value)| stmts[stmt.0 as usize] = readable.is(value));
        }
        let mut numbered = vec![false; history.txn_count()];
        history.txn_ints(names::XID).for_each(|(txn, _)| numbered[txn.index()] = true);
        Had { txns, stmts, numbered }
    }

    /// Whether a transaction has the snapshots that it needs.
    fn snapshots(&self, txn: &Txn<'_>, whole: bool) -> bool {
        if whole {
            return txn.ops().len() == 0 || self.txns[txn.id().index()];
        }
        let plain = |kind: OpKind| matches!(kind, OpKind::Read | OpKind::ListRead);
        let reads = |stmt: &Stmt<'_>| {
            let reads = stmt.ops().len() > 0 && stmt.ops().all(|op| plain(op.kind()));
            reads && stmt.lock().is_none_or(|lock| lock == LockMode::None)
        };
        let lacks = |stmt: &Stmt<'_>| reads(stmt) && !self.stmts[stmt.id().0 as usize];
        txn.stmts().filter(lacks).all(|stmt| is_of_failed_write(txn, &stmt))
    }
}

/// Whether a read belongs to the write behind it: a write that found no row is recorded as a read of nothing, too.
fn is_of_failed_write(txn: &Txn<'_>, stmt: &Stmt<'_>) -> bool {
    let Some(last) = stmt.ops().last() else { return false };
    let mut next = txn.ops().skip_while(|op| op.id() <= last.id());
    let failed =
        |op: Op<'_>| op.kind().writes() && op.effect() == Effect::Failed && op.key() == last.key();
    last.value() == Value::ABSENT && next.next().is_some_and(failed)
}

/// A number that two transactions have which may have committed.
fn shared_number(history: &History) -> Option<i64> {
    let (restarts, outcomes) = (Restarts::of(history), history.txn_outcomes());
    let numbers = history.txn_ints(names::XID);
    let numbers = numbers.filter(|(txn, _)| outcomes[txn.index()] != Outcome::Aborted);
    let mut numbers: Vec<(i64, i64)> =
        numbers.map(|(txn, number)| (restarts.before(txn), number)).collect();
    numbers.sort_unstable();
    numbers.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].1)
}

/// Whether values are snapshots: many transactions share one.
struct Readable<'h> {
    history: &'h History,
    last: Option<(Value, bool)>,
}

impl<'h> Readable<'h> {
    fn new(history: &'h History) -> Readable<'h> {
        Readable { history, last: None }
    }

    fn is(&mut self, value: Value) -> bool {
        if let Some((last, is)) = self.last
            && last == value
        {
            return is;
        }
        let is = Snapshot::from_value(self.history.pool(), value).is_some();
        self.last = Some((value, is));
        is
    }
}
