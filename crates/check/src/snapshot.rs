//! The graph of snapshot isolation: dependencies, each followed by at most one anti-dependency.
//!
//! Two layers instead of a composition of edges: in the lower one a walk may take a dependency, which
//! leads back to the lower layer or up to the upper one; from the upper one it must take an
//! anti-dependency, which leads down. A cycle here is a cycle there, with no pair of anti-dependencies
//! next to each other. Only the parts that serializability finds cyclic need the search.

use isolde_spec::Edges;

use crate::cycle::DEPENDENCIES;
use crate::graph::{Components, EdgeList, Graph};

/// The node of the lower layer: the transaction commits.
pub(crate) const fn commit(node: u32) -> u32 {
    2 * node
}

/// The node of the upper layer: the transaction takes its snapshot.
pub(crate) const fn start(node: u32) -> u32 {
    2 * node + 1
}

/// The two layers of a graph; `keep` says which nodes are in them, and `number` under which number.
pub(crate) fn layers(
    graph: &Graph,
    count: usize,
    number: impl Fn(u32) -> Option<u32>,
    together: impl Fn(u32, u32) -> bool,
) -> Graph {
    let mut layered = EdgeList::default();
    for node in 0..graph.node_count() as u32 {
        let Some(from) = number(node) else { continue };
        for (to, edge) in graph.edges(node).filter(|(to, _)| together(node, *to)) {
            let Some(to) = number(to) else { continue };
            if edge.intersects(DEPENDENCIES) {
                layered.push(commit(from), commit(to), Edges::WR);
                layered.push(commit(from), start(to), Edges::WR);
            }
            if edge.contains(Edges::RW) {
                layered.push(start(from), commit(to), Edges::RW);
            }
        }
    }
    Graph::new(2 * count, &layered)
}

/// Whether the history's graph has no cycle that snapshot isolation forbids.
pub(crate) fn acyclic(graph: &Graph, components: &Components) -> bool {
    let mut numbers = vec![None; graph.node_count()];
    let mut count = 0;
    for (node, number) in numbers.iter_mut().enumerate() {
        if components.sizes[components.of[node] as usize] > 1 {
            *number = Some(count);
            count += 1;
        }
    }
    let together = |a: u32, b: u32| components.of[a as usize] == components.of[b as usize];
    let layered = layers(graph, count as usize, |node| numbers[node as usize], together);
    layered.components(Edges::ALL).acyclic()
}
