//! Single operations on objects: is there one order of them, in which real time is respected, that
//! explains what each returned?
//!
//! It is a local question: every object has an order of its own, or the history has none. So each key
//! is asked alone, on all cores. Two things make several keys one object: transactions of several
//! operations, which take effect at once, and sessions that say more than real time does, because
//! intervals touch or are missing. There strict serializability is asked first, which is linear where
//! version order known for all keys.

mod answers;
mod by_groups;
mod by_keys;
pub(crate) mod call;
mod chain;
#[cfg(test)]
mod chain_twin;
mod explain;
mod keys_apart;
mod linearize;
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

pub(crate) use by_groups::{decide as by_groups, in_program_order};
pub(crate) use by_keys::{contradicts_itself, decide as by_keys};
pub(crate) use keys_apart::KeysApart;
pub use linearize::{Linearized, linearize};
pub use model::{Model, Timed};
