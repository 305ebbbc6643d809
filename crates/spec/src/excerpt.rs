//! The piece of a history that shows an anomaly, as a history of its own.

use std::collections::HashSet;

use isolde_history::notation::{Excerpt, excerpt_to_text};
use isolde_history::{History, Op, OpId, OpKind, TxnId};

use crate::anomaly::Anomaly;
use crate::verdict::Witness;

/// The transactions that a witness involves, in the notation: a small history that shows the same
/// anomaly when it is checked alone.
///
/// Who wrote the other values that these transactions read is left out, so the small history says
/// that it is not complete. Only what nobody wrote, or what a predicate read missed, needs the claim
/// that it is: there, what else was read is left out instead.
pub fn excerpt(history: &History, witness: &Witness) -> String {
    let mut txns: Vec<TxnId> = witness.involved().collect();
    txns.sort_unstable();
    let because = witness.steps.iter().map(|step| step.because);
    let cited = because.flat_map(|because| [because.from_op, because.to_op]).flatten();
    let cited: HashSet<OpId> = cited.chain(witness.ops.iter().copied()).collect();
    let ops = witness.involved().flat_map(|txn| history.txn(txn).ops());
    let mut predicates = ops.filter(|op| op.kind() == OpKind::PredicateRead);
    let nobody = matches!(witness.anomaly, Anomaly::ThinAirRead | Anomaly::IncompatibleOrder);
    let complete = nobody || predicates.any(|op| cited.contains(&op.id()));
    let other = |op: &Op<'_>| {
        matches!(op.kind(), OpKind::Read | OpKind::ListRead) && !cited.contains(&op.id())
    };
    let ops = witness.txns.iter().flat_map(|txn| history.txn(*txn).ops());
    let hidden: Vec<OpId> = ops.filter(|op| complete && other(op)).map(|op| op.id()).collect();
    excerpt_to_text(history, &Excerpt { txns: &txns, complete, hidden: &hidden })
}
