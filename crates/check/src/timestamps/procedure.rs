//! From a promise by timestamps to a verdict.

use isolde_graph::parallel;
use isolde_history::{Key, TxnId};
use isolde_spec::{Answer, Counted, Level, Procedure, Promise, Verdict, Witness};

use crate::keys::sorted_keys::SortedKeys;
use crate::keys::standing::Standing;
use crate::keys::wording::Wording;
use crate::limits::{Ended, Limit, Limits};
use crate::timestamps::case::TimedCase;
use crate::timestamps::explain::TimedExplainer;
use crate::timestamps::finding::{TimedDoubt, TimedFinding, TimedFindings};
use crate::timestamps::judged_key::JudgedKey;
use crate::timestamps::moments::Moments;
use crate::timestamps::supply::Supply;
use crate::timestamps::unknown::{self, Settled};
use crate::timestamps::{gaps, sessions};

/// Decides a promise by the timestamps of a history.
pub(crate) fn decide(
    keys: &SortedKeys<'_>,
    standings: &[Standing],
    promise: Promise,
    witnesses: usize,
    limits: &Limits<'_>,
) -> Result<Verdict, Ended> {
    let history = keys.history;
    let supply = Supply::of(history, promise.level);
    if supply != Supply::Whole {
        return Ok(refused(keys, promise, &supply));
    }
    let ended = |limit: Limit| {
        let (ops, keys) = (history.op_count(), history.key_count());
        Ended { limit, doing: format!("comparing {ops} operations on {keys} keys with timestamps") }
    };
    let _held = limits.hold(Moments::bytes(history.txn_count())).map_err(ended)?;
    let gap = gaps::first_gap(history);
    let complete = history.meta().complete && gap.is_none();
    let mut case = TimedCase::new(keys, promise, standings.to_vec(), complete);
    let settled = unknown::settle(&mut case, limits).map_err(ended)?;
    let mut found = judge_all(&case, limits).map_err(ended)?;
    found.doubts.splice(0..0, settled.doubts.iter().copied());
    found.findings.sort_unstable_by_key(TimedFinding::place);
    Ok(verdict(&case, &found, &settled, gap, witnesses))
}

/// A piece of the work.
enum TimedPiece {
    Sessions,
    Keys(std::ops::Range<usize>),
}

/// Holds the rules against all sessions and all keys, on all cores.
fn judge_all(case: &TimedCase<'_, '_>, limits: &Limits<'_>) -> Result<TimedFindings, Limit> {
    let keys = case.keys.index.pieces().into_iter().map(TimedPiece::Keys);
    let pieces: Vec<TimedPiece> = std::iter::once(TimedPiece::Sessions).chain(keys).collect();
    let parts = parallel::map(case.keys.index.size, &pieces, |piece| {
        limits.go_on()?;
        let mut found = TimedFindings::default();
        match piece {
            TimedPiece::Sessions => sessions::judge(case, &mut found),
            TimedPiece::Keys(keys) => {
                let mut key = JudgedKey::default();
                keys.clone().for_each(|at| key.judge(case, at, &mut found));
            }
        }
        Ok(found)
    });
    let mut all = TimedFindings::default();
    for part in parts {
        all.append(part?);
    }
    Ok(all)
}

fn verdict(
    case: &TimedCase<'_, '_>,
    found: &TimedFindings,
    settled: &Settled,
    gap: Option<TxnId>,
    keep: usize,
) -> Verdict {
    let words = Wording(case.keys.history);
    let (kept, counts) = told(case, &found.findings, settled, keep);
    let answer = match (kept.is_empty(), found.doubts.first()) {
        (false, _) => Answer::Violated(kept),
        (true, None) => Answer::Holds,
        (true, Some(first)) => Answer::Unknown(doubts(&words, first, &found.doubts)),
    };
    let mut notes = Vec::new();
    if let Some(txn) = gap {
        notes.push(format!(
            "the sequence numbers of sessions have gaps, the first before transaction {}: the history is \
             taken to be incomplete",
            words.txn(txn)
        ));
    }
    for point in settled.assumed.iter().take(10) {
        notes.push(format!(
            "the outcome of transaction {} is unknown, and it was read: it is taken to have committed",
            words.txn(point.txn)
        ));
    }
    let mut procedure = procedure(case.keys, case.promise);
    if settled.tried > 0 {
        procedure.figures.push(("commit points tried", settled.tried));
    }
    Verdict { promise: case.promise, answer, counts, notes, procedure }
}

/// The first findings of each kind as witnesses, and how many there are.
fn told(
    case: &TimedCase<'_, '_>,
    findings: &[TimedFinding],
    settled: &Settled,
    keep: usize,
) -> (Vec<Witness>, Vec<Counted>) {
    let mut explainer = TimedExplainer::new(case, &settled.assumed);
    let (mut kept, mut counts) = (Vec::new(), Vec::new());
    for same in findings.chunk_by(|a, b| a.anomaly == b.anomaly) {
        kept.extend(same.iter().take(keep).map(|finding| explainer.witness(finding)));
        let of_op = |op| case.keys.history.txn_of(op).0 + 1;
        let visible = |f: &TimedFinding| {
            let others = [f.op.map(of_op), f.other.map(of_op), f.opponent.map(|txn| txn.0 + 1)];
            others.into_iter().flatten().chain([f.txn.0 + 1]).max().unwrap_or(0)
        };
        let mut positions: Vec<u32> = same.iter().map(visible).collect();
        positions.sort_unstable();
        let (anomaly, count) = (same[0].anomaly, same.len() as u64);
        counts.push(Counted { anomaly, count, at_least: false, positions });
    }
    (kept, counts)
}

/// The verdict on a history that lacks what is needed.
fn refused(keys: &SortedKeys<'_>, promise: Promise, supply: &Supply) -> Verdict {
    let answer = Answer::Unknown(supply.reason(promise.level));
    let procedure = procedure(keys, promise);
    Verdict { promise, answer, counts: Vec::new(), notes: Vec::new(), procedure }
}

fn procedure(keys: &SortedKeys<'_>, promise: Promise) -> Procedure {
    let history = keys.history;
    let (evidence, why) = match promise.level {
        Level::Serializable => (
            "commit timestamps",
            "commit order is said to be the serial order, so it can be replayed",
        ),
        _ => ("start and commit timestamps", "timestamps say which versions each transaction sees"),
    };
    let figures = vec![
        ("transactions", history.txn_count() as u64),
        ("operations", history.op_count() as u64),
        ("keys", history.key_count() as u64),
    ];
    let evidence = vec![evidence.to_owned()];
    Procedure { name: "timestamps", evidence, why: why.to_owned(), figures, places: Vec::new() }
}

fn doubts(words: &Wording<'_>, first: &TimedDoubt, all: &[TimedDoubt]) -> String {
    let kind = std::mem::discriminant(first);
    let same = all.iter().filter(|d| std::mem::discriminant(*d) == kind).count();
    let more = if same > 1 { format!(" (and {} more like it)", same - 1) } else { String::new() };
    let key = |key: &Key| words.key(*key);
    let first = match first {
        TimedDoubt::Of(doubt) => words.doubt(doubt),
        TimedDoubt::Tie(a, b, at) => format!(
            "transactions {} and {} have the same commit timestamp, and one wrote key {} that the other \
             read or wrote (TimestampTie): their order is open",
            words.txn(*a),
            words.txn(*b),
            key(at)
        ),
        TimedDoubt::NoStart(txn) => format!(
            "transaction {} was read, its outcome is unknown, and no timestamp says when it started",
            words.txn(*txn)
        ),
        TimedDoubt::NotTried(txn) => format!(
            "the limit of steps was reached while looking for the time when transaction {}, whose outcome is \
             unknown, committed (--order-steps allows more)",
            words.txn(*txn)
        ),
        TimedDoubt::GivenOrder(at) => format!(
            "the recorded version order of key {} is not the order of commit timestamps",
            key(at)
        ),
    };
    first + &more
}
