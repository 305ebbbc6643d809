//! What to run: transactions made from a seed.
//!
//! A [`Workload`] gives each session a [`Script`], and a script gives one [`TxnPlan`] after another.
//! The same seed gives the same plans on every machine, however fast the sessions get on: what a
//! script says depends on the seed and the number of its session, never on an answer.
//!
//! [`simulate`] runs the same scripts against a simulated database and makes a history of it;
//! [`strain`] makes histories that are hard to check.

mod append;
mod application;
mod cas;
mod favour;
mod general;
mod mini;
mod mix;
mod pick;
mod plan;
mod random;
mod register;
mod rubis;
mod script;
mod settings;
mod shapes;
pub mod simulate;
pub mod strain;
mod tpcc;
mod twitter;
mod workload;

pub use application::TxnType;
pub use favour::favoured;
pub use pick::{Distribution, Picker};
pub use plan::{Step, TxnPlan};
pub use random::Random;
pub use script::Script;
pub use settings::{Kind, Settings};
pub use shapes::{SHAPES, Shape};
pub use workload::Workload;
