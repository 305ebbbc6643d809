//! What is wrong without any cycle: inside transactions, or with where they read from.

use isolde_history::OpId;
use isolde_spec::{Anomaly, CATALOGUE, Counted, Finding};

use crate::explain::violations::Violations;
use crate::explain::witness::Explainer;
use crate::keys::findings::{Doubt, Findings, LocalFinding};
use crate::keys::standing::Standing;
use crate::question::Question;

/// What is wrong inside transactions, or with where they read from.
pub(crate) fn violations(question: &Question<'_, '_>, keys: &Findings) -> Violations {
    let mut found = Violations::default();
    let explainer = Explainer::new(question.context(), question.promise.session_order);
    let all = &keys.findings;
    // Where values may come out of thin air, a read of what may not have been written proves nothing:
    // the transaction that may have written it may be left out, with all that is wrong inside it.
    let unsure = keys.doubts.iter().any(|doubt| matches!(doubt, Doubt::Unsure(_)));
    let proofs_fail = unsure && !Anomaly::ThinAirRead.forbidden_at(question.promise.level);
    let context = question.context();
    let proved = |op: &OpId| context.standing(context.history.txn_of(*op)) == Standing::Proved;
    let stands = |f: &&LocalFinding| !(proofs_fail && f.ops().iter().any(proved));
    for entry in CATALOGUE.iter().filter(|e| !matches!(e.finding, Finding::Cycle(_))) {
        if !entry.anomaly.forbidden_at(question.promise.level) {
            continue;
        }
        let named = all.iter().filter(|f| f.anomaly == entry.anomaly);
        let mut same: Vec<_> = named.filter(stands).collect();
        if same.is_empty() {
            continue;
        }
        same.sort_unstable();
        same.dedup();
        let kept = same.iter().take(question.options().witnesses);
        found.witnesses.extend(kept.map(|finding| explainer.local(finding)));
        let visible = |finding: &&LocalFinding| {
            let txns = finding.ops().iter().map(|op| context.history.txn_of(*op).0 + 1);
            txns.max().unwrap_or(0)
        };
        let mut positions: Vec<u32> = same.iter().map(visible).collect();
        positions.sort_unstable();
        let (anomaly, count) = (entry.anomaly, same.len() as u64);
        found.counts.push(Counted { anomaly, count, at_least: false, positions });
    }
    found
}

/// What is worth knowing beside an answer: what was ambiguous, or not used.
pub(crate) fn notes(question: &Question<'_, '_>, keys: &Findings) -> Vec<String> {
    let words = question.words();
    let ambiguous = |d: &&Doubt| matches!(d, Doubt::AmbiguousRead(_) | Doubt::EqualElements(_));
    let doubts = keys.doubts.iter().filter(ambiguous);
    let mut notes: Vec<String> = doubts.take(10).map(|d| words.doubt(d)).collect();
    if keys.failed > 0 {
        let what = if keys.failed == 1 { "operation" } else { "operations" };
        notes.push(format!("{} {what} failed, and what they saw is not used", keys.failed));
    }
    notes.extend(words.unsaid(keys.unsaid));
    notes
}
