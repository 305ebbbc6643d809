//! What a transaction sees at a level, and the graph that this makes of dependencies.
//!
//! Snapshots allow a cycle if two anti-dependencies follow each other in it. The graph of snapshots is
//! that of dependencies, each followed by at most one anti-dependency. Snapshot isolation lets an
//! anti-dependency follow any dependency, prefix consistency only those by which something was seen.
//! Two layers stand for the composition of edges ([`isolde_graph::two_layers`]): in the lower layer a
//! transaction commits, in the upper one it takes its snapshot.

use isolde_graph::{Graph, Half, Halves, TooLarge, cyclic_in_layers, two_layers};
use isolde_spec::{Edges, Level};

use crate::graph::edges::{TxnGraph, TxnParts};
use crate::graph::kinds::EdgeKinds;
use crate::graph::node::Node;

/// What a transaction sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visibility {
    /// Everything before it.
    Serial,
    /// What had committed when it began, and of two writers of a key one began after the other.
    Snapshot,
    /// What had committed when it began; writers of a key may be concurrent.
    Prefix,
}

/// Nodes on forbidden cycles that reach each other, with one of them from which a walk comes back.
pub(crate) type CyclicPart = (Node, Vec<Node>);

impl Visibility {
    pub(crate) fn of(level: Level) -> Visibility {
        match level {
            Level::Prefix => Visibility::Prefix,
            Level::SnapshotIsolation | Level::StrongSnapshotIsolation => Visibility::Snapshot,
            _ => Visibility::Serial,
        }
    }

    /// Whether a transaction may miss what commits before it does, so that cycles with
    /// anti-dependencies next to each other are allowed.
    pub(crate) const fn snapshots(self) -> bool {
        matches!(self, Visibility::Snapshot | Visibility::Prefix)
    }

    /// The dependencies by which one transaction must have seen another.
    pub(crate) const fn seen(self) -> Edges {
        match self {
            Visibility::Serial | Visibility::Snapshot => Edges::DEPENDENCIES,
            Visibility::Prefix => Edges(Edges::DEPENDENCIES.0 & !Edges::WW.0),
        }
    }

    /// Where in the two layers an edge leads. Behind the helper of a key is the second half of an
    /// anti-dependency, which has fallen to the lower layer already.
    fn halves(self, kinds: EdgeKinds) -> Halves {
        Halves {
            stay: kinds.intersects(Edges::DEPENDENCIES) || kinds.meets(EdgeKinds::VIA),
            rise: kinds.intersects(self.seen()),
            fall: kinds.contains(Edges::RW),
        }
    }

    /// The two layers of a whole graph.
    pub(crate) fn layers(self, graph: &TxnGraph) -> Result<Graph<Half, u8>, TooLarge> {
        let number = |node: Node| Some(isolde_graph::Node::index(node));
        two_layers(graph, number, |_, _| true, |kinds| self.halves(kinds))
    }

    /// The nodes on cycles that the level forbids, by strongly connected component. Of a serial order
    /// these are all components that are not single nodes. Of snapshots, they are the strongly
    /// connected components of the two layers, and only components of the graph can have any.
    pub(crate) fn cyclic(self, parts: &TxnParts) -> Result<Vec<CyclicPart>, TooLarge> {
        if self.snapshots() {
            return cyclic_in_layers(&parts.graph, &parts.components, |k| self.halves(k));
        }
        let cyclic: Vec<Vec<Node>> = parts.components.cyclic();
        Ok(cyclic.into_iter().map(|part| (part[0], part)).collect())
    }
}
