//! The levels that are decided by a graph of dependencies: prefixes and all that is stronger.

pub(crate) mod decide;
