//! The dependency graph of transactions: its nodes and kinds of edge, and where its edges come from.

pub(crate) mod cursor_stability;
pub(crate) mod edges;
pub(crate) mod evidence;
pub(crate) mod key_walk;
pub(crate) mod kinds;
pub(crate) mod node;
pub(crate) mod order_steps;
pub(crate) mod real_time;
pub(crate) mod visibility;
