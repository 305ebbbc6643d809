//! What is allowed: procedures that decide which isolation levels explain a history.
//!
//! No input or output, no clock, no recursion over data.

mod cycle;
mod decide;
mod graph;
mod group;
mod lists;
mod order;
mod play;
mod provenance;
mod real_time;
mod replay;
mod saturate;
mod scan;
mod snapshot;
mod witness;

pub use decide::{Options, check};
