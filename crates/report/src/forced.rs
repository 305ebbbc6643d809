//! Why an inferred dependency must be, in words: the read that forces it, and how the reader
//! had seen the other writer.

use isolde_history::History;
use isolde_spec::{Edges, Forced, Step, Witness};

use crate::names;

/// Why a step must be, if that has been kept.
pub(crate) fn reason(w: &Witness, step: usize) -> Option<&Forced> {
    w.forced.iter().find(|forced| forced.step == step)
}

/// "because T3 saw T2 and yet read x of T1".
pub(crate) fn because(history: &History, step: &Step, forced: &Forced) -> String {
    let (from, to) = (names::txn(history, step.from), names::txn(history, step.to));
    let reader = names::txn(history, history.txn_of(forced.read));
    let read = names::op(history, forced.read);
    if step.kind == Edges::RW {
        return format!("inferred: {read} is older than what {to} wrote, because");
    }
    format!(
        "inferred: {reader}, which had seen {from}, read {read} of {to}, so {from} came first. It had seen {from}, because"
    )
}
