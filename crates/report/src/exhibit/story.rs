//! What happened, in one or two sentences.

use isolde_history::History;
use isolde_spec::Witness;

/// The story of a witness.
pub(super) fn tell(_history: &History, witness: &Witness) -> String {
    format!("{}.", witness.anomaly.entry().meaning)
}
