//! What is allowed: procedures that decide which isolation levels explain a history.
//!
//! No input or output, no clock but a deadline, no recursion over data.

mod checker;
mod counting_sort;
mod explain;
mod graph;
mod keys;
mod linear;
mod maybe_index;
mod order;
mod parallel;
mod strong;
mod unordered;
mod weak;

pub use checker::{Checker, Options, Road, check};
pub use linear::{Limit, Limits, Linearized, Model, Timed, linearize};
