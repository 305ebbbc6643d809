//! Edges on their way into a graph.
//!
//! They are kept apart by where they come from, a run of nodes each, so that the graph can be built
//! run by run: on all cores, and without leaving the cache.

use isolde_history::TxnId;
use isolde_spec::Edges;

use crate::order::dependency::{Dependencies, Dependency};

/// From a helper that stands between all who read a version and all who overwrote it: the second half
/// of an anti-dependency, whose first half leads to the helper.
pub(crate) const VIA: Edges = Edges(1 << 5);

/// Edges of a graph with so many nodes.
#[derive(Clone)]
pub(crate) struct EdgeList {
    shift: u32,
    parts: Vec<Part>,
    /// The helper of the first key, and whether any key has one.
    helpers: u32,
    pub(crate) has_helpers: bool,
}

/// The edges that come from one run of nodes, in blocks that never move.
#[derive(Clone, Default)]
pub(crate) struct Part {
    blocks: Vec<Vec<Packed>>,
    len: usize,
}

/// An edge: where in its part it comes from and its kinds in one word, where it leads in the other.
#[derive(Clone, Copy)]
struct Packed {
    from: u32,
    to: u32,
}

const KIND_BITS: u32 = 6;
const BLOCK: usize = 1024;

/// Into how many parts edges are cut at most.
const MAX_PARTS: usize = 64;
/// A part has at least so many nodes, as a power of two.
const MIN_SHIFT: u32 = 15;

/// How many bits of a node are its place in its part.
fn shift(nodes: usize) -> u32 {
    let mut shift = MIN_SHIFT;
    while nodes >> shift >= MAX_PARTS {
        shift += 1;
    }
    shift
}

impl EdgeList {
    /// No edges yet, between so many nodes. Lists that go into the same graph must be made for the
    /// same number.
    pub(crate) fn new(nodes: usize) -> EdgeList {
        let shift = shift(nodes);
        let parts = vec![Part::default(); (nodes >> shift) + 1];
        EdgeList { shift, parts, helpers: 0, has_helpers: false }
    }

    /// The same, where the helpers of keys have numbers from one on.
    pub(crate) fn with_helpers(nodes: usize, helpers: usize) -> EdgeList {
        EdgeList { helpers: helpers as u32, ..EdgeList::new(nodes) }
    }

    /// Adds an edge, unless it leads from a node to itself.
    #[inline]
    pub(crate) fn push(&mut self, from: u32, to: u32, kind: Edges) {
        if from != to {
            let place = from & ((1 << self.shift) - 1);
            let from_and_kind = place << KIND_BITS | u32::from(kind.0);
            self.parts[(from >> self.shift) as usize].push(Packed { from: from_and_kind, to });
        }
    }

    /// How many edges there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.len).sum()
    }

    /// How many nodes each part has.
    pub(crate) fn part_len(&self) -> usize {
        1 << self.shift
    }

    /// The edges from a run of nodes.
    pub(crate) fn part(&self, at: usize) -> Option<&Part> {
        self.parts.get(at)
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

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The edges, each with the place in the part where it comes from.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, Edges)> + '_ {
        self.blocks.iter().flatten().map(|edge| {
            let kind = Edges((edge.from & ((1 << KIND_BITS) - 1)) as u8);
            (edge.from >> KIND_BITS, edge.to, kind)
        })
    }
}

impl Dependencies for EdgeList {
    #[inline]
    fn add(&mut self, d: Dependency) {
        self.push(d.from.0, d.to.0, d.kind);
    }

    fn all(&mut self, key: usize, readers: &[TxnId], writers: &[TxnId]) {
        let helper = self.helpers + key as u32;
        self.has_helpers = true;
        readers.iter().for_each(|reader| self.push(reader.0, helper, Edges::RW));
        writers.iter().for_each(|writer| self.push(helper, writer.0, VIA));
    }

    #[inline]
    fn add_both(&mut self, read: Dependency, overwrote: Dependency) {
        self.push(read.from.0, read.to.0, read.kind | overwrote.kind);
    }
}
