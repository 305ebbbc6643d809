//! Which operations show an anomaly.

use std::collections::HashSet;

use isolde_history::{History, OpId, OpKind, Outcome, TxnId};
use isolde_spec::{Step, Witness};

/// The operations that somebody who checks a witness must look at: those that its dependencies and
/// its reasons name, those of local anomalies, and the writes of what they read.
pub(super) fn cited(history: &History, witness: &Witness) -> HashSet<OpId> {
    let forced = witness.forced.iter().flat_map(|forced| &forced.path);
    let ops = |step: &Step| [step.because.from_op, step.because.to_op];
    let steps = witness.steps.iter().chain(forced).flat_map(ops).flatten();
    let stuck =
        witness.stuck.iter().flat_map(|stuck| stuck.prefix.iter().copied().chain([stuck.op]));
    let reads = witness.forced.iter().map(|forced| forced.read);
    let mut cited: HashSet<OpId> =
        steps.chain(reads).chain(stuck).chain(witness.ops.iter().copied()).collect();
    let involved: Vec<TxnId> = witness.involved().collect();
    let sources: Vec<OpId> =
        cited.iter().filter_map(|read| source(history, &involved, *read)).collect();
    cited.extend(sources);
    cited
}

/// The write among these transactions whose value was read, if there is one.
pub(super) fn source(history: &History, among: &[TxnId], read: OpId) -> Option<OpId> {
    let op = history.op(read);
    let value = match op.kind() {
        OpKind::Read => op.value(),
        OpKind::Cas => op.expected()?,
        OpKind::ListRead => *op.elements()?.last()?,
        _ => return None,
    };
    let own = history.txn_of(read);
    let others = among.iter().filter(|txn| **txn != own).map(|txn| history.txn(*txn));
    let writes = others.flat_map(|txn| {
        let aborted = txn.outcome() == Outcome::Aborted;
        txn.ops().map(move |write| (aborted, write))
    });
    let wrote = |write: &isolde_history::Op<'_>| {
        write.kind().writes() && write.key() == op.key() && write.value() == value
    };
    let found = writes.filter(|(_, write)| wrote(write));
    found.min_by_key(|(aborted, write)| (*aborted, write.id())).map(|(_, write)| write.id())
}
