//! Single operations on objects: is there one order of them, in which real time is respected, that
//! explains what each returned?
//!
//! It is a local question: every object has an order of its own, or the history has none.

#![allow(dead_code, reason = "on its way")]

pub(crate) mod call;
pub(crate) mod chain;
#[cfg(test)]
mod chain_twin;
