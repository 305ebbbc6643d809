//! The graph of snapshots: dependencies, each followed by at most one anti-dependency. Snapshot
//! isolation lets it follow any dependency, the level of prefixes only those by which something was
//! seen.
//!
//! Two layers instead of a composition of edges: in the lower one a walk may take a dependency, which
//! leads back to the lower layer or up to the upper one; from the upper one it must take an
//! anti-dependency, which leads down. A cycle here is a cycle there, with no pair of anti-dependencies
//! next to each other. Only the parts that serializability finds cyclic need the search.

use isolde_spec::Edges;

use crate::explain::cycle::DEPENDENCIES;
use crate::graph::edges::{EdgeList, VIA};
use crate::graph::csr::{Components, Graph};
use crate::unordered::force::Visibility;

/// The node of the lower layer: the transaction commits.
pub(crate) const fn commit(node: u32) -> u32 {
    2 * node
}

/// The node of the upper layer: the transaction takes its snapshot.
pub(crate) const fn start(node: u32) -> u32 {
    2 * node + 1
}

/// The two layers of a graph; `number` says which nodes are in them, and under which number.
pub(crate) fn layers(
    graph: &Graph,
    sees: Visibility,
    number: impl Fn(u32) -> Option<u32>,
    together: impl Fn(u32, u32) -> bool,
) -> Graph {
    let count =
        (0..graph.node_count() as u32).filter_map(&number).max().map_or(0, |n| n as usize + 1);
    let mut layered = EdgeList::new(2 * count);
    for node in 0..graph.node_count() as u32 {
        let Some(from) = number(node) else { continue };
        for (to, edge) in graph.edges(node).filter(|(to, _)| together(node, *to)) {
            let Some(to) = number(to) else { continue };
            if edge.intersects(DEPENDENCIES) {
                layered.push(commit(from), commit(to), Edges::WR);
            }
            if edge.intersects(sees.seen()) {
                layered.push(commit(from), start(to), Edges::WR);
            }
            if edge.contains(VIA) {
                layered.push(commit(from), commit(to), Edges::RW);
            }
            if edge.contains(Edges::RW) {
                layered.push(start(from), commit(to), Edges::RW);
            }
        }
    }
    Graph::new(2 * count, &[&layered])
}

/// The nodes on cycles that snapshot isolation forbids, those of a strongly connected part together,
/// each with one of them from which a walk that begins with a dependency comes back.
pub(crate) fn cyclic(graph: &Graph, components: &Components, sees: Visibility) -> Vec<(u32, Vec<u32>)> {
    let cyclic = components.cyclic();
    let nodes: Vec<u32> = cyclic.into_iter().flatten().collect();
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut numbers = vec![None; graph.node_count()];
    for (number, node) in nodes.iter().enumerate() {
        numbers[*node as usize] = Some(number as u32);
    }
    let together = |a: u32, b: u32| components.of[a as usize] == components.of[b as usize];
    let layered = layers(graph, sees, |node| numbers[node as usize], together);
    let both_layers = |part: Vec<u32>| {
        let lower = part.iter().find(|n| *n % 2 == 0).or(part.first()).copied().unwrap_or(0);
        let mut part: Vec<u32> = part.into_iter().map(|n| nodes[n as usize / 2]).collect();
        part.dedup();
        (nodes[lower as usize / 2], part)
    };
    layered.components().cyclic().into_iter().map(both_layers).collect()
}
