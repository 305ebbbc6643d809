//! From a graph with a cycle to witnesses that a person can check.
//!
//! Most violations are a reader that missed a write which it had to see. They are told as such: an
//! anti-dependency to the writer that was missed, and the way back by which it was seen. Where it
//! takes several forced edges, the cycle of the commit order is told with the reads that force it.

use hashbrown::HashSet;
use isolde_history::{Key, TxnId};
use isolde_spec::{Anomaly, Because, Edges, Forced, Level, Step, Witness};

use super::forcing::{Reason, Reasoner};
use super::path::{FAR, Hop, NEAR, Tree};
use super::reads::INITIAL;
use super::{FORCED, Question, ForcedEdges};
use crate::checker::Sorted;
use crate::graph::edges::EdgeList;
use crate::graph::csr::Graph;
use crate::explain::name;
use crate::explain::hunt::{self, Violations};

/// Everything but forced edges.
const BASE: Edges = Edges(Edges::SO.0 | Edges::WR.0 | Edges::WW.0);
/// How many reads that missed something are looked at for each witness that is kept.
const READS: usize = 8;
/// How many forced edges of a part are tried.
const TRIES: usize = 256;
/// How many transactions of a part a cycle is looked for from.
const STARTS: usize = 16;

/// What shows that the level is broken.
pub(crate) fn witnesses(question: &Question<'_, '_>, sorted: &Sorted, told: &[ForcedEdges]) -> Violations {
    let missed: u64 = told.iter().map(|told| told.missed_count).sum();
    if sorted.components.acyclic() && missed == 0 {
        return Violations::default();
    }
    let keep = question.checker.options.witnesses;
    let mut hunt = MissedHunt { reasoner: Reasoner::new(question), sorted, found: Vec::new() };
    hunt.missed(told, READS * keep);
    let parts = sorted.components.cyclic();
    let figures = vec![("cyclic parts", parts.len() as u64)];
    let some = hunt::some_of_each_size(parts.iter().map(|part| &part[..]).collect(), keep);
    some.into_iter().for_each(|part| hunt.part(part, keep));
    debug_assert!(!hunt.found.is_empty(), "a violation that nobody can explain");
    if hunt.found.is_empty() {
        // There is one, however it is told.
        let any = hunt.any(told, &parts);
        hunt.found.push(any);
    }
    let mut found = collect(hunt.found, keep);
    found.figures = figures;
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
    sorted: &'q Sorted,
    found: Vec<Witness>,
}

impl MissedHunt<'_, '_, '_> {
    /// ReadTable of the initial state by those who had seen somebody who overwrote it.
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
    fn part(&mut self, part: &[u32], keep: usize) {
        let seen = self.found.len();
        self.without_forced(part, keep);
        if self.found.len() > seen {
            return;
        }
        let mut inside: HashSet<u32> = part.iter().copied().collect();
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

    /// Cycles of what everybody saw.
    fn without_forced(&mut self, part: &[u32], keep: usize) {
        let number = |node: u32| part.binary_search(&node).ok().map(|n| n as u32);
        let mut edges = EdgeList::new(part.len());
        for (from, &node) in part.iter().enumerate() {
            for (to, _) in self.sorted.graph.edges(node).filter(|(_, k)| k.intersects(BASE)) {
                number(to).into_iter().for_each(|to| edges.push(from as u32, to, Edges::WR));
            }
        }
        let components = Graph::new(part.len(), &[&edges]).components();
        for cycle in components.cyclic().iter().take(keep) {
            let nodes: HashSet<u32> = cycle.iter().map(|n| part[*n as usize]).collect();
            let starts = cycle.iter().take(STARTS).map(|n| part[*n as usize]);
            let ways =
                starts.filter_map(|start| self.tree((start, FAR), BASE, &nodes, start).path(start));
            let Some(hops) = ways.min_by_key(Vec::len) else { continue };
            let steps = self.reasoner.steps(&hops);
            self.found.push(self.witness(steps, Vec::new(), &[]));
        }
    }

    fn tree(&self, from: (u32, usize), kinds: Edges, inside: &HashSet<u32>, end: u32) -> Tree {
        let wanted = |node: u32| inside.contains(&node);
        Tree::grow(&self.sorted.graph, from, kinds, wanted, |node| node == end)
    }

    fn forced_edges(&self, part: &[u32], inside: &HashSet<u32>) -> Vec<Hop> {
        let edges = part.iter().flat_map(|node| {
            self.sorted.graph.edges(*node).map(move |(to, kind)| (*node, to, kind))
        });
        let forced = |hop: &Hop| hop.2.contains(FORCED) && inside.contains(&hop.1);
        let mut forced: Vec<Hop> = edges.filter(forced).collect();
        // Histories are mostly in the order in which transactions ended: an edge from a later one to an
        // earlier one is likelier to be what is wrong, and there may be more edges than are tried.
        forced.sort_unstable_by_key(|hop| (hop.0 < hop.1, *hop));
        forced.dedup();
        forced
    }

    /// A cycle with one forced edge: whoever forces it missed a write that is known to be newer than
    /// what it read.
    fn one_forced(&mut self, writer: u32, source: u32, inside: &HashSet<u32>) {
        let Some(newer) = self.tree((source, NEAR), BASE, inside, writer).path(writer) else {
            return;
        };
        let Some(reason) = self.reasoner.of_edge(writer, source) else { return };
        self.found.push(self.missed_write(writer, &reason, &newer));
    }

    /// A reader missed a write that it had to see; what it read instead is older because of a path.
    fn missed_write(&self, writer: u32, reason: &Reason, newer: &[Hop]) -> Witness {
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
    fn several_forced(&self, hops: &[Hop]) -> Option<Witness> {
        let (mut steps, mut forced) = (Vec::new(), Vec::new());
        let mut worst: Option<Anomaly> = None;
        let mut support = Vec::new();
        for &(from, to, kinds) in hops {
            if kinds.intersects(BASE) {
                steps.extend(self.reasoner.steps(&[(from, to, kinds & BASE)]));
                continue;
            }
            let reason = self.reasoner.of_edge(from, to)?;
            let seen = &reason.seen;
            let because = Because {
                key: Some(Key(seen.key)),
                from_op: self.reasoner.write(from, seen.key),
                to_op: self.reasoner.write(to, seen.key),
                inferred: true,
            };
            let (from, to, kind) = (TxnId(from), TxnId(to), Edges::WW);
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
    fn any(&self, told: &[ForcedEdges], parts: &[Vec<u32>]) -> Witness {
        let missed = told.iter().flat_map(|told| &told.missed).next();
        let steps = match (missed, parts.first()) {
            (Some((writer, seen)), _) => vec![self.reasoner.missed(*writer, seen)],
            (None, Some(part)) => {
                let inside: HashSet<u32> = part.iter().copied().collect();
                let way = self.tree((part[0], FAR), BASE | FORCED, &inside, part[0]).path(part[0]);
                let because = Because { inferred: true, ..Because::default() };
                let step = |(from, to, _): Hop| Step {
                    from: TxnId(from),
                    to: TxnId(to),
                    kind: Edges::WW,
                    because,
                };
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
