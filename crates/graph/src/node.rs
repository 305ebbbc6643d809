//! What a node has to be: a number of its own, below the number of nodes.

use std::fmt::Debug;
use std::hash::Hash;

/// A node of a graph. Nodes are dense: those of a graph with `n` nodes have the indices `0..n`.
pub trait Node: Copy + Eq + Ord + Hash + Debug + Send + Sync {
    /// The node with an index.
    fn from_index(index: u32) -> Self;

    /// The index of the node.
    fn index(self) -> u32;
}

impl Node for u32 {
    #[inline]
    fn from_index(index: u32) -> u32 {
        index
    }

    #[inline]
    fn index(self) -> u32 {
        self
    }
}
