//! The dependency graph: compressed rows, each edge with the set of its kinds.

use hashbrown::HashMap;
use isolde_spec::Edges;

use crate::graph::edges::{EdgeList, Part};
use crate::parallel::{self, Work};

/// A directed graph over dense nodes.
pub(crate) struct Graph {
    /// Where each node's edges end.
    ends: Vec<u32>,
    targets: Vec<u32>,
    kinds: Vec<Edges>,
}

/// One run of nodes, whose edges are to be sorted.
struct Job<'g> {
    part: usize,
    /// How many edges come before those of the run.
    before: usize,
    ends: &'g mut [u32],
    targets: &'g mut [u32],
    kinds: &'g mut [Edges],
}

impl Graph {
    /// Sorts edges by their source.
    pub(crate) fn new(nodes: usize, lists: &[&EdgeList]) -> Graph {
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let mut graph = Graph {
            ends: vec![0; nodes],
            targets: vec![0; count],
            kinds: vec![Edges::NONE; count],
        };
        parallel::each(Work::of(count), graph.jobs(lists), |job| job.sort(lists));
        graph
    }

    fn jobs<'g>(&'g mut self, lists: &[&EdgeList]) -> Vec<Job<'g>> {
        let len = lists.first().map_or(1, |list| list.part_len());
        debug_assert!(lists.iter().all(|list| list.part_len() == len));
        let (mut targets, mut kinds) = (&mut self.targets[..], &mut self.kinds[..]);
        let mut before = 0;
        let mut jobs = Vec::new();
        for (part, ends) in self.ends.chunks_mut(len).enumerate() {
            let edges = |list: &&EdgeList| list.part(part).map_or(0, Part::len);
            let count: usize = lists.iter().map(edges).sum();
            let (mine, rest) = targets.split_at_mut(count);
            targets = rest;
            let (my_kinds, rest) = kinds.split_at_mut(count);
            kinds = rest;
            jobs.push(Job { part, before, ends, targets: mine, kinds: my_kinds });
            before += count;
        }
        jobs
    }

    pub(crate) fn node_count(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.targets.len()
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

    /// Whether there is an edge of a kind.
    pub(crate) fn leads(&self, from: u32, to: u32, kind: Edges) -> bool {
        self.edges(from).any(|(target, kinds)| target == to && kinds.contains(kind))
    }

    /// The strongly connected component of every node.
    pub(crate) fn components(&self) -> Components {
        Search::new(self.node_count()).run(self)
    }
}

impl Job<'_> {
    /// A counting sort.
    fn sort(self, lists: &[&EdgeList]) {
        let edges = || lists.iter().filter_map(|list| list.part(self.part)).flat_map(Part::iter);
        for (from, ..) in edges() {
            self.ends[from as usize] += 1;
        }
        let mut sum = self.before as u32;
        for end in self.ends.iter_mut() {
            sum += std::mem::replace(end, sum);
        }
        for (from, to, kind) in edges() {
            let end = &mut self.ends[from as usize];
            let at = *end as usize - self.before;
            self.targets[at] = to;
            self.kinds[at] = kind;
            *end += 1;
        }
    }
}

/// Which nodes reach each other.
pub(crate) struct Components {
    /// The component of every node, numbered against the direction of the edges.
    pub(crate) of: Vec<u32>,
    count: usize,
}

impl Components {
    /// Whether every node is alone: the graph has no cycle.
    pub(crate) fn acyclic(&self) -> bool {
        self.count == self.of.len()
    }

    /// The nodes that are not alone, by component.
    pub(crate) fn cyclic(&self) -> Vec<Vec<u32>> {
        if self.acyclic() {
            return Vec::new();
        }
        let mut sizes = vec![0u32; self.count];
        self.of.iter().for_each(|c| sizes[*c as usize] += 1);
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut cyclic: Vec<Vec<u32>> = Vec::new();
        for (node, &c) in self.of.iter().enumerate().filter(|(_, c)| sizes[**c as usize] > 1) {
            let place = *places.entry(c).or_insert_with(|| {
                cyclic.push(Vec::with_capacity(sizes[c as usize] as usize));
                cyclic.len() - 1
            });
            cyclic[place].push(node as u32);
        }
        cyclic
    }
}

/// Tarjan's algorithm in Pearce's form, which keeps one number a node: 0 before it is reached, then
/// the earliest node on the path that it leads back to, and at last its component, counted down
/// from the top so that it is larger than every number of a node that is still open.
struct Search {
    of: Vec<u32>,
    /// Nodes that lead back to an earlier one, and wait for it.
    open: Vec<u32>,
    /// The nodes we are in, the next edge of each, and whether it leads back.
    path: Vec<(u32, u32)>,
    next: u32,
    component: u32,
}

/// In the edge number of a node on the path: it leads back to an earlier one.
const LEADS_BACK: u32 = 1 << 31;

impl Search {
    fn new(nodes: usize) -> Search {
        let (open, path) = (Vec::new(), Vec::new());
        Search { of: vec![0; nodes], open, path, next: 1, component: u32::MAX }
    }

    fn run(mut self, graph: &Graph) -> Components {
        for root in 0..graph.node_count() as u32 {
            if self.of[root as usize] == 0 {
                self.enter(root);
                self.walk(graph);
            }
        }
        self.of.iter_mut().for_each(|of| *of = u32::MAX - *of);
        Components { count: (u32::MAX - self.component) as usize, of: self.of }
    }

    #[inline]
    fn enter(&mut self, node: u32) {
        self.of[node as usize] = self.next;
        self.next += 1;
        self.path.push((node, 0));
    }

    fn walk(&mut self, graph: &Graph) {
        while let Some(top) = self.path.last_mut() {
            let (node, edge) = (top.0, top.1 & !LEADS_BACK);
            let range = graph.range(node);
            if let Some(&target) = graph.targets[range].get(edge as usize) {
                let theirs = self.of[target as usize];
                if theirs == 0 {
                    // The edge is looked at again when the walk is back.
                    self.enter(target);
                    continue;
                }
                top.1 += 1;
                if theirs < self.of[node as usize] {
                    self.of[node as usize] = theirs;
                    top.1 |= LEADS_BACK;
                }
                continue;
            }
            let leads_back = top.1 & LEADS_BACK != 0;
            self.path.pop();
            if leads_back {
                self.open.push(node);
            } else {
                self.close(node);
            }
        }
    }

    /// The node leads back to nothing before it: it and what waits for it are a component.
    fn close(&mut self, root: u32) {
        self.next -= 1;
        let order = self.of[root as usize];
        while let Some(&node) = self.open.last() {
            if self.of[node as usize] < order {
                break;
            }
            self.open.pop();
            self.of[node as usize] = self.component;
            self.next -= 1;
        }
        self.of[root as usize] = self.component;
        self.component -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::HashSet;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        let mut list = EdgeList::new(nodes);
        for &(from, to) in edges {
            list.push(from, to, Edges::WR);
        }
        Graph::new(nodes, &[&list])
    }

    #[test]
    fn a_million_nodes_in_a_row_do_not_overflow() {
        let n = 1_000_000;
        let edges: Vec<_> = (1..n).map(|i| (i - 1, i)).collect();
        assert!(graph(n as usize, &edges).components().acyclic());
        let back: Vec<_> = (1..n).map(|i| (i, i - 1)).collect();
        assert!(graph(n as usize, &back).components().acyclic());
    }

    #[test]
    fn cyclic_components_are_listed_in_order() {
        let edges = [(0, 4), (4, 0), (1, 2), (2, 3), (3, 1), (0, 1)];
        assert_eq!(graph(6, &edges).components().cyclic(), [vec![0, 4], vec![1, 2, 3]]);
    }

    proptest! {
        #[test]
        fn components_are_mutual_reachability(
            edges in prop::collection::vec((0u32..8, 0u32..8), 0..20),
        ) {
            let c = graph(8, &edges).components();
            let pairs = || (0..8u32).flat_map(|a| (0..8u32).map(move |b| (a, b)));
            let mut reach: HashSet<(u32, u32)> = (0..8).map(|a| (a, a)).collect();
            reach.extend(edges.iter().copied());
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
                // Numbered against the direction of the edges.
                if reach.contains(&(a, b)) && !mutual {
                    prop_assert!(c.of[b as usize] < c.of[a as usize]);
                }
            }
        }

        #[test]
        fn every_edge_is_kept(edges in prop::collection::vec((0u32..90_000, 0u32..90_000), 0..200)) {
            let g = graph(90_000, &edges);
            let mut kept: Vec<(u32, u32)> =
                (0..90_000).flat_map(|n| g.edges(n).map(move |(to, _)| (n, to))).collect();
            let mut wanted: Vec<(u32, u32)> =
                edges.into_iter().filter(|(a, b)| a != b).collect();
            kept.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(kept, wanted);
        }
    }
}
