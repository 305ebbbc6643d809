//! What to run: transactions made from a seed.
//!
//! A [`Workload`] gives each session a [`Script`], and a script gives one [`TxnPlan`] after another.
//! The same seed gives the same plans on every machine, however fast the sessions get on: what a
//! script says depends on the seed and the number of its session, never on an answer.

mod plan;

pub use plan::{Step, TxnPlan};
