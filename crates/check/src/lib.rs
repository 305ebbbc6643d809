//! What is allowed: procedures that decide which isolation levels explain a history.
//!
//! No input or output, no clock, no recursion over data.
//!
//! The modules are floors, and no lower one names an upper one: what is known of `keys`, ways to know
//! an `order` of versions, the `graph` of dependencies, what is done where the order is open
//! (`unordered`), how a violation is told (`explain`), the procedures (`weak`, `linear`,
//! `strong`, `timestamps`, `snapshots`), and the `plan` that says which of them decides a question.

mod checker;
mod explain;
mod graph;
mod keys;
mod lattice;
mod limits;
mod linear;
mod lost;
mod maybe_index;
mod options;
mod order;
mod plan;
mod question;
pub mod snapshots;
mod strong;
pub mod timestamps;
mod unordered;
mod weak;

pub use checker::{Checker, check};
pub use explain::name_of_cycle;
pub use limits::{Limit, Limits};
pub use linear::{Linearized, Model, Timed, linearize};
pub use options::{Method, Options};
