//! Edges on their way into a graph.
//!
//! They are kept apart by where they come from, a run of nodes each, so that the graph can be built
//! run by run: on all cores, and without leaving the cache.

use std::marker::PhantomData;

use crate::kinds::Kinds;
use crate::node::Node;

/// Edges of a graph with so many nodes. One thread fills one list; a graph is made of several.
///
/// # Examples
///
/// ```
/// use isolde_graph::EdgeList;
///
/// let mut edges: EdgeList<u32, u8> = EdgeList::new(3);
/// edges.push(2, 0, 1);
/// edges.push(1, 1, 1);
/// edges.push(0, 1, 3);
/// // An edge from a node to itself is not kept, and those of different nodes may be in any order.
/// assert_eq!(edges.iter().collect::<Vec<_>>(), [(2, 0, 1), (0, 1, 3)]);
/// ```
#[derive(Clone, Debug)]
pub struct EdgeList<N, K> {
    nodes: usize,
    shift: u32,
    parts: Vec<Part>,
    types: PhantomData<(N, K)>,
}

/// The edges that come from one run of nodes, in blocks that never move.
#[derive(Clone, Default, Debug)]
pub(crate) struct Part {
    blocks: Vec<Vec<Packed>>,
    len: usize,
}

/// An edge: where in its part it comes from and its kinds in one word, where it leads in the other.
#[derive(Clone, Copy, Debug)]
struct Packed {
    from: u32,
    to: u32,
}

const KIND_BITS: u32 = 8;
const BLOCK: usize = 1024;

/// Into how many parts edges are cut at most, in a graph that is not too large.
const MAX_PARTS: usize = 64;
/// A part has at least so many nodes, as a power of two.
const MIN_SHIFT: u32 = 15;
/// A part has at most so many nodes, as a power of two: the rest of the word are kinds.
const MAX_SHIFT: u32 = u32::BITS - KIND_BITS;

/// How many nodes each part has, of lists that were made for so many.
pub(crate) fn part_len(nodes: usize) -> usize {
    1 << shift(nodes)
}

/// How many bits of a node are its place in its part.
fn shift(nodes: usize) -> u32 {
    let mut shift = MIN_SHIFT;
    while shift < MAX_SHIFT && nodes >> shift >= MAX_PARTS {
        shift += 1;
    }
    shift
}

impl<N: Node, K: Kinds> EdgeList<N, K> {
    /// No edges yet, between so many nodes. Lists that go into the same graph must be made for the
    /// same number, which may be larger than that of the graph.
    pub fn new(nodes: usize) -> EdgeList<N, K> {
        let shift = shift(nodes);
        let parts = vec![Part::default(); (nodes >> shift) + 1];
        EdgeList { nodes, shift, parts, types: PhantomData }
    }

    /// Adds an edge, unless it leads from a node to itself.
    #[inline]
    pub fn push(&mut self, from: N, to: N, kinds: K) {
        let (from, to) = (from.index(), to.index());
        debug_assert!((from as usize) < self.nodes, "an edge from {from} of {}", self.nodes);
        debug_assert!((to as usize) < self.nodes, "an edge to {to} of {}", self.nodes);
        if from != to {
            let place = from & ((1 << self.shift) - 1);
            let from_and_kinds = place << KIND_BITS | u32::from(kinds.bits());
            self.parts[(from >> self.shift) as usize].push(Packed { from: from_and_kinds, to });
        }
    }

    /// How many edges there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.len == 0)
    }

    /// How many bytes of memory the edges hold.
    pub fn bytes(&self) -> usize {
        let parts = self.parts.capacity() * size_of::<Part>();
        parts + self.parts.iter().map(Part::bytes).sum::<usize>()
    }

    /// The edges: those of a node in the order in which they were pushed, those of different nodes in
    /// no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (N, N, K)> + '_ {
        self.parts.iter().enumerate().flat_map(move |(at, part)| {
            let first = (at << self.shift) as u32;
            part.iter().map(move |(from, to, kinds)| {
                (N::from_index(first | from), N::from_index(to), K::from_bits(kinds))
            })
        })
    }

    /// For how many nodes the list was made.
    pub(crate) fn made_for(&self) -> usize {
        self.nodes
    }

    /// The edges from runs of nodes.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

impl Part {
    #[inline]
    fn push(&mut self, edge: Packed) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(edge),
            _ => self.grow(edge),
        }
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self, edge: Packed) {
        // The first block of a part may stay small.
        let size = if self.blocks.is_empty() { 16 } else { BLOCK };
        let mut block = Vec::with_capacity(size);
        block.push(edge);
        self.blocks.push(block);
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn bytes(&self) -> usize {
        let blocks = self.blocks.capacity() * size_of::<Vec<Packed>>();
        blocks + self.blocks.iter().map(|b| b.capacity() * size_of::<Packed>()).sum::<usize>()
    }

    /// The edges, each with the place in the part where it comes from, and the bits of its kinds.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, u8)> + '_ {
        self.blocks.iter().flatten().map(|edge| {
            let kinds = edge.from & ((1 << KIND_BITS) - 1);
            (edge.from >> KIND_BITS, edge.to, kinds as u8)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_has_more_nodes_than_its_word_has_room_for() {
        let most = (1 << 30) - 1;
        for nodes in [0, 1, 1 << 15, 1 << 21, (1 << 21) + 1, most, most + 1, 1 << 31] {
            let shift = shift(nodes);
            assert!((MIN_SHIFT..=MAX_SHIFT).contains(&shift), "{nodes}");
            if nodes <= most {
                assert!(nodes >> shift < MAX_PARTS, "{nodes}");
            }
        }
    }

    #[test]
    fn nothing_of_an_edge_is_lost_in_the_largest_graph() {
        let nodes = (1 << 30) - 1;
        let mut edges: EdgeList<u32, u8> = EdgeList::new(nodes);
        let last = nodes as u32 - 1;
        let all = [(0, last, 255), ((1 << 24) - 1, 1 << 24, 128), (last, 0, 1)];
        all.iter().for_each(|&(from, to, kinds)| edges.push(from, to, kinds));
        assert_eq!(edges.iter().collect::<Vec<_>>(), all);
    }

    #[test]
    fn bytes_grow_with_edges() {
        let mut edges: EdgeList<u32, u8> = EdgeList::new(10_000);
        assert!(edges.is_empty());
        let before = edges.bytes();
        (1..10_000).for_each(|i| edges.push(i - 1, i, 1));
        assert_eq!(edges.len(), 9_999);
        assert!(edges.bytes() >= before + 8 * edges.len());
    }
}
