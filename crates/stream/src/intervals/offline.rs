//! The same for a whole history.

use isolde_check::Options;
use isolde_history::History;
use isolde_spec::{Profile, Verdict};

use super::flow::breaches;
use super::witness;

/// Holds a history to the mechanisms of its server. If nothing contradicts them, that is enough if at least this share of all
/// dependencies could be decided (from 0 to 1).
pub fn decide(history: &History, profile: &Profile, options: &Options, share: f64) -> Verdict {
    let (found, tally) = breaches(history, profile);
    witness::verdict(history, profile, &found, tally, options, share)
}
