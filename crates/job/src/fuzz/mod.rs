//! Random SQL transactions against a database: workers, each with a room of its own, take one case after another.
//!
//! What a case is and what is found in it depends on its number and the seed alone, not on the worker.

mod folder;
mod found;
mod plan;
mod search;
mod tally;
mod worker;

pub use folder::{Replayed, SavedFinding, replay};
pub use found::{Found, What};
pub use plan::{FuzzPlan, offer_for};
pub use search::{Fuzzed, fuzz};
pub use tally::{FuzzTally, GaveUp};
