//! Versions that nobody read, under snapshot isolation.
//!
//! They may come in any order, but not concurrently. Where the graph has no cycle a serial order
//! explains everything; between the components of a graph with cycles too, one after the other. Only
//! writers of the same key in the same component need a choice, so only components are looked at.

use hashbrown::HashMap;
use isolde_history::Key;

use crate::checker::Sorted;
use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::graph::csr::{Components, Graph};
use crate::unordered::unordered_key::UnorderedKey;
use crate::unordered::inferences::{Edge, Inference, Inferences};
use crate::unordered::force::{self, Visibility};

/// The components of a graph that are not single nodes, with their open keys.
pub(crate) struct InsideComponents {
    /// Their nodes, which are numbered anew here.
    nodes: Vec<u32>,
    edges: EdgeList,
    open: Vec<UnorderedKey>,
    forced: EdgeList,
}

impl InsideComponents {
    /// Looks into the components. `None` if no key has a choice there.
    pub(crate) fn new(context: &Context<'_>, sorted: &Sorted, keys: &[Key]) -> Option<InsideComponents> {
        let components = &sorted.components;
        let nodes: Vec<u32> = components.cyclic().into_iter().flatten().collect();
        let numbers: HashMap<u32, u32> =
            nodes.iter().enumerate().map(|(i, node)| (*node, i as u32)).collect();
        let open: Vec<UnorderedKey> = UnorderedKey::all(context, keys)
            .iter()
            .flat_map(|key| split(key, components, &numbers))
            .collect();
        if open.is_empty() {
            return None;
        }
        let mut edges = EdgeList::new(nodes.len());
        for &node in &nodes {
            for (to, kind) in sorted.graph.edges(node) {
                if components.of[to as usize] == components.of[node as usize] {
                    edges.push(numbers[&node], numbers[&to], kind);
                }
            }
        }
        let forced = EdgeList::new(nodes.len());
        Some(InsideComponents { nodes, edges, open, forced })
    }

    /// The edges that every order of the open keys must have.
    pub(crate) fn force(&mut self, into: &mut EdgeList) -> Inferences {
        let (count, edges) = (self.nodes.len(), [&self.edges]);
        let inside =
            force::saturate(Visibility::Snapshot, count, &edges, &mut self.forced, &self.open);
        let node = |number: u32| self.nodes[number as usize];
        let mut reasons = Inferences::new(inside.sees);
        let mut forced: Vec<(Edge, Inference)> = inside.of.into_iter().collect();
        forced.sort_unstable_by_key(|(edge, _)| *edge);
        for ((from, to, kind), reason) in forced {
            into.push(node(from), node(to), kind);
            let path = reason.path.map(|(at, moment)| (node(at), moment));
            let also = reason.also.map(node);
            reasons.of.insert((node(from), node(to), kind), Inference { path, also, ..reason });
        }
        reasons
    }

    /// Whether some order of the open keys has no cycle that snapshot isolation forbids.
    pub(crate) fn choice_exists(&self) -> bool {
        let count = self.nodes.len();
        let graph = Graph::new(count, &[&self.edges, &self.forced]);
        let Some(chosen) =
            force::choose(Visibility::Snapshot, &graph, &self.open, EdgeList::new(count))
        else {
            return false;
        };
        force::explains(Visibility::Snapshot, count, &[&self.edges, &self.forced, &chosen])
    }
}

/// The writers of a key, component by component, where there are several: those that nobody reads
/// have no readers to go with them.
fn split(key: &UnorderedKey, components: &Components, numbers: &HashMap<u32, u32>) -> Vec<UnorderedKey> {
    let mut by_component: HashMap<u32, Vec<u32>> = HashMap::new();
    for writer in &key.writers {
        if let Some(number) = numbers.get(writer) {
            let component = components.of[*writer as usize];
            by_component.entry(component).or_default().push(*number);
        }
    }
    let mut parts: Vec<Vec<u32>> = by_component.into_values().filter(|w| w.len() > 1).collect();
    parts.sort_unstable();
    parts
        .into_iter()
        .map(|writers| UnorderedKey { writers, reads: Vec::new(), ambiguous: Vec::new() })
        .collect()
}
