//! SESSION, and timestamps that contradict themselves: what needs no key.

use isolde_history::{SessionId, TxnId};
use isolde_spec::{Anomaly, Axiom};

use crate::keys::standing::Standing;
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::{TimedFinding, TimedFindings};
use crate::timestamps::rules::{Ordering, Place, keeps_session_order};
use crate::timestamps::supply::wrote;
use crate::timestamps::ticks::Tick;

/// Finds transactions whose own timestamps are wrong, or that do not see what their session did before.
pub(crate) fn judge(case: &TimedCase<'_>, out: &mut TimedFindings) {
    if case.ordering == Ordering::Snapshots {
        bad_timestamps(case, out);
    }
    if case.promise.session_order {
        for session in 0..case.keys.history.session_count() as u32 {
            judge_session(case, SessionId(session), out);
        }
    }
}

fn bad_timestamps(case: &TimedCase<'_>, out: &mut TimedFindings) {
    let pairs = case.ticks.start.iter().zip(&case.ticks.commit).enumerate();
    let suspect = pairs.filter(|(_, (start, commit))| start >= commit);
    for (at, (start, commit)) in suspect {
        let txn = TxnId(at as u32);
        let known = *start != Tick::NEVER && *commit != Tick::NEVER;
        if known && case.counts(txn) && has_bad_timestamps(case, txn) {
            let (anomaly, axiom) = match case.by_snapshots() {
                true => (Anomaly::BadSnapshot, Axiom::Snapshots),
                false => (Anomaly::BadTimestamps, Axiom::Stamps),
            };
            out.findings.push(TimedFinding::new(anomaly, axiom, txn));
        }
    }
}

/// Whether the timestamps of a transaction contradict each other.
pub(crate) fn has_bad_timestamps(case: &TimedCase<'_>, txn: TxnId) -> bool {
    case.stamps(txn).are_bad(wrote(&case.keys.history.txn(txn)))
}

fn judge_session(case: &TimedCase<'_>, session: SessionId, out: &mut TimedFindings) {
    let mut bound: Option<(Tick, TxnId)> = None;
    for &txn in case.keys.history.session(session) {
        if !case.counts(txn) {
            continue;
        }
        if let Some((bound, before)) = bound
            && !comes_after(case, bound, txn)
        {
            let anomaly = Anomaly::SessionGuaranteeViolation;
            let finding = TimedFinding::new(anomaly, Axiom::Session, txn);
            out.findings.push(TimedFinding { opponent: Some(before), ..finding });
        }
        // What is of unknown outcome may have committed later than anything its session did next.
        if case.standings[txn.index()] != Standing::Committed {
            continue;
        }
        let binds = binds(case, txn);
        if binds.is_some_and(|at| bound.is_none_or(|(most, _)| at > most)) {
            bound = binds.map(|at| (at, txn));
        }
    }
}

/// Whether a transaction comes after what binds its session.
pub(crate) fn comes_after(case: &TimedCase<'_>, bound: Tick, txn: TxnId) -> bool {
    let place = match case.exclusive_place(txn) {
        Some(at) => Place { at, inclusive: false },
        None => Place { at: case.limit(txn), inclusive: true },
    };
    place.at == Tick::NEVER || keeps_session_order(bound, place)
}

/// Up to when later transactions of its session have to see.
pub(crate) fn binds(case: &TimedCase<'_>, txn: TxnId) -> Option<Tick> {
    match case.ordering {
        Ordering::Snapshots => {
            let (start, commit) = (case.ticks.seen_by(txn), case.ticks.commit_of(txn));
            // A number without a write does not say that anything was committed.
            let counts = !case.by_snapshots() || wrote(&case.keys.history.txn(txn));
            commit.known().filter(|_| counts).or(start.known())
        }
        Ordering::Commits { .. } => case.exclusive_place(txn).or(case.limit(txn).known()),
    }
}
