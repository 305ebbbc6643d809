//! A graph together with its components, since most questions need both.

use crate::components::Components;
use crate::edges::EdgeList;
use crate::graph::{Graph, TooLarge};
use crate::kinds::Kinds;
use crate::node::Node;

/// A graph and its strongly connected components.
#[derive(Clone, Debug)]
pub struct Partitioned<N, K> {
    /// The graph.
    pub graph: Graph<N, K>,
    /// Which of its nodes reach each other.
    pub components: Components,
}

impl<N: Node, K: Kinds> Partitioned<N, K> {
    /// Sorts edges into a graph and finds its components.
    ///
    /// # Errors
    ///
    /// If there are more nodes or edges than a graph may have.
    pub fn new(nodes: usize, lists: &[&EdgeList<N, K>]) -> Result<Partitioned<N, K>, TooLarge> {
        let graph = Graph::new(nodes, lists)?;
        let components = graph.components();
        Ok(Partitioned { graph, components })
    }
}
