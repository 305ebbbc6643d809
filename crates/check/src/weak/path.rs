//! A shortest path, for explanations.

use std::collections::VecDeque;

use hashbrown::HashMap;
use isolde_spec::Edges;

use crate::graph::csr::Graph;

/// One edge of a path, with one of its kinds.
pub(crate) type Hop = (u32, u32, Edges);

/// How many edges a search may look at that has to find something.
pub(crate) const FAR: usize = 4_000_000;
/// How many one may look at that is only a try.
pub(crate) const NEAR: usize = 50_000;

/// From one transaction to all that it leads to, nearest first.
pub(crate) struct Tree {
    from: u32,
    came: HashMap<u32, (u32, Edges)>,
}

impl Tree {
    /// Walks over edges of some kinds, between nodes that are wanted, until one is reached that ends
    /// the search, or so many edges have been looked at.
    pub(crate) fn grow(
        graph: &Graph,
        (from, mut budget): (u32, usize),
        kinds: Edges,
        wanted: impl Fn(u32) -> bool,
        ends: impl Fn(u32) -> bool,
    ) -> Tree {
        let mut came = HashMap::new();
        let mut queue = VecDeque::from([from]);
        'search: while let Some(node) = queue.pop_front() {
            for (to, kind) in graph.edges(node).filter(|(_, kind)| kind.intersects(kinds)) {
                if budget == 0 {
                    break 'search;
                }
                budget -= 1;
                if !wanted(to) || came.contains_key(&to) {
                    continue;
                }
                came.insert(to, (node, kind & kinds));
                if ends(to) {
                    break 'search;
                }
                if to != from {
                    queue.push_back(to);
                }
            }
        }
        Tree { from, came }
    }

    /// The path to a node, if it was reached; from the beginning to itself it is a cycle.
    pub(crate) fn path(&self, to: u32) -> Option<Vec<Hop>> {
        let mut path = Vec::new();
        let mut at = to;
        loop {
            let &(before, kind) = self.came.get(&at)?;
            path.push((before, at, kind));
            at = before;
            if at == self.from {
                break;
            }
        }
        path.reverse();
        Some(path)
    }
}
