//! Edges on their way into a graph.
//!
//! They are kept apart by where they come from, a run of nodes each, so that the graph can be built
//! run by run: on all cores, and without leaving the cache.

use isolde_spec::Edges;

use crate::order::{Dependencies, Dependency};

/// Edges of a graph with so many nodes.
#[derive(Clone)]
pub(crate) struct EdgeList {
    shift: u32,
    parts: Vec<Part>,
}

/// The edges that come from one run of nodes.
#[derive(Clone, Default)]
pub(crate) struct Part {
    pub(crate) from: Vec<u32>,
    pub(crate) to: Vec<u32>,
    pub(crate) kind: Vec<Edges>,
}

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
        EdgeList { shift, parts: vec![Part::default(); (nodes >> shift) + 1] }
    }

    /// Adds an edge, unless it leads from a node to itself.
    #[inline]
    pub(crate) fn push(&mut self, from: u32, to: u32, kind: Edges) {
        if from != to {
            let part = &mut self.parts[(from >> self.shift) as usize];
            part.from.push(from);
            part.to.push(to);
            part.kind.push(kind);
        }
    }

    /// How many edges there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.from.len()).sum()
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

impl EdgeList {
    /// All edges.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, Edges)> + '_ {
        self.parts.iter().flat_map(Part::iter)
    }
}

impl Part {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32, Edges)> + '_ {
        let ends = self.from.iter().copied().zip(self.to.iter().copied());
        ends.zip(self.kind.iter().copied()).map(|((from, to), kind)| (from, to, kind))
    }
}

impl Dependencies for EdgeList {
    #[inline]
    fn add(&mut self, d: Dependency) {
        self.push(d.from.0, d.to.0, d.kind);
    }

    #[inline]
    fn add_both(&mut self, read: Dependency, overwrote: Dependency) {
        self.push(read.from.0, read.to.0, read.kind | overwrote.kind);
    }
}
