//! Commits that the server had confirmed and has lost: no level allows that, whatever it is judged by.

use isolde_history::{History, TxnId};
use isolde_spec::{Anomaly, Answer, Counted, Verdict, Witness};

/// Adds the commits that were lost to a verdict, before all else that it has. What else is wrong often follows
/// from them.
pub(crate) fn add(history: &History, verdict: Verdict, most: usize) -> Verdict {
    let lost: Vec<TxnId> = history.lost_txns().into_iter().map(|(txn, _)| txn).collect();
    if lost.is_empty() {
        return verdict;
    }
    let mut witnesses: Vec<Witness> =
        lost.iter().take(most).map(|txn| witness(history, *txn)).collect();
    let mut counts = vec![Counted {
        anomaly: Anomaly::LostCommit,
        count: lost.len() as u64,
        at_least: false,
        positions: lost.iter().map(|txn| txn.0 + 1).collect(),
    }];
    let (answer, mut notes) = (verdict.answer, verdict.notes);
    match answer {
        Answer::Holds | Answer::NoViolation { .. } => {}
        Answer::Violated(others) => witnesses.extend(others),
        Answer::Unknown(reason) => {
            notes.push(format!("what else is violated is unknown: {reason}"));
        }
    }
    counts.extend(verdict.counts);
    let answer = Answer::Violated(witnesses);
    Verdict { promise: verdict.promise, answer, counts, notes, procedure: verdict.procedure }
}

fn witness(history: &History, txn: TxnId) -> Witness {
    let writes = history.txn(txn).ops().filter(|op| op.kind().writes() && !op.undone());
    let ops = writes.map(|op| op.id()).collect();
    Witness { ops, txns: vec![txn], ..Witness::of(Anomaly::LostCommit) }
}
