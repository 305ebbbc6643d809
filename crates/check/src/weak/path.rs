//! Shortest paths, for explanations.

use std::ops::ControlFlow;

use isolde_graph::Bfs;
use isolde_history::TxnId;

use crate::graph::edges::TxnGraph;
use crate::graph::kinds::EdgeKinds;
use crate::graph::node::Node;

/// One edge of a path, with some of its kinds.
pub(crate) type PathHop = (TxnId, TxnId, EdgeKinds);

/// How many edges a search may look at that has to find something.
pub(crate) const FAR: usize = 4_000_000;
/// How many one may look at that is only a try.
pub(crate) const NEAR: usize = 50_000;

/// From one transaction to all that it leads to, nearest first.
pub(crate) struct PathTree(Bfs<TxnId, EdgeKinds>);

impl PathTree {
    /// Walks over edges of some kinds, between transactions that are wanted, until one is reached that
    /// ends the search, or so many edges have been looked at.
    pub(crate) fn grow(
        graph: &TxnGraph,
        (from, mut budget): (TxnId, usize),
        kinds: EdgeKinds,
        wanted: impl Fn(TxnId) -> bool,
        ends: impl Fn(TxnId) -> bool,
    ) -> PathTree {
        PathTree(Bfs::search(from, usize::MAX, |txn, steps| {
            for (to, kind) in graph.edges(txn.into()).filter(|(_, kind)| kind.meets(kinds)) {
                if budget == 0 {
                    return ControlFlow::Break(());
                }
                budget -= 1;
                let to = txn_of(to);
                if wanted(to) && steps.push(to, kind & kinds) && ends(to) {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        }))
    }

    /// The path to a transaction, if it was reached; from the beginning to itself it is a cycle.
    pub(crate) fn path(&self, to: TxnId) -> Option<Vec<PathHop>> {
        Some(self.0.path(to)).filter(|path| !path.is_empty())
    }
}

/// The transaction of a node: the graphs of the weak levels have no helpers.
pub(crate) fn txn_of(node: Node) -> TxnId {
    TxnId(isolde_graph::Node::index(node))
}
