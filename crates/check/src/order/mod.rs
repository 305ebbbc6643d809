//! Ways to know the version order of a key, and the dependencies that follow from an order.
//!
//! A new way to know an order is a new file here that makes a [`shown::ShownOrder`]; the
//! [`orderer::Orderer`] turns orders into dependencies.

mod appends;
pub(crate) mod dependency;
pub(crate) mod extended;
mod given;
pub(crate) mod known;
mod lists;
pub(crate) mod orderer;
mod prefixes;
mod readers;
mod shown;
