//! An order of versions in which no update is lost, for cursor stability.

use hashbrown::HashMap;

use crate::graph::edges::TxnGraph;
use crate::graph::node::Node;
use crate::unordered::unordered_key::UnorderedKey;

/// Whether an order that the graph allows puts every update right behind what it read. That is a
/// proof; that it does not is none, since another order may.
pub(crate) fn explains(graph: &TxnGraph, open: &[UnorderedKey]) -> bool {
    let Some(times) = graph.topological_times() else { return false };
    open.iter().all(|key| {
        let mut order: Vec<Node> = key.writers.clone();
        order.sort_unstable_by_key(|writer| times[writer.at()]);
        let places: HashMap<Node, usize> = order.into_iter().zip(1..).collect();
        key.ambiguous.is_empty()
            && key.reads.iter().all(|(reader, version)| {
                let Some(place) = places.get(reader) else { return true };
                let read = key.writer(*version).and_then(|writer| places.get(&writer));
                *place == read.map_or(0, |read| *read) + 1
            })
    })
}
