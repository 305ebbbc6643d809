//! From a promise by snapshots to a verdict.

use hashbrown::HashMap;
use isolde_graph::parallel;
use isolde_history::{Clock, History, OpId, OpKind, Outcome, Txn, TxnId, Value, names};
use isolde_spec::{Anomaly, Answer, Axiom, Counted, Level, Promise, Seen, Timed, Verdict, Witness};

use super::chain::{Contradiction, Named, Restarts, SnapshotRow};
use super::fresh;
use super::statements::{self, StatementCase, StatementKey};
use super::supply::SnapshotSupply;
use crate::keys::sorted_keys::SortedKeys;
use crate::keys::wording::Wording;
use crate::limits::{Limit, Limits};
use crate::options::Options;
use crate::timestamps::case::Places;
use crate::timestamps::finding::{TimedFinding, TimedFindings};
use crate::timestamps::gaps;
use crate::timestamps::procedure::{ByTimestamps, counts, doubts};
use crate::timestamps::supply::wrote;
use crate::timestamps::ticks::{Tick, Ticks};

/// Decides a promise by the snapshots of a history.
///
/// ```
/// use isolde_check::{Limits, Options, snapshots};
/// use isolde_spec::{Level, Promise};
/// let text = "initial 0\na: w(x,1) {xid=7,snapshot={xmin:7,xmax:7,xip:[]}}\nb: r(x,0) {snapshot={xmin:8,xmax:8,xip:[]}}";
/// let history = isolde_history::notation::parse(text).unwrap();
/// let promise = Promise::by_snapshots(Level::SnapshotIsolation);
/// let verdict = snapshots::decide(&history, promise, &Options::default(), &Limits::default());
/// assert_eq!(verdict.holds(), Some(false));
/// ```
pub fn decide<'h>(
    history: &'h History,
    promise: Promise,
    options: &Options,
    limits: &Limits<'h>,
) -> Verdict {
    let question = ByTimestamps { history, promise, options, limits, stage: &|_| {} };
    let decided = BySnapshots { question: &question }.decide();
    decided.unwrap_or_else(|limit| question.ended(limit))
}

/// A question by snapshots: that by timestamps with another way to know who saw what.
struct BySnapshots<'q, 'h> {
    question: &'q ByTimestamps<'q, 'h>,
}

impl BySnapshots<'_, '_> {
    fn decide(&self) -> Result<Verdict, Limit> {
        let (history, level) = (self.question.history, self.question.promise.level);
        let supply = SnapshotSupply::of(history, level);
        if supply != SnapshotSupply::Whole {
            return Ok(self.question.unknown(supply.reason(level)));
        }
        self.question.limits.go_on()?;
        let by_statements = level == Level::ReadCommitted;
        let of_txns = if by_statements { Vec::new() } else { of_txns(history) };
        let named = match by_statements {
            true => statements::named(history),
            false => {
                let mut named: Vec<Named> = of_txns.iter().map(|(_, named)| *named).collect();
                named.sort_unstable();
                named.dedup();
                named
            }
        };
        let chain = SnapshotRow::new(history, &named);
        if !chain.contradictions.is_empty() {
            return Ok(self.contradicted(&chain.contradictions));
        }
        if by_statements {
            self.by_statements(&chain)
        } else {
            self.by_transactions(&chain, &of_txns)
        }
    }

    /// Snapshot isolation: one snapshot for each transaction.
    fn by_transactions(
        &self,
        chain: &SnapshotRow,
        of_txns: &[(TxnId, Named)],
    ) -> Result<Verdict, Limit> {
        let (history, options) = (self.question.history, self.question.options);
        if inserted_again_perhaps(history) {
            let reason = "rows are deleted and inserted, and the outcomes of some writers are unknown: which rows \
                          could be inserted again is not known";
            return Ok(self.question.unknown(reason.to_owned()));
        }
        let places = || {
            let mut start = vec![Tick::NEVER; history.txn_count()];
            let mut seen = start.clone();
            for (txn, named) in of_txns {
                start[txn.index()] = chain.place(*named);
                seen[txn.index()] = chain.first_place(*named);
            }
            Places::of_snapshots(Ticks::untold(start, chain.commits.clone(), seen))
        };
        self.question.decide_at(places, |case, found| fresh::judge(case, options, found))
    }

    /// Read committed: one snapshot for each statement.
    fn by_statements(&self, chain: &SnapshotRow) -> Result<Verdict, Limit> {
        let history = self.question.history;
        if history.has_ops(OpKind::PredicateRead) {
            let reason = "predicate reads are not judged by the snapshots of statements";
            return Ok(self.question.unknown(reason.to_owned()));
        }
        let keys = SortedKeys::new(history);
        let skew = match history.meta().clock {
            Clock::Events => 0,
            Clock::Nanoseconds => self.question.options.clock_skew,
        };
        let complete = history.meta().complete && gaps::first_gap(history).is_none();
        let case = StatementCase::new(&keys, chain, skew, complete);
        let pieces = keys.index.pieces();
        let parts = parallel::map(keys.index.size, &pieces, |piece| {
            self.question.limits.go_on()?;
            let (mut found, mut judged) = (TimedFindings::default(), StatementKey::default());
            piece.clone().for_each(|key| judged.judge(&case, key, &mut found));
            Ok(found)
        });
        let mut found = TimedFindings::default();
        for part in parts {
            found.append(part?);
        }
        found.findings.sort_unstable_by_key(TimedFinding::place);
        Ok(self.verdict(&found))
    }

    fn verdict(&self, found: &TimedFindings) -> Verdict {
        let history = self.question.history;
        let most = self.question.options.witnesses.max(1);
        let same = found.findings.chunk_by(|a, b| a.anomaly == b.anomaly);
        let kept: Vec<Witness> =
            same.flat_map(|same| same.iter().take(most)).map(|f| witness(history, f)).collect();
        let answer = match (kept.is_empty(), found.doubts.first()) {
            (false, _) => Answer::Violated(kept),
            (true, None) => Answer::Holds,
            (true, Some(first)) => Answer::Unknown(doubts(&Wording(history), first, &found.doubts)),
        };
        let counts = counts(history, &found.findings);
        let (promise, procedure) = (self.question.promise, self.question.procedure());
        Verdict { promise, answer, counts, notes: Vec::new(), procedure }
    }

    /// Snapshots that are in no row say nothing else.
    fn contradicted(&self, all: &[Contradiction]) -> Verdict {
        let history = self.question.history;
        let most = self.question.options.witnesses.max(1);
        let wanted = all.iter().take(most).flat_map(|found| found.snapshots);
        let owners = owners(history, &wanted.collect::<Vec<Named>>());
        let kept: Vec<Witness> =
            all.iter().take(most).filter_map(|found| contradiction(found, &owners)).collect();
        let (anomaly, count) = (Anomaly::BadSnapshot, all.len() as u64);
        let positions = kept.iter().map(|witness| witness.position() as u32).collect();
        let counts = vec![Counted { anomaly, count, at_least: false, positions }];
        let notes = vec![
            "the snapshots contradict each other, so nothing else is judged by them".to_owned(),
        ];
        let (promise, procedure) = (self.question.promise, self.question.procedure());
        Verdict { promise, answer: Answer::Violated(kept), counts, notes, procedure }
    }
}

/// Whether a row may have been inserted again because a transaction of unknown outcome deleted it: choosing which of
/// them committed would have to know of that exception, too.
fn inserted_again_perhaps(history: &History) -> bool {
    let has = |kind: OpKind| history.has_ops(kind);
    let unknown = |txn: &Txn<'_>| txn.outcome() == Outcome::Unknown && wrote(txn);
    has(OpKind::Delete) && has(OpKind::InsertIfAbsent) && history.txns().any(|txn| unknown(&txn))
}

/// The snapshot of each transaction that may have committed.
fn of_txns(history: &History) -> Vec<(TxnId, Named)> {
    let restarts = Restarts::of(history);
    let outcomes = history.txn_outcomes();
    let shown = history.txn_attrs(names::SNAPSHOT);
    let shown = shown.filter(|(txn, _)| outcomes[txn.index()] != Outcome::Aborted);
    shown.map(|(txn, value)| (txn, (restarts.before(txn), value, None))).collect()
}

/// The first transaction that has each of some snapshots.
fn owners(history: &History, wanted: &[Named]) -> HashMap<Named, TxnId> {
    let mut owners = HashMap::new();
    for txn in history.txns().filter(|txn| txn.outcome() != Outcome::Aborted) {
        let number = txn.xid();
        let own = txn.attr(names::SNAPSHOT).map(|value| (txn.restart(), value, None));
        let of_stmts = txn.stmts().filter_map(|stmt| stmt.attr(names::SNAPSHOT));
        let of_stmts = of_stmts.map(|value| (txn.restart(), value, number));
        for named in own.into_iter().chain(of_stmts) {
            if wanted.contains(&named) {
                owners.entry(named).or_insert(txn.id());
            }
        }
    }
    owners
}

fn contradiction(found: &Contradiction, owners: &HashMap<Named, TxnId>) -> Option<Witness> {
    let [first, second] = found.snapshots;
    let (first, second) = (*owners.get(&first)?, *owners.get(&second)?);
    let mut txns = vec![first, second, found.shown[0], found.shown[1]];
    txns.sort_unstable();
    txns.dedup();
    let timed = Timed {
        axiom: Axiom::Snapshots,
        txn: first,
        place: None,
        expected: Vec::new(),
        read: None,
        opponent: Some(second),
        apart: Some((found.shown[0], found.shown[1])),
        assumed: Vec::new(),
    };
    Some(Witness { txns, timed: Some(timed), ..Witness::of(Anomaly::BadSnapshot) })
}

/// The witness of a finding about a statement.
fn witness(history: &History, finding: &TimedFinding) -> Witness {
    let newer = finding.opponent.and_then(|txn| last_write(history, txn, finding));
    let seen = |op: OpId| {
        let op = history.op(op);
        let value = if op.kind() == OpKind::Delete { Value::ABSENT } else { op.value() };
        Seen { value, list: None, write: Some(op.id()), initial: false }
    };
    let expected: Vec<Seen> = newer.map(seen).into_iter().collect();
    let read = match (finding.axiom, finding.other) {
        (Axiom::Ext, Some(write)) => Some(seen(write)),
        (Axiom::Ext, None) => finding.op.map(|op| Seen {
            value: history.op(op).value(),
            list: None,
            write: None,
            initial: finding.anomaly == Anomaly::StaleRead,
        }),
        _ => None,
    };
    let mut ops: Vec<OpId> = Vec::new();
    for op in finding.op.into_iter().chain(finding.other).chain(newer) {
        if !ops.contains(&op) {
            ops.push(op);
        }
    }
    let mut txns: Vec<TxnId> =
        ops.iter().map(|op| history.txn_of(*op)).chain([finding.txn]).collect();
    txns.sort_unstable();
    txns.dedup();
    let timed = Timed {
        axiom: finding.axiom,
        txn: finding.txn,
        place: None,
        expected,
        read,
        opponent: finding.opponent,
        apart: None,
        assumed: Vec::new(),
    };
    Witness { ops, txns, timed: Some(timed), ..Witness::of(finding.anomaly) }
}

/// The last write of a key by a transaction.
fn last_write(history: &History, txn: TxnId, finding: &TimedFinding) -> Option<OpId> {
    let of_key = history.txn(txn).ops().filter(|op| Some(op.key()) == finding.key);
    of_key.filter(|op| op.kind().writes() && !op.undone()).last().map(|op| op.id())
}
