//! What to run: transactions made from a seed.
//!
//! A [`Workload`] gives each session a [`Script`], and a script gives one [`TxnPlan`] after another.
//! The same seed gives the same plans on every machine, however fast the sessions get on: what a
//! script says depends on the seed and the number of its session, never on an answer.

mod pick;
mod plan;
mod random;
mod workload;

pub use pick::{Distribution, Picker};
pub use plan::{Step, TxnPlan};
pub use random::Random;
pub use workload::{Kind, Script, Settings, Workload};
