//! The graph of one question: what is known, and what every explanation must have.

use isolde_graph::TooLarge;
use isolde_spec::Edges;

use crate::graph::edges::TxnParts;
use crate::graph::node::{Node, Numbering};
use crate::graph::visibility::{CyclicPart, Visibility};
use crate::limits::{Ended, Held};
use crate::unordered::inferences::Inferences;
use crate::unordered::unordered_key::UnorderedKey;
use crate::unordered::unread::InsideComponents;

/// The graph of one question.
pub(crate) struct QuestionGraph<'c> {
    pub(crate) parts: Parts<'c>,
    /// The keys that need an order.
    pub(crate) open: Vec<UnorderedKey>,
    /// Unread versions of the same component, if snapshots are asked about.
    pub(crate) inside: Option<InsideComponents>,
    /// Why edges were inferred, if any were looked for.
    pub(crate) inferences: Option<Inferences>,
    /// The limit that was reached while they were looked for.
    pub(crate) ended: Option<Ended>,
}

/// A graph that serves other questions too, or this one only.
pub(crate) enum Parts<'c> {
    Known(&'c TxnParts),
    Own(Box<TxnParts>, #[expect(dead_code, reason = "counts until it is dropped")] Held),
}

impl<'c> QuestionGraph<'c> {
    /// The graph of what is known, and nothing else.
    pub(crate) fn known(known: &'c TxnParts) -> QuestionGraph<'c> {
        let parts = Parts::Known(known);
        QuestionGraph { parts, open: Vec::new(), inside: None, inferences: None, ended: None }
    }

    /// A graph that only this question needs.
    pub(crate) fn own((parts, held): (TxnParts, Held)) -> QuestionGraph<'c> {
        let parts = Parts::Own(Box::new(parts), held);
        QuestionGraph { parts, open: Vec::new(), inside: None, inferences: None, ended: None }
    }

    pub(crate) fn parts(&self) -> &TxnParts {
        match &self.parts {
            Parts::Known(parts) => parts,
            Parts::Own(parts, _) => parts,
        }
    }

    /// The nodes on forbidden cycles.
    pub(crate) fn cyclic(&self, visibility: Visibility) -> Result<Vec<CyclicPart>, TooLarge> {
        visibility.cyclic(self.parts())
    }

    /// The anti-dependencies inside strongly connected components, each by the number of the last of its
    /// transactions, counted from 1, ascending.
    pub(crate) fn anti_dependencies(&self, numbering: Numbering) -> Vec<u32> {
        let TxnParts { graph, components } = self.parts();
        let last = |a: Node, b: Node| {
            let txns = [a, b].into_iter().filter_map(|node| numbering.txn(node));
            txns.map(|txn| txn.0 + 1).max().unwrap_or(1)
        };
        let mut places = Vec::new();
        let cyclic: Vec<Vec<Node>> = components.cyclic();
        for node in cyclic.into_iter().flatten() {
            let inside = |to: Node| components.of(to) == components.of(node);
            let anti =
                graph.edges(node).filter(|(to, kind)| kind.contains(Edges::RW) && inside(*to));
            places.extend(anti.map(|(to, _)| last(node, to)));
        }
        places.sort_unstable();
        places
    }
}
