//! Which operations show an anomaly.

use std::collections::HashSet;

use isolde_history::OpId;
use isolde_spec::{Step, Witness};

use super::sources::Sources;

/// The operations that a reader of a witness must look at: those that its dependencies and
/// its reasons name, those of local anomalies, and the writes of what they read.
pub(super) fn cited(witness: &Witness, sources: &Sources<'_>) -> HashSet<OpId> {
    let forced = witness.forced.iter().flat_map(|forced| &forced.path);
    let ops = |step: &Step| [step.because.from_op, step.because.to_op];
    let steps = witness.steps.iter().chain(forced).flat_map(ops).flatten();
    let stuck =
        witness.stuck.iter().flat_map(|stuck| stuck.prefix.iter().copied().chain([stuck.op]));
    let reads = witness.forced.iter().map(|forced| forced.read);
    let mut cited: HashSet<OpId> =
        steps.chain(reads).chain(stuck).chain(witness.ops.iter().copied()).collect();
    let writes: Vec<OpId> = cited.iter().filter_map(|read| sources.of(*read)).collect();
    cited.extend(writes);
    cited
}
