//! Compressed rows: the edges of each node next to each other, each edge with the set of its kinds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::slice::ChunksMut;

use crate::components::{self, Components};
use crate::counting_sort;
use crate::edges::{self, EdgeList, Part};
use crate::kinds::Kinds;
use crate::node::Node;
use crate::parallel::{self, Work};

/// A directed graph over dense nodes. It never changes, and has no edge from a node to itself.
///
/// # Examples
///
/// ```
/// use isolde_graph::{EdgeList, Graph};
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(3);
/// edges.push(0, 2, 1);
/// edges.push(0, 1, 2);
/// let graph = Graph::new(3, &[&edges])?;
/// assert_eq!(graph.edges(0).collect::<Vec<_>>(), [(2, 1), (1, 2)]);
/// assert_eq!(graph.topological_times(), Some(vec![0, 1, 2]));
/// # Ok::<(), isolde_graph::TooLarge>(())
/// ```
#[derive(Clone, Debug)]
pub struct Graph<N, K> {
    /// Where each node's edges end.
    ends: Vec<u32>,
    targets: Vec<u32>,
    /// The bits of each edge's kinds.
    kinds: Vec<u8>,
    types: PhantomData<(N, K)>,
}

/// A graph has fewer nodes than this: the search for components needs a bit of each node, and the two
/// layers of a graph another one.
const MAX_NODES: usize = 1 << 30;
/// A graph has fewer edges than this: rows end at 32-bit numbers.
const MAX_EDGES: usize = u32::MAX as usize;

/// There are more nodes or edges than a graph may have: 2^30 - 1 nodes and 2^32 - 2 edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many edges there are, as far as they have been counted.
    pub edges: usize,
}

impl TooLarge {
    /// Whether a graph of this size can be made.
    #[cfg_attr(
        target_pointer_width = "32",
        allow(clippy::absurd_extreme_comparisons, reason = "there, no number is larger")
    )]
    pub(crate) fn check(nodes: usize, edges: usize) -> Result<(), TooLarge> {
        if nodes >= MAX_NODES || edges >= MAX_EDGES {
            return Err(TooLarge { nodes, edges });
        }
        Ok(())
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { nodes, edges } = self;
        write!(f, "a graph of {nodes} nodes and {edges} edges is too large")
    }
}

impl Error for TooLarge {}

/// One run of nodes, whose edges are to be sorted.
struct Job<'g> {
    parts: Vec<&'g Part>,
    /// How many edges come before those of the run.
    before: usize,
    ends: &'g mut [u32],
    targets: &'g mut [u32],
    kinds: &'g mut [u8],
}

impl<N: Node, K: Kinds> Graph<N, K> {
    /// Sorts edges by their source. Those of one source keep their order. Lists may be made for more
    /// nodes than the graph has, if no edge touches a node that the graph does not have.
    ///
    /// # Errors
    ///
    /// If there are more nodes or edges than a graph may have.
    pub fn new(nodes: usize, lists: &[&EdgeList<N, K>]) -> Result<Graph<N, K>, TooLarge> {
        let count = lists.iter().map(|list| list.len()).sum();
        TooLarge::check(nodes, count)?;
        let made_for = lists.first().map_or(nodes, |list| list.made_for());
        debug_assert!(made_for >= nodes && lists.iter().all(|list| list.made_for() == made_for));
        let (mut ends, mut targets, mut kinds) = (vec![0; nodes], vec![0; count], vec![0; count]);
        let all: Vec<&[Part]> = lists.iter().map(|list| list.parts()).collect();
        let runs = ends.chunks_mut(edges::part_len(made_for));
        let jobs = jobs(&all, runs, &mut targets, &mut kinds);
        parallel::each(Work::of(count), jobs, Job::sort);
        debug_assert!(ends.last().map_or(0, |end| *end as usize) == count);
        debug_assert!(targets.iter().all(|to| (*to as usize) < nodes));
        Ok(Graph { ends, targets, kinds, types: PhantomData })
    }

    /// How many nodes there are.
    #[inline]
    pub fn node_count(&self) -> usize {
        self.ends.len()
    }

    /// How many edges there are.
    #[inline]
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }

    /// How many bytes of memory the graph holds.
    pub fn bytes(&self) -> usize {
        let words = self.ends.capacity() + self.targets.capacity();
        words * size_of::<u32>() + self.kinds.capacity()
    }

    /// The nodes, in the order of their indices.
    #[inline]
    pub fn nodes(&self) -> impl Iterator<Item = N> + use<N, K> {
        (0..self.node_count() as u32).map(N::from_index)
    }

    /// Where a node leads, and how.
    #[inline]
    pub fn edges(&self, node: N) -> impl Iterator<Item = (N, K)> + '_ {
        let range = counting_sort::range(&self.ends, node.index() as usize);
        let targets = self.targets[range.clone()].iter().map(|target| N::from_index(*target));
        targets.zip(self.kinds[range].iter().map(|kinds| K::from_bits(*kinds)))
    }

    /// Whether there is an edge that has all these kinds.
    pub fn leads(&self, from: N, to: N, kind: K) -> bool {
        self.edges(from).any(|(target, kinds)| target == to && kinds.has_all(kind))
    }

    /// The strongly connected component of every node.
    pub fn components(&self) -> Components {
        components::search(&self.ends, &self.targets)
    }

    /// A time for every node, by its index, such that edges lead forward; where there is a choice, the
    /// smallest index comes first. `None` if there is a cycle.
    pub fn topological_times(&self) -> Option<Vec<u32>> {
        topological_times(&self.ends, &self.targets)
    }
}

fn topological_times(ends: &[u32], targets: &[u32]) -> Option<Vec<u32>> {
    let mut waiting = vec![0u32; ends.len()];
    targets.iter().for_each(|to| waiting[*to as usize] += 1);
    let free = (0..ends.len() as u32).filter(|&n| waiting[n as usize] == 0).map(Reverse);
    let mut ready: BinaryHeap<Reverse<u32>> = free.collect();
    let mut times = vec![0; ends.len()];
    let mut now = 0;
    while let Some(Reverse(node)) = ready.pop() {
        times[node as usize] = now;
        now += 1;
        for &to in &targets[counting_sort::range(ends, node as usize)] {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                ready.push(Reverse(to));
            }
        }
    }
    (now as usize == ends.len()).then_some(times)
}

/// One job for each run of nodes, with its own piece of the rows.
fn jobs<'g>(
    lists: &[&'g [Part]],
    runs: ChunksMut<'g, u32>,
    mut targets: &'g mut [u32],
    mut kinds: &'g mut [u8],
) -> Vec<Job<'g>> {
    let mut before = 0;
    let mut jobs = Vec::new();
    for (at, ends) in runs.enumerate() {
        let parts: Vec<&Part> = lists.iter().filter_map(|parts| parts.get(at)).collect();
        let count: usize = parts.iter().map(|part| part.len()).sum();
        let (my_targets, rest) = targets.split_at_mut(count);
        targets = rest;
        let (my_kinds, rest) = kinds.split_at_mut(count);
        kinds = rest;
        jobs.push(Job { parts, before, ends, targets: my_targets, kinds: my_kinds });
        before += count;
    }
    jobs
}

impl Job<'_> {
    /// A counting sort.
    fn sort(self) {
        let edges = || self.parts.iter().flat_map(|part| part.iter());
        for (from, ..) in edges() {
            self.ends[from as usize] += 1;
        }
        counting_sort::starts(self.ends, self.before as u32);
        for (from, to, kinds) in edges() {
            let end = &mut self.ends[from as usize];
            let at = *end as usize - self.before;
            self.targets[at] = to;
            self.kinds[at] = kinds;
            *end += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_is_an_error_and_says_how_large() {
        let too_many = Graph::<u32, u8>::new(1 << 30, &[]);
        let error = too_many.map(|graph| graph.node_count()).unwrap_err();
        assert_eq!(error, TooLarge { nodes: 1 << 30, edges: 0 });
        assert_eq!(error.to_string(), "a graph of 1073741824 nodes and 0 edges is too large");
        assert!(TooLarge::check(MAX_NODES - 1, MAX_EDGES - 1).is_ok());
        assert!(TooLarge::check(2, MAX_EDGES).is_err());
    }

    #[test]
    fn a_graph_may_be_empty() {
        let graph = Graph::<u32, u8>::new(0, &[]).unwrap();
        assert_eq!((graph.node_count(), graph.edge_count()), (0, 0));
        assert!(graph.components().acyclic());
        assert_eq!(graph.topological_times(), Some(Vec::new()));
        assert_eq!(Graph::<u32, u8>::new(5, &[]).unwrap().nodes().count(), 5);
    }
}
