//! What is allowed: procedures that decide which isolation levels explain a history.
//!
//! No input or output, no clock but a deadline, no recursion over data.

mod ambiguous;
mod checker;
mod context;
mod cursor;
mod cycle;
mod decide;
mod edges;
mod facts;
mod found;
mod graph;
mod group;
mod index;
mod later;
mod linear;
mod lists;
mod name;
mod open;
mod order;
mod parallel;
mod play;
mod predicates;
mod provenance;
mod real_time;
mod reasons;
mod replay;
mod saturate;
mod savepoints;
mod search;
mod snapshot;
mod unread;
mod values;
mod walk;
mod weak;
mod witness;
mod words;

pub use checker::{Checker, Options, Road, check};
pub use linear::{Limit, Limits, Linearized, Model, Timed, linearize};
