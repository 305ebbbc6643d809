//! What is allowed: procedures that decide which isolation levels explain a history.
//!
//! No input or output, no clock, no recursion over data.

mod graph;
mod group;
mod play;
mod provenance;
mod scan;
