//! The shortest cycle of a kind.
//!
//! One breadth-first search serves every class of the catalogue: it walks over pairs of a node and
//! what it remembers of the anti-dependencies so far, and stops when it is back at the start.

use std::ops::ControlFlow;

use hashbrown::HashSet;
use isolde_graph::{Bfs, Components};
use isolde_history::TxnId;
use isolde_spec::{Edges, Reads};

use crate::graph::edges::TxnGraph;
use crate::graph::node::{Node, Numbering};
use crate::graph::order_steps::{OrderSteps, Reached};

/// One edge of a cycle, with the kind that the search took it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) from: TxnId,
    pub(crate) to: TxnId,
    pub(crate) kind: Edges,
}

/// Which cycles are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Those of an entry of the catalogue. They begin with an anti-dependency if they have one.
    Catalogued(Reads),
    /// Those that snapshot isolation forbids, beginning with a dependency.
    Snapshot,
    /// All.
    Any,
}

/// What a walk remembers: nothing yet, or how it stands with anti-dependencies.
const START: u8 = 0;
const AFTER_FIRST: u8 = 1;
const ONE: u8 = 2;
const AFTER_OTHER: u8 = 3;
const SEVERAL: u8 = 4;
/// Added once the walk has taken an edge that it must take.
const HAS_TAKEN: u8 = 8;
/// Added after an overwrite.
const AFTER_OVERWRITE: u8 = 16;

/// What a search is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) class: Class,
    /// The kinds of edge that may be used.
    pub(crate) kinds: Edges,
    /// The kind that must be, if any.
    pub(crate) must: Edges,
    /// Whether no anti-dependency may follow an overwrite: at prefix consistency an overwritten
    /// transaction need not have been seen.
    pub(crate) seen: bool,
}

impl Wanted {
    /// How a walk may go on over an edge of a kind, and what it remembers then.
    fn step(self, memory: u8, kind: Edges) -> Option<u8> {
        if self.seen && kind == Edges::RW && memory & AFTER_OVERWRITE != 0 {
            return None;
        }
        let taken = (memory & HAS_TAKEN) | if kind == self.must { HAS_TAKEN } else { 0 };
        let overwrote = if self.seen && kind == Edges::WW { AFTER_OVERWRITE } else { 0 };
        let memory = memory & !(HAS_TAKEN | AFTER_OVERWRITE);
        step(self.class, memory, kind).map(|memory| memory | taken | overwrote)
    }

    /// Whether a walk that is back at its start is what was wanted.
    fn closes(self, memory: u8) -> bool {
        let begins_with_read =
            matches!(self.class, Class::Catalogued(reads) if reads != Reads::None);
        (self.must.is_empty() || memory & HAS_TAKEN != 0)
            && !(begins_with_read && memory & AFTER_OVERWRITE != 0)
            && closes(self.class, memory & !(HAS_TAKEN | AFTER_OVERWRITE))
    }
}

/// How a walk may go on over an edge of a kind, and what it remembers then.
fn step(class: Class, memory: u8, kind: Edges) -> Option<u8> {
    let anti = kind == Edges::RW;
    match class {
        Class::Any => Some(ONE),
        Class::Snapshot => match (anti, memory) {
            (false, _) => Some(ONE),
            (true, ONE) => Some(AFTER_OTHER),
            (true, _) => None,
        },
        Class::Catalogued(Reads::None) => (!anti).then_some(ONE),
        Class::Catalogued(reads) => match (reads, memory, anti) {
            (_, START, anti) => anti.then_some(AFTER_FIRST),
            (Reads::One, _, anti) => (!anti).then_some(ONE),
            (Reads::Apart, AFTER_FIRST | ONE, false) => Some(ONE),
            (Reads::Apart, ONE | SEVERAL, true) => Some(AFTER_OTHER),
            (Reads::Apart, AFTER_OTHER | SEVERAL, false) => Some(SEVERAL),
            (Reads::Apart, ..) => None,
            // Two that follow each other: the last edge and the first.
            (_, _, true) => Some(AFTER_OTHER),
            (_, _, false) => Some(ONE),
        },
    }
}

/// Whether a walk that is back at its start is a cycle of the class.
fn closes(class: Class, memory: u8) -> bool {
    match class {
        Class::Catalogued(Reads::Apart) => memory == SEVERAL,
        Class::Catalogued(Reads::Adjacent) => memory == AFTER_OTHER,
        _ => true,
    }
}

/// Where searches go, and how far.
pub(crate) struct CycleSearch<'g> {
    pub(crate) graph: &'g TxnGraph,
    /// A search stays in the component of its start.
    pub(crate) components: &'g Components,
    pub(crate) numbering: Numbering,
    /// Where alone a search may go, if not everywhere in its component.
    pub(crate) within: Option<HashSet<TxnId>>,
    /// How many more edges may be looked at, in all searches.
    pub(crate) budget: usize,
}

/// Where a walk goes next, by an edge of which kind, and what it remembers then.
type Next = (TxnId, Edges, u8);

impl CycleSearch<'_> {
    /// The shortest cycle of a class through a transaction, over edges of some kinds and not longer
    /// than a limit, if the search finds one before the budget is spent.
    pub(crate) fn through(
        &mut self,
        start: TxnId,
        wanted: Wanted,
        longest: usize,
        steps: &OrderSteps<'_>,
    ) -> Option<Vec<Hop>> {
        let mut reached = Reached::default();
        let mut closed = None;
        let found = Bfs::search((start, START), longest, |(node, memory), to| {
            if self.budget == 0 {
                return ControlFlow::Break(());
            }
            let mut next = self.in_graph(node, start, wanted, memory);
            in_order((node, start), wanted, memory, steps, &mut reached, &mut next);
            self.budget = self.budget.saturating_sub(next.len());
            // A read says more than an overwrite of the same.
            next.sort_by_key(|(_, kind, _)| *kind);
            for (txn, kind, remembered) in next {
                if txn != start {
                    to.push((txn, remembered), kind);
                } else if wanted.closes(remembered) {
                    to.push((start, remembered), kind);
                    closed = Some((start, remembered));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        let hop = |((from, _), (to, _), kind)| Hop { from, to, kind };
        closed.map(|end| found.path(end).into_iter().map(hop).collect())
    }

    /// Where the edges of the graph lead.
    fn in_graph(&mut self, txn: TxnId, start: TxnId, wanted: Wanted, memory: u8) -> Vec<Next> {
        let mut next = Vec::new();
        for (to, all) in self.graph.edges(txn.into()) {
            self.budget = self.budget.saturating_sub(1);
            if !self.numbering.is_txn(to) && all.contains(Edges::RW) {
                self.over_helper(to, start, wanted, memory, &mut next);
            }
            let Some(to) = self.may_go(to, start) else { continue };
            for (kind, _) in (all.edges() & wanted.kinds).each() {
                next.extend(wanted.step(memory, kind).map(|memory| (to, kind, memory)));
            }
        }
        next
    }

    /// The transaction of a node, if a search from another one may go there.
    fn may_go(&self, to: Node, start: TxnId) -> Option<TxnId> {
        let txn = self.numbering.txn(to)?;
        let same = self.components.of(to) == self.components.of(Node::from(start));
        let within = self.within.as_ref().is_none_or(|txns| txns.contains(&txn));
        (same && within).then_some(txn)
    }

    /// All transactions that overwrote what many read, as if each were one step away.
    fn over_helper(
        &mut self,
        helper: Node,
        start: TxnId,
        wanted: Wanted,
        memory: u8,
        next: &mut Vec<Next>,
    ) {
        let step = wanted.step(memory, Edges::RW).filter(|_| wanted.kinds.contains(Edges::RW));
        let Some(memory) = step else { return };
        for (to, _) in self.graph.edges(helper) {
            self.budget = self.budget.saturating_sub(1);
            next.extend(self.may_go(to, start).map(|to| (to, Edges::RW, memory)));
        }
    }
}

/// Every later transaction in session order and real time.
fn in_order(
    (txn, start): (TxnId, TxnId),
    wanted: Wanted,
    memory: u8,
    steps: &OrderSteps<'_>,
    reached: &mut Reached,
    next: &mut Vec<Next>,
) {
    let step = |kind: Edges| wanted.step(memory, kind).filter(|_| wanted.kinds.contains(kind));
    if let Some(memory) = step(Edges::SO) {
        let back = steps.precedes_in_session(txn, start).then_some(&start);
        let txns = steps.in_session(txn, memory, reached).iter().filter(|t| **t != start);
        next.extend(back.into_iter().chain(txns).map(|txn| (*txn, Edges::SO, memory)));
    }
    if let Some(memory) = step(Edges::RT) {
        let back = steps.precedes_in_time(txn, start).then_some(start);
        let txns = steps.in_time(txn, memory, reached).iter().map(|(_, txn)| *txn);
        let txns = txns.filter(|txn| *txn != start);
        next.extend(back.into_iter().chain(txns).map(|txn| (txn, Edges::RT, memory)));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use isolde_graph::{EdgeList, Graph, Node as _};
    use isolde_history::notation::parse;

    use super::*;
    use crate::keys::context::Context;

    fn find(edges: &[(u32, u32, Edges)], class: Class) -> Option<Vec<Edges>> {
        let mut list = EdgeList::new(5);
        let node = |n: u32| Node::from_index(n);
        edges.iter().for_each(|&(a, b, k)| list.push(node(a), node(b), k.into()));
        // Every transaction is in one component with all others, as far as a search knows.
        let mut ring = EdgeList::<Node, crate::graph::kinds::EdgeKinds>::new(5);
        (0..5).for_each(|n| ring.push(node(n), node((n + 1) % 5), Edges::WR.into()));
        let components = Graph::new(5, &[&ring]).unwrap().components();
        let graph = Graph::new(5, &[&list]).unwrap();
        let history = parse("a: r(x,0)\na:\na:\na:\na:").unwrap();
        let context = Context::new(&history, 64);
        let steps = OrderSteps::new(&context, None, false, &[]);
        let mut search = CycleSearch {
            graph: &graph,
            components: &components,
            numbering: Numbering::of(&context),
            within: None,
            budget: 1000,
        };
        let wanted = Wanted { class, kinds: Edges::ALL, must: Edges::NONE, seen: false };
        let hops = search.through(TxnId(0), wanted, 5, &steps)?;
        Some(hops.iter().map(|h| h.kind).collect())
    }

    #[test]
    fn each_class_finds_its_own() {
        let [one, apart, adjacent] =
            [Reads::One, Reads::Apart, Reads::Adjacent].map(Class::Catalogued);
        let (wr, rw) = (Edges::WR, Edges::RW);
        let skew = [(0, 1, rw), (1, 0, rw)];
        assert_eq!(find(&skew, one), None);
        assert_eq!(find(&skew, apart), None);
        assert_eq!(find(&skew, Class::Snapshot), None);
        assert_eq!(find(&skew, adjacent), Some(vec![rw, rw]));
        let single = [(0, 1, rw), (1, 0, wr)];
        assert_eq!(find(&single, one), Some(vec![rw, wr]));
        assert_eq!(find(&single, apart), None);
        assert_eq!(find(&single, adjacent), None);
        assert_eq!(find(&single, Class::Catalogued(Reads::None)), None);
        let fork = [(0, 1, rw), (1, 2, wr), (2, 3, rw), (3, 0, wr)];
        assert_eq!(find(&fork, one), None);
        assert_eq!(find(&fork, apart), Some(vec![rw, wr, rw, wr]));
        assert_eq!(find(&fork, adjacent), None);
        let walk = [(0, 1, wr), (1, 2, rw), (2, 3, wr), (3, 0, rw)];
        assert_eq!(find(&walk, Class::Snapshot), Some(vec![wr, rw, wr, rw]));
    }

    #[test]
    fn the_shortest_wins() {
        let (wr, rw) = (Edges::WR, Edges::RW);
        let edges = [(0, 1, rw), (1, 2, wr), (2, 0, wr), (0, 3, rw), (3, 0, wr)];
        assert_eq!(find(&edges, Class::Catalogued(Reads::One)), Some(vec![rw, wr]));
    }
}
