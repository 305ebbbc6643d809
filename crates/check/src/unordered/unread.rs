//! Versions that no transaction read, under snapshot isolation.
//!
//! They may come in any order, but their writers may not be concurrent.
//!
//! **Claim.** Only writers of the same key in the same component of the graph need a choice. *Argument:*
//! take the components in a topological order, and let the writers of a key in different components
//! overwrite each other in that order. Each such edge leads from an earlier component to a later one,
//! so it closes no cycle, and no version that the edge puts in between was read. Inside a component of
//! one node there is nothing to order. Hence an order inside the components that has no forbidden cycle
//! extends to the whole history; and where the graph has no cycle at all, any serial order that it
//! allows explains everything.

use hashbrown::HashMap;
use isolde_graph::{Components, EdgeList, Node as _, Partitioned, TooLarge};
use isolde_history::Key;

use crate::graph::edges::{TxnEdges, TxnParts};
use crate::graph::node::Node;
use crate::graph::visibility::Visibility;
use crate::keys::context::Context;
use crate::limits::{Ended, Limit, Limits};
use crate::unordered::choose;
use crate::unordered::force;
use crate::unordered::inferences::{Edge, Inference, Inferences};
use crate::unordered::unordered_key::UnorderedKey;

/// The components of a graph that are not single nodes, with their open keys.
pub(crate) struct InsideComponents {
    /// Their nodes, which are numbered anew here.
    nodes: Vec<Node>,
    edges: TxnEdges,
    open: Vec<UnorderedKey>,
    forced: TxnEdges,
}

impl InsideComponents {
    /// Looks into the components. `None` if no key has a choice there.
    pub(crate) fn new(
        context: &Context<'_>,
        limits: &Limits<'_>,
        parts: &TxnParts,
        keys: &[Key],
    ) -> Result<Option<InsideComponents>, Limit> {
        let components = &parts.components;
        let nodes: Vec<Node> = components.cyclic().into_iter().flatten().collect();
        let numbers: HashMap<Node, Node> =
            nodes.iter().enumerate().map(|(i, node)| (*node, Node::from_index(i as u32))).collect();
        let open: Vec<UnorderedKey> = UnorderedKey::all(context, limits, keys)?
            .iter()
            .flat_map(|key| split(key, components, &numbers))
            .collect();
        if open.is_empty() {
            return Ok(None);
        }
        let mut edges = EdgeList::new(nodes.len());
        for &node in &nodes {
            for (to, kinds) in parts.graph.edges(node) {
                if components.of(to) == components.of(node) {
                    edges.push(numbers[&node], numbers[&to], kinds);
                }
            }
        }
        let forced = EdgeList::new(nodes.len());
        Ok(Some(InsideComponents { nodes, edges, open, forced }))
    }

    /// The edges that every order of the open keys must have.
    pub(crate) fn force(
        &mut self,
        into: &mut TxnEdges,
        limits: (&Limits<'_>, usize),
    ) -> (Inferences, Option<Ended>) {
        let (count, edges) = (self.nodes.len(), [&self.edges]);
        let snapshot = Visibility::Snapshot;
        let (inside, ended) =
            force::saturate(snapshot, count, &edges, &mut self.forced, &self.open, limits);
        let node = |number: Node| self.nodes[number.at()];
        let mut inferences = Inferences::new(inside.visibility);
        let mut forced: Vec<(Edge, Inference)> = inside.of.into_iter().collect();
        forced.sort_unstable_by_key(|(edge, _)| *edge);
        for ((from, to, kind), inference) in forced {
            into.push(node(from), node(to), kind.into());
            let path = inference.path.map(|(at, moment)| (node(at), moment));
            let also = inference.also.map(node);
            let edge = (node(from), node(to), kind);
            inferences.of.insert(edge, Inference { path, also, ..inference });
        }
        (inferences, ended)
    }

    /// Whether some order of the open keys has no cycle that snapshot isolation forbids.
    pub(crate) fn choice_exists(&self) -> Result<bool, TooLarge> {
        let (count, snapshot) = (self.nodes.len(), Visibility::Snapshot);
        let parts = Partitioned::new(count, &[&self.edges, &self.forced])?;
        let none = EdgeList::new(count);
        let Some(chosen) = choose::choose(snapshot, &parts.graph, &self.open, none)? else {
            return Ok(false);
        };
        let parts = Partitioned::new(count, &[&self.edges, &self.forced, &chosen])?;
        Ok(snapshot.cyclic(&parts)?.is_empty())
    }
}

/// The writers of a key, component by component, where there are several: versions that no transaction
/// reads have no readers to go with them.
fn split(
    key: &UnorderedKey,
    components: &Components,
    numbers: &HashMap<Node, Node>,
) -> Vec<UnorderedKey> {
    let mut by_component: HashMap<u32, Vec<Node>> = HashMap::new();
    for writer in &key.writers {
        if let Some(number) = numbers.get(writer) {
            by_component.entry(components.of(*writer)).or_default().push(*number);
        }
    }
    let mut parts: Vec<Vec<Node>> = by_component.into_values().filter(|w| w.len() > 1).collect();
    // The order of a map is no order.
    parts.sort_unstable();
    parts.into_iter().map(|writers| UnorderedKey { writers, ..UnorderedKey::default() }).collect()
}
