//! Dependencies on their way into a graph.

use hashbrown::HashSet;
use isolde_graph::{EdgeList, Graph, Partitioned};
use isolde_history::TxnId;
use isolde_spec::Edges;

use crate::graph::kinds::EdgeKinds;
use crate::graph::node::{Node, Numbering};
use crate::keys::context::Context;
use crate::order::dependency::{Dependencies, Dependency};

/// A dependency graph.
pub(crate) type TxnGraph = Graph<Node, EdgeKinds>;
/// A dependency graph and its components.
pub(crate) type TxnParts = Partitioned<Node, EdgeKinds>;
/// Edges of a dependency graph.
pub(crate) type TxnEdges = EdgeList<Node, EdgeKinds>;

/// No edges yet, between transactions and all helpers that there can be. All lists of a history are
/// made for the same nodes, so that any of them go into one graph.
pub(crate) fn no_edges(context: &Context<'_>) -> TxnEdges {
    EdgeList::new(Numbering::of(context).all())
}

/// The edges of all dependencies that it is told.
pub(crate) struct EdgeCollector {
    numbering: Numbering,
    pub(crate) edges: TxnEdges,
    /// Those that hold where updates are adjacent to what they read.
    pub(crate) of_updates: TxnEdges,
    /// The keys that have a helper.
    helpers: HashSet<usize>,
}

impl EdgeCollector {
    pub(crate) fn new(context: &Context<'_>) -> EdgeCollector {
        let numbering = Numbering::of(context);
        let (edges, of_updates) = (no_edges(context), no_edges(context));
        EdgeCollector { numbering, edges, of_updates, helpers: HashSet::new() }
    }

    /// Whether some key has a helper.
    pub(crate) fn has_helpers(&self) -> bool {
        !self.helpers.is_empty()
    }

    #[inline]
    fn push(&mut self, d: &Dependency, kind: Edges) {
        self.edges.push(d.from.into(), d.to.into(), kind.into());
    }
}

impl Dependencies for EdgeCollector {
    #[inline]
    fn add(&mut self, d: Dependency) {
        self.push(&d, d.kind);
    }

    /// A key has one helper, so one version of it at most may use it: with two, a reader of the one
    /// would come before a writer that overwrote the other. Only two versions can have many writers that did
    /// not read them: the initial state of a register, and the last version of a list that was seen.
    /// No key is both a register and a list.
    fn all(&mut self, key: usize, readers: &[TxnId], writers: &[TxnId]) {
        let new = self.helpers.insert(key);
        debug_assert!(new, "two versions of key {key} want its helper");
        let helper = self.numbering.key_helper(key);
        readers.iter().for_each(|r| self.edges.push((*r).into(), helper, Edges::RW.into()));
        writers.iter().for_each(|w| self.edges.push(helper, (*w).into(), EdgeKinds::VIA));
    }

    fn add_of_update(&mut self, d: Dependency) {
        self.of_updates.push(d.from.into(), d.to.into(), d.kind.into());
    }

    #[inline]
    fn add_both(&mut self, read: Dependency, overwrote: Dependency) {
        self.push(&read, read.kind | overwrote.kind);
    }
}
