//! Ways to know the order of versions of a key, and the dependencies that follow from an order.

pub(crate) mod lists;
pub(crate) mod orderer;
