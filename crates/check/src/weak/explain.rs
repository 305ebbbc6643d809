//! From a graph with a cycle to witnesses that a person can check.
//!
//! Most violations are a reader that missed a write which it had to see. They are told as such: an
//! anti-dependency to the writer that was missed, and the way back by which it was seen. Where it
//! takes several forced edges, the cycle of the commit order is told with the reads that force it.

use hashbrown::HashSet;
use isolde_graph::{Graph, Node as _};
use isolde_history::{Key, TxnId};
use isolde_spec::{Anomaly, Because, Edges, Forced, Level, Step, Witness};

use super::forcing::{Reason, Reasoner};
use super::path::{FAR, NEAR, PathHop, PathTree, txn_of};
use super::question::{AxiomQuestion, ForcedEdges};
use super::reads::INITIAL;
use crate::explain::hunt;
use crate::explain::name;
use crate::explain::violations::{TXNS_IN_CYCLES, Violations};
use crate::graph::edges::{TxnEdges, TxnGraph, TxnParts};
use crate::graph::kinds::EdgeKinds;
use crate::graph::node::Node;

/// Everything but forced edges.
const BASE: EdgeKinds = EdgeKinds::of(Edges(Edges::SO.0 | Edges::WR.0 | Edges::WW.0));
const FORCED: EdgeKinds = EdgeKinds::FORCED;
/// How many reads that missed something are looked at for each witness that is kept.
const READS: usize = 8;
/// How many forced edges of a part are tried.
const TRIES: usize = 256;
/// How many transactions of a part a cycle is looked for from.
const STARTS: usize = 16;

/// What shows that the level is broken.
pub(crate) fn witnesses(
    question: &AxiomQuestion<'_, '_>,
    parts: &TxnParts,
    told: &[ForcedEdges],
) -> Violations {
    let missed: u64 = told.iter().map(|told| told.missed_count).sum();
    if parts.components.acyclic() && missed == 0 {
        return Violations::default();
    }
    let keep = question.question.options().witnesses;
    let mut hunt =
        MissedHunt { reasoner: Reasoner::new(question), graph: &parts.graph, found: Vec::new() };
    hunt.missed(told, READS * keep);
    let parts: Vec<Vec<Node>> = parts.components.cyclic();
    let mut txns: Vec<u32> = parts.iter().flatten().map(|node| txn_of(*node).0 + 1).collect();
    txns.sort_unstable();
    let figures = vec![
        ("strongly connected components", parts.len() as u64),
        (TXNS_IN_CYCLES, txns.len() as u64),
    ];
    let some = hunt::some_of_each_size(parts.iter().map(|part| &part[..]).collect(), keep);
    for part in some {
        // One witness is enough if a limit was reached.
        if !hunt.found.is_empty() && question.question.limits().go_on().is_err() {
            break;
        }
        hunt.part(part, keep);
    }
    debug_assert!(!hunt.found.is_empty(), "a violation without an explanation");
    if hunt.found.is_empty() {
        // There is one, however it is told.
        let any = hunt.any(told, &parts);
        hunt.found.push(any);
    }
    let mut found = collect(hunt.found, keep);
    found.figures = figures;
    found.places = vec![(TXNS_IN_CYCLES, txns)];
    found
}

/// The most basic first, so many of each kind.
fn collect(mut witnesses: Vec<Witness>, keep: usize) -> Violations {
    witnesses.sort_by_key(|w| (w.anomaly.rank(), w.steps.len(), w.forced.len(), w.position()));
    let mut known: HashSet<Vec<(TxnId, TxnId, Edges)>> = HashSet::new();
    let cycle = |w: &Witness| {
        let mut steps: Vec<_> = w.steps.iter().map(|s| (s.from, s.to, s.kind)).collect();
        steps.sort_unstable();
        steps
    };
    witnesses.retain(|w| known.insert(cycle(w)));
    Violations::of(witnesses, keep)
}

struct MissedHunt<'q, 'c, 'h> {
    reasoner: Reasoner<'q, 'c, 'h>,
    graph: &'q TxnGraph,
    found: Vec<Witness>,
}

impl MissedHunt<'_, '_, '_> {
    /// Reads of the initial state by transactions that had seen one that overwrote it.
    fn missed(&mut self, told: &[ForcedEdges], most: usize) {
        let mut known = HashSet::new();
        let missed = told.iter().flat_map(|told| &told.missed);
        let first = missed.filter(|(_, seen)| known.insert((seen.txn, seen.key)));
        for (writer, seen) in first.take(most) {
            let reason = self.reasoner.of_missed(*writer, seen);
            self.found.extend(reason.map(|reason| self.missed_write(*writer, &reason, &[])));
        }
    }

    /// The cycles of one part of the graph, the most basic of it only.
    fn part(&mut self, part: &[Node], keep: usize) {
        let seen = self.found.len();
        self.without_forced(part, keep);
        if self.found.len() > seen {
            return;
        }
        let mut inside: HashSet<TxnId> = part.iter().map(|node| txn_of(*node)).collect();
        let forced = self.forced_edges(part, &inside);
        for &(writer, source, _) in forced.iter().take(TRIES) {
            if self.found.len() >= seen + keep {
                return;
            }
            self.one_forced(writer, source, &inside);
        }
        if self.found.len() > seen {
            return;
        }
        // It takes several forced edges.
        for &(writer, source, _) in forced.iter().take(keep) {
            let way = self.tree((source, FAR), BASE | FORCED, &inside, writer).path(writer);
            let Some(mut hops) = way else { continue };
            hops.push((writer, source, FORCED));
            self.found.extend(self.several_forced(&hops));
            inside.remove(&writer);
        }
    }

    /// Cycles without forced edges.
    fn without_forced(&mut self, part: &[Node], keep: usize) {
        let number =
            |node: Node| part.binary_search(&node).ok().map(|n| Node::from_index(n as u32));
        let mut edges = TxnEdges::new(part.len());
        for (from, &node) in part.iter().enumerate() {
            let from = Node::from_index(from as u32);
            for (to, _) in self.graph.edges(node).filter(|(_, k)| k.meets(BASE)) {
                number(to).into_iter().for_each(|to| edges.push(from, to, BASE));
            }
        }
        // A part of a graph is no larger than the graph.
        let Ok(graph) = Graph::new(part.len(), &[&edges]) else { return };
        let cyclic: Vec<Vec<Node>> = graph.components().cyclic();
        for cycle in cyclic.iter().take(keep) {
            let txn = |number: &Node| txn_of(part[number.at()]);
            let nodes: HashSet<TxnId> = cycle.iter().map(txn).collect();
            let starts = cycle.iter().take(STARTS).map(txn);
            let ways =
                starts.filter_map(|start| self.tree((start, FAR), BASE, &nodes, start).path(start));
            let Some(hops) = ways.min_by_key(Vec::len) else { continue };
            let steps = self.reasoner.steps(&hops);
            self.found.push(self.witness(steps, Vec::new(), &[]));
        }
    }

    fn tree(
        &self,
        from: (TxnId, usize),
        kinds: EdgeKinds,
        inside: &HashSet<TxnId>,
        end: TxnId,
    ) -> PathTree {
        let wanted = |txn: TxnId| inside.contains(&txn);
        PathTree::grow(self.graph, from, kinds, wanted, |txn| txn == end)
    }

    fn forced_edges(&self, part: &[Node], inside: &HashSet<TxnId>) -> Vec<PathHop> {
        let edges = part.iter().flat_map(|node| {
            let from = txn_of(*node);
            self.graph.edges(*node).map(move |(to, kind)| (from, txn_of(to), kind))
        });
        let forced = |hop: &PathHop| hop.2.meets(FORCED) && inside.contains(&hop.1);
        let mut forced: Vec<PathHop> = edges.filter(forced).collect();
        // Histories are mostly in the order in which transactions ended: an edge from a later one to an
        // earlier one is likelier to be what is wrong, and there may be more edges than are tried.
        forced.sort_unstable_by_key(|hop| (hop.0 < hop.1, *hop));
        forced.dedup();
        forced
    }

    /// A cycle with one forced edge: the reader that forces it missed a write that is known to be newer
    /// than what it read.
    fn one_forced(&mut self, writer: TxnId, source: TxnId, inside: &HashSet<TxnId>) {
        let Some(newer) = self.tree((source, NEAR), BASE, inside, writer).path(writer) else {
            return;
        };
        let Some(reason) = self.reasoner.of_edge(writer.0, source.0) else { return };
        self.found.push(self.missed_write(writer.0, &reason, &newer));
    }

    /// A reader missed a write that it had to see; what it read instead is older because of a path.
    fn missed_write(&self, writer: u32, reason: &Reason, newer: &[PathHop]) -> Witness {
        let seen = &reason.seen;
        let mut missed = self.reasoner.missed(writer, seen);
        let mut forced = Vec::new();
        let mut support = Vec::new();
        if !self.reasoner.overwrote_directly(writer, seen) {
            missed.because.inferred = true;
            let path = self.reasoner.steps(newer);
            forced.push(Forced { step: 0, read: seen.last, path });
        }
        if seen.source != INITIAL {
            support.push(TxnId(seen.source));
        }
        let steps = [vec![missed], reason.path.clone()].concat();
        self.witness(steps, forced, &support)
    }

    /// A cycle with several forced edges.
    fn several_forced(&self, hops: &[PathHop]) -> Option<Witness> {
        let (mut steps, mut forced) = (Vec::new(), Vec::new());
        let mut worst: Option<Anomaly> = None;
        let mut support = Vec::new();
        for &(from, to, kinds) in hops {
            if kinds.meets(BASE) {
                steps.extend(self.reasoner.steps(&[(from, to, kinds & BASE)]));
                continue;
            }
            let reason = self.reasoner.of_edge(from.0, to.0)?;
            let seen = &reason.seen;
            let because = Because {
                key: Some(Key(seen.key)),
                from_op: self.reasoner.write(from.0, seen.key),
                to_op: self.reasoner.write(to.0, seen.key),
                inferred: true,
            };
            let kind = Edges::WW;
            let missed = self.reasoner.missed(from.0, seen);
            let cycle = [vec![missed], reason.path.clone()].concat();
            let name = self.name(&cycle);
            let level = |anomaly: Anomaly| anomaly.entry().forbidden_from;
            // The cycle is forbidden where all of its edges are forced.
            if worst.is_none_or(|w| level(w) < level(name)) {
                worst = Some(name);
            }
            support.push(seen.txn);
            forced.push(Forced { step: steps.len(), read: seen.last, path: reason.path });
            steps.push(Step { from, to, kind, because });
        }
        let support: Vec<TxnId> = support.into_iter().map(TxnId).collect();
        let mut witness = self.witness(steps, forced, &support);
        witness.anomaly = worst?;
        Some(witness)
    }

    /// Something that shows the violation, if only roughly.
    fn any(&self, told: &[ForcedEdges], parts: &[Vec<Node>]) -> Witness {
        let missed = told.iter().flat_map(|told| &told.missed).next();
        let steps = match (missed, parts.first()) {
            (Some((writer, seen)), _) => vec![self.reasoner.missed(*writer, seen)],
            (None, Some(part)) => {
                let inside: HashSet<TxnId> = part.iter().map(|node| txn_of(*node)).collect();
                let start = txn_of(part[0]);
                let way = self.tree((start, FAR), BASE | FORCED, &inside, start).path(start);
                let because = Because { inferred: true, ..Because::default() };
                let step = |(from, to, _): PathHop| Step { from, to, kind: Edges::WW, because };
                way.unwrap_or_default().into_iter().map(step).collect()
            }
            (None, None) => Vec::new(),
        };
        let anomaly = match self.reasoner.question.level {
            Level::ReadUncommitted => Anomaly::G0,
            Level::Pl2 => Anomaly::G1c,
            Level::ReadCommitted => Anomaly::NonMonotonicRead,
            Level::ReadAtomic => Anomaly::FracturedRead,
            _ => Anomaly::CausalityViolation,
        };
        Witness { anomaly, ..self.witness(steps, Vec::new(), &[]) }
    }

    fn name(&self, steps: &[Step]) -> Anomaly {
        name::of_cycle(steps, |a, b| self.reasoner.explainer.earlier(a, b))
    }

    fn witness(&self, steps: Vec<Step>, forced: Vec<Forced>, also: &[TxnId]) -> Witness {
        let behind = forced.iter().flat_map(|forced| &forced.path);
        let all: Vec<Step> = steps.iter().chain(behind).copied().collect();
        let mut support: Vec<TxnId> = all.iter().flat_map(|s| [s.from, s.to]).collect();
        support.extend(also);
        support.extend(self.reasoner.explainer.shown_by(&all));
        let needs = all.iter().fold(Edges::NONE, |needs, step| needs | step.kind) & Edges::SO;
        let mut txns: Vec<TxnId> = steps.iter().map(|step| step.from).collect();
        txns.sort_unstable();
        txns.dedup();
        Witness {
            needs,
            support: self.reasoner.explainer.with_proofs(&txns, support),
            txns,
            forced,
            anomaly: self.name(&steps),
            steps,
            ..Witness::of(Anomaly::G1c)
        }
    }
}
