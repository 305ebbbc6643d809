//! Single operations on objects: is there one order of them, in which real time is respected, that
//! explains what each returned?
//!
//! It is a local question: every object has an order of its own, or the history has none. So each key
//! is asked alone, on all cores. Two things make several keys one object: transactions of several
//! operations, which take effect at once, and sessions that say more than real time does, because
//! intervals touch or are missing. There the road of transactions is asked first, which is linear where
//! the order of versions is known.

pub(crate) mod call;
mod chain;
#[cfg(test)]
mod chain_twin;
mod decide;
mod explain;
mod group;
mod links;
mod memo;
mod model;
mod object;
mod register;
mod search;
mod sequence;
mod several;
mod why;
mod zones;

pub(crate) use decide::{decide, in_program_order};
pub use model::{Limit, Limits, Linearized, Model, Timed, linearize};
