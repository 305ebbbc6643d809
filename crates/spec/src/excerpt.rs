//! The piece of a history that shows an anomaly, as a history of its own.

use std::collections::HashSet;

use isolde_history::notation::{Excerpt, excerpt_to_text};
use isolde_history::{Effect, History, Op, OpId, OpKind, Outcome, TxnId, Value};

use crate::anomaly::Anomaly;
use crate::verdict::Witness;

/// The transactions that a witness involves, in the notation: a small history that shows the same
/// anomaly when it is checked alone.
///
/// The writers of the other values that these transactions read are left out, so the small history
/// says that it is not complete. Only a value that was never written, a row that a predicate read
/// missed, or what client intervals show, needs the claim that it is complete: there, the other reads are left out instead.
pub fn excerpt(history: &History, witness: &Witness) -> String {
    let mut txns: Vec<TxnId> = witness.involved().chain(aborted_before(history, witness)).collect();
    txns.sort_unstable();
    txns.dedup();
    let because = witness.steps.iter().map(|step| step.because);
    let cited = because.flat_map(|because| [because.from_op, because.to_op]).flatten();
    let cited: HashSet<OpId> = cited.chain(witness.ops.iter().copied()).collect();
    let ops = witness.involved().flat_map(|txn| history.txn(txn).ops());
    let mut predicates = ops.filter(|op| op.kind() == OpKind::PredicateRead);
    let nobody = match witness.anomaly {
        Anomaly::ThinAirRead | Anomaly::IncompatibleOrder => true,
        // The writers of the values that its operations saw are there. Writers of the values that
        // those writers saw may be missing.
        Anomaly::NotLinearizable => history.meta().complete && !misses_a_writer(history, witness),
        _ => false,
    };
    // What a snapshot or a lock of the server's can have been rests on all that was written.
    let by_intervals = witness.mirrored.is_some();
    let complete = nobody || by_intervals || predicates.any(|op| cited.contains(&op.id()));
    let other = |op: &Op<'_>| {
        matches!(op.kind(), OpKind::Read | OpKind::ListRead) && !cited.contains(&op.id())
    };
    let of = if by_intervals { &txns } else { &witness.txns };
    let ops = of.iter().flat_map(|txn| history.txn(*txn).ops());
    let hidden: Vec<OpId> = ops.filter(|op| complete && other(op)).map(|op| op.id()).collect();
    excerpt_to_text(history, &Excerpt { txns: &txns, complete, hidden: &hidden })
}

/// The aborted transactions that came right before those of a witness, each in the same session. What
/// went wrong often began there: a client whose transaction was refused, and that went on.
pub fn aborted_before(history: &History, witness: &Witness) -> Vec<TxnId> {
    if witness.stuck.is_some() {
        return Vec::new();
    }
    let before = |txn: &TxnId| {
        let session = history.session(history.txn(*txn).session());
        let at = session.binary_search(txn).ok()?;
        let before = *session.get(at.checked_sub(1)?)?;
        (history.txn(before).outcome() == Outcome::Aborted).then_some(before)
    };
    let mut all: Vec<TxnId> = witness.txns.iter().filter_map(before).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether an operation of the witness saw a value that only transactions outside it wrote. An
/// operation that may not have taken effect need not have seen anything. A text to which pieces are
/// appended has no single writer.
fn misses_a_writer(history: &History, witness: &Witness) -> bool {
    let ops: Vec<Op<'_>> = witness.involved().flat_map(|txn| history.txn(txn).ops()).collect();
    let model = history.info("model").and_then(|model| history.pool().as_text(model));
    let texts = model == Some("string-append");
    let missing = |op: &Op<'_>, value: Value| {
        let wrote = |o: &&Op<'_>| o.kind().writes() && o.key() == op.key() && o.id() != op.id();
        history.meta().initial.of(op.key()).unwrap_or(Value::ABSENT) != value
            && !ops.iter().filter(wrote).any(|o| o.value() == value)
            && history.ops().any(|o| wrote(&&o) && o.value() == value)
    };
    let committed =
        |op: &Op<'_>| history.txn(history.txn_of(op.id())).outcome() == Outcome::Committed;
    ops.iter().any(|op| match op.kind() {
        OpKind::Read if op.value() == Value::UNOBSERVED || texts => false,
        OpKind::Read => missing(op, op.value()),
        OpKind::Cas if op.effect() == Effect::Done && committed(op) => {
            op.expected().is_some_and(|expected| missing(op, expected))
        }
        _ => false,
    })
}
