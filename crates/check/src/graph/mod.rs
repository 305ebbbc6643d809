//! The dependency graph of transactions.

pub(crate) mod csr;
pub(crate) mod cursor_stability;
pub(crate) mod edges;
pub(crate) mod key_walk;
pub(crate) mod layers;
pub(crate) mod order_steps;
pub(crate) mod real_time;
