//! The levels that are decided by a dependency graph: prefix consistency and all that is stronger, and
//! Adya's cursor stability and repeatable read.

mod by_graph;

pub(crate) use by_graph::{decide, order_is_open};
