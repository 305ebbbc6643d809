//! An order of the versions of unordered keys, chosen and then checked.

use isolde_graph::{Half, Node as _, TooLarge};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, TxnGraph};
use crate::graph::node::Node;
use crate::graph::visibility::Visibility;
use crate::unordered::unordered_key::{UnorderedKey, Version};

/// An order of the versions of unordered keys that the graph allows, as edges: if the graph with them
/// has no forbidden cycle, it is an explanation. `None` if the graph has a forbidden cycle already.
pub(crate) fn choose(
    visibility: Visibility,
    graph: &TxnGraph,
    open: &[UnorderedKey],
    mut chosen: TxnEdges,
) -> Result<Option<TxnEdges>, TooLarge> {
    let Some(times) = visibility.layers(graph)?.topological_times() else { return Ok(None) };
    for key in open {
        let mut order: Vec<usize> = (0..key.writers.len()).collect();
        let writer = |at: usize| key.writers[at];
        let commits = |at: usize| times[Half::lower(writer(at)).index() as usize];
        order.sort_unstable_by_key(|at| commits(*at));
        for pair in order.windows(2) {
            chosen.push(writer(pair[0]), writer(pair[1]), Edges::WW.into());
        }
        // What follows each version.
        let mut next: Vec<Option<Node>> = vec![None; key.writers.len() + 1];
        let versions = order.iter().map(|at| Version::of_writer(*at));
        let before = std::iter::once(Version::INITIAL).chain(versions);
        before.zip(&order).for_each(|(version, at)| next[version.number()] = Some(writer(*at)));
        for (reader, version) in &key.reads {
            if let Some(next) = next[version.number()] {
                chosen.push(*reader, next, Edges::RW.into());
            }
        }
    }
    Ok(Some(chosen))
}
