//! The dependency graph: compressed rows, each edge with the set of its kinds.

use isolde_spec::Edges;

/// A directed graph over dense nodes.
pub(crate) struct Graph {
    /// Where each node's edges end.
    ends: Vec<u32>,
    targets: Vec<u32>,
    kinds: Vec<Edges>,
}

/// Edges on their way into a graph.
#[derive(Default, Clone)]
pub(crate) struct EdgeList {
    pub(crate) from: Vec<u32>,
    pub(crate) to: Vec<u32>,
    pub(crate) kind: Vec<Edges>,
}

impl EdgeList {
    #[inline]
    pub(crate) fn push(&mut self, from: u32, to: u32, kind: Edges) {
        if from != to {
            self.from.push(from);
            self.to.push(to);
            self.kind.push(kind);
        }
    }
}

impl Graph {
    /// Sorts edges by their source.
    pub(crate) fn new(nodes: usize, edges: &EdgeList) -> Graph {
        let mut ends = vec![0u32; nodes];
        for &from in &edges.from {
            ends[from as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut targets = vec![0u32; edges.from.len()];
        let mut kinds = vec![Edges::NONE; edges.from.len()];
        for ((&from, &to), &kind) in edges.from.iter().zip(&edges.to).zip(&edges.kind) {
            let at = &mut ends[from as usize];
            targets[*at as usize] = to;
            kinds[*at as usize] = kind;
            *at += 1;
        }
        Graph { ends, targets, kinds }
    }

    pub(crate) fn node_count(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let i = node as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        start..self.ends[i] as usize
    }

    /// Where a node leads, and how.
    #[inline]
    pub(crate) fn edges(&self, node: u32) -> impl Iterator<Item = (u32, Edges)> + '_ {
        let range = self.range(node);
        self.targets[range.clone()].iter().copied().zip(self.kinds[range].iter().copied())
    }

    /// The strongly connected component of every node, numbered against the direction of the
    /// edges, with the number of components. Edges of other kinds are not there.
    pub(crate) fn components(&self, kinds: Edges) -> Components {
        Tarjan::new(self.node_count()).run(self, kinds)
    }
}

/// Which nodes reach each other.
pub(crate) struct Components {
    /// The component of every node.
    pub(crate) of: Vec<u32>,
    /// How many nodes each component has.
    pub(crate) sizes: Vec<u32>,
}

impl Components {
    /// Whether every node is alone: the graph has no cycle.
    pub(crate) fn acyclic(&self) -> bool {
        self.sizes.len() == self.of.len()
    }
}

/// Tarjan's algorithm with a stack of its own.
struct Tarjan {
    /// When each node was reached, from 1.
    order: Vec<u32>,
    low: Vec<u32>,
    of: Vec<u32>,
    open: Vec<u32>,
    /// The nodes we are in, and the next edge of each.
    path: Vec<(u32, u32)>,
    sizes: Vec<u32>,
    next: u32,
}

const NO_COMPONENT: u32 = u32::MAX;

impl Tarjan {
    fn new(nodes: usize) -> Tarjan {
        Tarjan {
            order: vec![0; nodes],
            low: vec![0; nodes],
            of: vec![NO_COMPONENT; nodes],
            open: Vec::new(),
            path: Vec::new(),
            sizes: Vec::new(),
            next: 0,
        }
    }

    fn run(mut self, graph: &Graph, kinds: Edges) -> Components {
        for root in 0..graph.node_count() as u32 {
            if self.order[root as usize] == 0 {
                self.enter(root, graph);
                self.walk(graph, kinds);
            }
        }
        Components { of: self.of, sizes: self.sizes }
    }

    fn enter(&mut self, node: u32, graph: &Graph) {
        self.next += 1;
        self.order[node as usize] = self.next;
        self.low[node as usize] = self.next;
        self.open.push(node);
        self.path.push((node, graph.range(node).start as u32));
    }

    fn walk(&mut self, graph: &Graph, kinds: Edges) {
        while let Some(&(node, edge)) = self.path.last() {
            let n = node as usize;
            if (edge as usize) < graph.range(node).end {
                if let Some(top) = self.path.last_mut() {
                    top.1 += 1;
                }
                let target = graph.targets[edge as usize];
                if !graph.kinds[edge as usize].intersects(kinds) {
                    continue;
                }
                let t = target as usize;
                if self.order[t] == 0 {
                    self.enter(target, graph);
                } else if self.of[t] == NO_COMPONENT {
                    self.low[n] = self.low[n].min(self.order[t]);
                }
                continue;
            }
            self.path.pop();
            if let Some(&(parent, _)) = self.path.last() {
                let p = parent as usize;
                self.low[p] = self.low[p].min(self.low[n]);
            }
            if self.low[n] == self.order[n] {
                self.close(node);
            }
        }
    }

    fn close(&mut self, root: u32) {
        let component = self.sizes.len() as u32;
        let mut size = 0;
        while let Some(node) = self.open.pop() {
            self.of[node as usize] = component;
            size += 1;
            if node == root {
                break;
            }
        }
        self.sizes.push(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(u32, u32, Edges)]) -> Graph {
        let mut list = EdgeList::default();
        for &(from, to, kind) in edges {
            list.push(from, to, kind);
        }
        Graph::new(nodes, &list)
    }

    #[test]
    fn only_edges_of_the_asked_kinds_count() {
        let g = graph(3, &[(0, 1, Edges::WR), (1, 2, Edges::WW), (2, 0, Edges::RW)]);
        assert!(!g.components(Edges::ALL).acyclic());
        assert!(g.components(Edges::WR | Edges::WW).acyclic());
    }

    #[test]
    fn a_million_nodes_in_a_row_do_not_overflow() {
        let n = 1_000_000;
        let edges: Vec<_> = (1..n).map(|i| (i - 1, i, Edges::SO)).collect();
        assert!(graph(n as usize, &edges).components(Edges::ALL).acyclic());
    }

    proptest! {
        #[test]
        fn components_are_mutual_reachability(
            edges in prop::collection::vec((0u32..8, 0u32..8), 0..20),
        ) {
            let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a, b, Edges::WR)).collect();
            let c = graph(8, &edges).components(Edges::ALL);
            let pairs = || (0..8u32).flat_map(|a| (0..8u32).map(move |b| (a, b)));
            let mut reach: HashSet<(u32, u32)> = (0..8).map(|a| (a, a)).collect();
            reach.extend(edges.iter().map(|&(a, b, _)| (a, b)));
            for k in 0..8 {
                for (a, b) in pairs() {
                    if reach.contains(&(a, k)) && reach.contains(&(k, b)) {
                        reach.insert((a, b));
                    }
                }
            }
            for (a, b) in pairs() {
                let mutual = reach.contains(&(a, b)) && reach.contains(&(b, a));
                prop_assert_eq!(c.of[a as usize] == c.of[b as usize], mutual);
            }
        }
    }
}
