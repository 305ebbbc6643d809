//! Why an edge was inferred: a path that was there before it, and the read that the path concerns.
//!
//! The transactions of these paths belong to a witness as much as those of its cycle: without them
//! the edge could not be inferred again.

use std::ops::ControlFlow;

use hashbrown::{HashMap, HashSet};
use isolde_graph::Bfs;
use isolde_spec::Edges;

use crate::graph::edges::TxnGraph;
use crate::graph::node::{Node, Numbering};
use crate::graph::visibility::Visibility;

/// A transaction at a moment.
type State = (Node, Moment);

/// An edge with one kind.
pub(crate) type Edge = (Node, Node, Edges);

/// The moment of a transaction that a path begins or ends with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Moment {
    /// It takes its snapshot.
    Start,
    /// It commits; in a serial order, all of it.
    Commit,
}

/// Why an edge was inferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inference {
    /// In which round: what it rests on was there before.
    pub(crate) round: u32,
    /// From where to where there was a path.
    pub(crate) path: [State; 2],
    /// The transaction whose read, or whose version that was read, makes it so.
    pub(crate) also: Option<Node>,
}

/// The reasons of all inferred edges of a graph.
pub(crate) struct Inferences {
    pub(crate) visibility: Visibility,
    pub(crate) of: HashMap<Edge, Inference>,
    /// Edges that would follow, but were known before.
    pub(crate) known: HashSet<Edge>,
}

impl Inferences {
    pub(crate) fn new(visibility: Visibility) -> Inferences {
        Inferences { visibility, of: HashMap::new(), known: HashSet::new() }
    }

    /// All edges that some edges rest on, with themselves, and the transactions that matter beside.
    /// What is too far away stays out.
    pub(crate) fn behind(
        &self,
        graph: &TxnGraph,
        numbering: Numbering,
        edges: &[Edge],
    ) -> (Vec<Edge>, Vec<Node>) {
        let mut map = Map { graph, numbering, visibility: self.visibility, budget: BUDGET };
        let mut all: Vec<Edge> = edges.to_vec();
        let mut known: HashSet<Edge> = edges.iter().copied().collect();
        let mut also = Vec::new();
        let mut at = 0;
        while let Some(edge) = all.get(at) {
            at += 1;
            let Some(reason) = self.of.get(edge) else { continue };
            also.extend(reason.also);
            let path = reason.path;
            let earlier = |edge: &Edge| self.of.get(edge).is_none_or(|r| r.round < reason.round);
            let path = map.path(path, earlier).or_else(|| map.path(path, |_| true));
            all.extend(path.into_iter().flatten().filter(|edge| known.insert(*edge)));
        }
        (all, also)
    }
}

/// How many edges may be looked at to find the paths behind one witness.
const BUDGET: usize = 1_000_000;

/// Where paths are looked for.
struct Map<'g> {
    graph: &'g TxnGraph,
    numbering: Numbering,
    visibility: Visibility,
    budget: usize,
}

impl Map<'_> {
    /// A shortest path over edges that are allowed, its last edge first.
    fn path(
        &mut self,
        [from, to]: [State; 2],
        allowed: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<Edge>> {
        let found = Bfs::search(from, usize::MAX, |(node, moment), steps| {
            for edge in self.edges(node) {
                let Some(left) = self.budget.checked_sub(1) else { return ControlFlow::Break(()) };
                self.budget = left;
                if !allowed(&edge) {
                    continue;
                }
                for next in self.leads(moment, edge.2) {
                    let state = (edge.1, *next);
                    if state != from {
                        steps.push(state, edge);
                    }
                    if state == to {
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        });
        let reached = from == to || found.reached(to);
        reached.then(|| found.path(to).into_iter().rev().map(|(_, _, edge)| edge).collect())
    }

    /// The edges of a node, each with one kind; over the helper of a key in one step.
    fn edges(&self, node: Node) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (to, kinds) in self.graph.edges(node) {
            if !self.numbering.is_txn(to) && kinds.contains(Edges::RW) {
                edges.extend(self.graph.edges(to).map(|(to, _)| (node, to, Edges::RW)));
            } else {
                edges.extend(kinds.edges().each().map(|(kind, _)| (node, to, kind)));
            }
        }
        edges
    }

    /// Which moments of the next transaction an edge leads to.
    fn leads(&self, at: Moment, kind: Edges) -> &'static [Moment] {
        match (self.visibility, at) {
            (Visibility::Serial, _) => &[Moment::Commit],
            (visibility, Moment::Commit) if visibility.seen().contains(kind) => {
                &[Moment::Commit, Moment::Start]
            }
            (_, Moment::Commit) if Edges::DEPENDENCIES.contains(kind) => &[Moment::Commit],
            (_, Moment::Start) if kind == Edges::RW => &[Moment::Commit],
            _ => &[],
        }
    }
}
