//! From cycles of nodes to something that a person can check.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Key, OpId, OpKind, StmtId, TxnId, Value};
use isolde_spec::{Anomaly, Because, Edges, Step, Witness};

use crate::explain::cycle::Hop;
use crate::explain::name;
use crate::graph::node::{Node, Numbering};
use crate::graph::visibility::Visibility;
use crate::keys::context::Context;
use crate::keys::findings::{Findings, LocalFinding};
use crate::keys::key_facts::KeyFacts;
use crate::keys::provenance;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;
use crate::unordered::question_graph::QuestionGraph;

/// A dependency of one kind.
type TxnEdge = (TxnId, TxnId, Edges);

/// Explains dependencies by the operations that made them.
pub(crate) struct Explainer<'a> {
    context: &'a Context<'a>,
    session_order: bool,
    /// Whether updates are adjacent to what they read.
    adjacent: bool,
}

/// The dependencies of one key after another, of which some are wanted.
struct Collector<'c> {
    wanted: &'c HashSet<TxnEdge>,
    /// The anti-dependencies among them, by reader.
    anti: HashMap<TxnId, Vec<TxnId>>,
    key: Key,
    adjacent: bool,
    found: Explained,
}

/// The dependencies behind each edge. There may be several, on several keys; a few are enough.
type Explained = HashMap<TxnEdge, Vec<(Key, Dependency)>>;

/// What is behind a cycle.
#[derive(Default)]
struct Behind {
    /// The edges between transactions, its own and those that inferred ones rest on.
    edges: Vec<TxnEdge>,
    /// The kinds of all edges, also of those that lead over helpers.
    kinds: Edges,
    /// The transactions that made inferred edges so, and those beside helpers.
    also: Vec<TxnId>,
}

const FEW: usize = 4;
/// How many combinations of explanations are tried for a name.
const CHOICES: usize = 64;
/// How many appenders of the elements of lists are shown.
const APPENDERS: usize = 64;

impl<'c> Collector<'c> {
    fn new(wanted: &'c HashSet<TxnEdge>, adjacent: bool) -> Collector<'c> {
        let mut anti: HashMap<TxnId, Vec<TxnId>> = HashMap::new();
        for (from, to, _) in wanted.iter().filter(|(_, _, kind)| *kind == Edges::RW) {
            anti.entry(*from).or_default().push(*to);
        }
        anti.values_mut().for_each(|to| to.sort_unstable());
        Collector { wanted, anti, key: Key(0), adjacent, found: HashMap::new() }
    }
}

impl Dependencies for Collector<'_> {
    fn add(&mut self, d: Dependency) {
        let edge = (d.from, d.to, d.kind);
        if self.wanted.contains(&edge) {
            let found = self.found.entry(edge).or_default();
            if found.len() < FEW {
                found.push((self.key, d));
            }
        }
    }

    fn all(&mut self, _: usize, _: &[TxnId], _: &[TxnId]) {}

    fn add_of_update(&mut self, d: Dependency) {
        if self.adjacent {
            self.add(d);
        }
    }

    fn wanted(&self) -> Option<&HashMap<TxnId, Vec<TxnId>>> {
        Some(&self.anti)
    }
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(context: &'a Context<'a>, session_order: bool) -> Explainer<'a> {
        Explainer { context, session_order, adjacent: false }
    }

    /// The same, of a level at which updates are adjacent to what they read.
    pub(crate) fn with_adjacent(self, adjacent: bool) -> Explainer<'a> {
        Explainer { adjacent, ..self }
    }

    /// The witnesses of cycles of a graph.
    /// The first of them are on these keys, whatever else their transactions have in common.
    pub(crate) fn cycles(
        &self,
        graph: &QuestionGraph<'_>,
        cycles: &[Vec<Hop>],
        keys: &[Key],
    ) -> Vec<Witness> {
        let behind: Vec<Behind> = cycles.iter().map(|hops| self.behind(graph, hops)).collect();
        let data = Edges::WR | Edges::WW | Edges::RW;
        let edges = behind.iter().flat_map(|behind| &behind.edges);
        let mut wanted: HashSet<TxnEdge> =
            edges.filter(|edge| data.contains(edge.2)).copied().collect();
        if self.adjacent {
            let ww: Vec<TxnEdge> = wanted.iter().filter(|e| e.2 == Edges::WW).copied().collect();
            wanted.extend(ww.into_iter().map(|(from, to, _)| (from, to, Edges::RW)));
        }
        let found = self.explain(&wanted);
        let cycle = |(at, (hops, behind)): (usize, (&Vec<Hop>, &Behind))| {
            let support = self.support(behind, &found);
            let hops = anti_dependent(hops, &found);
            let steps = hops.iter().map(|hop| on_key(self.steps(hop, &found), keys.get(at)));
            let steps: Vec<Vec<Step>> = steps.collect();
            let by_session = |edge: &TxnEdge| {
                let all = found.get(edge).filter(|all| !all.is_empty());
                all.is_some_and(|all| all.iter().all(|(_, d)| d.by_session))
            };
            let sessions =
                if behind.edges.iter().any(by_session) { Edges::SO } else { Edges::NONE };
            let needs = behind.kinds | sessions;
            let mut witness = self.cycle(&steps, support);
            witness.needs = needs & (Edges::SO | Edges::RT);
            if witness.steps.iter().any(|step| step.because.inferred) {
                // Its edges hold at this level only: so does its name.
                let visibility = graph.inferences.as_ref().map(|inferences| inferences.visibility);
                witness.anomaly = match visibility {
                    Some(Visibility::Prefix) => Anomaly::PrefixViolation,
                    Some(Visibility::Snapshot) => Anomaly::GNonadjacent,
                    _ => Anomaly::G2Item,
                };
            }
            witness
        };
        cycles.iter().zip(&behind).enumerate().map(cycle).collect()
    }

    /// What is behind a cycle.
    fn behind(&self, graph: &QuestionGraph<'_>, hops: &[Hop]) -> Behind {
        let edge = |h: &Hop| (Node::from(h.from), Node::from(h.to), h.kind);
        let hops: Vec<(Node, Node, Edges)> = hops.iter().map(edge).collect();
        let numbering = Numbering::of(self.context);
        let (edges, also) = match &graph.inferences {
            Some(inferences) => inferences.behind(&graph.parts().graph, numbering, &hops),
            None => (hops, Vec::new()),
        };
        let mut behind = Behind::default();
        behind.also.extend(also.into_iter().filter_map(|node| numbering.txn(node)));
        for (from, to, kind) in edges {
            behind.kinds |= kind;
            match (numbering.txn(from), numbering.txn(to)) {
                (Some(from), Some(to)) => behind.edges.push((from, to, kind)),
                // Helpers of real time are no transactions.
                (from, to) => behind.also.extend(from.into_iter().chain(to)),
            }
        }
        behind
    }

    /// The transactions that are needed to see some edges.
    fn support(&self, behind: &Behind, found: &Explained) -> Vec<TxnId> {
        let mut support = behind.also.clone();
        for edge in &behind.edges {
            support.extend([edge.0, edge.1]);
            let behind = found.get(edge).into_iter().flatten();
            let behind = behind.flat_map(|(key, d)| {
                let write = |op: Option<OpId>| op.map(|op| self.context.history.op(op).value());
                let initial = self.context.initial(key.index());
                let rows = [write(d.version), write(Some(d.to_op)), initial];
                let rows = rows.map(|value| self.row_shown_by(*key, d, value?));
                [d.version, d.shown_by].into_iter().chain(rows)
            });
            support.extend(behind.flatten().map(|op| self.context.history.txn_of(op)));
        }
        support
    }

    /// The read that shows that a row satisfies the predicate of a predicate read that missed it.
    fn row_shown_by(&self, key: Key, d: &Dependency, value: Value) -> Option<OpId> {
        let read = self.context.history.op(d.from_op);
        let missed = d.kind == Edges::RW && read.kind() == OpKind::PredicateRead;
        let predicates = &self.context.predicates;
        missed.then(|| predicates.shown_by(read.value(), key.index(), value)).flatten()
    }

    /// Finds the dependencies behind edges, key by key.
    fn explain(&self, wanted: &HashSet<TxnEdge>) -> Explained {
        let mut keys: Vec<Key> = Vec::new();
        for &(from, to, _) in wanted {
            keys.extend(self.common_keys(from, to));
        }
        keys.sort_unstable();
        keys.dedup();
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        let mut collector = Collector::new(wanted, self.adjacent);
        for key in keys {
            self.context.load(&mut facts, key.index());
            provenance::settle(self.context, &mut facts, &mut Findings::default());
            collector.key = key;
            let ignored = &mut Findings::default();
            orderer.key(self.context, &facts, ignored, &mut collector);
            if self.session_order {
                orderer.order_of_session(self.context, &facts, &mut collector);
            }
        }
        collector.found
    }

    /// The keys that two transactions touched both. A predicate read may have touched any.
    fn common_keys(&self, a: TxnId, b: TxnId) -> Vec<Key> {
        let ops = |t: TxnId| self.context.history.txn(t).ops();
        let any = |t: TxnId| ops(t).any(|op| op.kind() == OpKind::PredicateRead);
        let keys = |t: TxnId| ops(t).map(|op| op.key()).filter(|key| *key != Key::NONE);
        let first: HashSet<Key> = keys(a).collect();
        let (any_of_a, any_of_b) = (any(a), any(b));
        let second: HashSet<Key> = keys(b).collect();
        let in_both =
            |key: &Key| (any_of_a || first.contains(key)) && (any_of_b || second.contains(key));
        keys(a).chain(keys(b)).filter(in_both).collect()
    }

    /// The witness of a cycle, of whose steps there are several explanations: those are taken that
    /// give it the most basic name.
    fn cycle(&self, choices: &[Vec<Step>], support: Vec<TxnId>) -> Witness {
        let earlier = |a: OpId, b: OpId| self.earlier(a, b);
        let count = choices.iter().fold(1usize, |all, steps| all.saturating_mul(steps.len()));
        let named = |mut number: usize| {
            let mut pick = |steps: &Vec<Step>| {
                let step = steps[number % steps.len()];
                number /= steps.len();
                step
            };
            let steps: Vec<Step> = choices.iter().map(&mut pick).collect();
            (name::of_cycle(&steps, earlier), steps)
        };
        let all = (0..count.clamp(1, CHOICES)).map(named);
        let best = all.min_by_key(|(anomaly, _)| anomaly.rank());
        let (anomaly, steps) = best.unwrap_or((Anomaly::G2Item, Vec::new()));
        let txns = sorted(steps.iter().map(|s| s.from).collect());
        Witness { steps, support: self.with_proofs(&txns, support), txns, ..Witness::of(anomaly) }
    }

    /// The explanations of an edge, at least one.
    fn steps(&self, hop: &Hop, found: &Explained) -> Vec<Step> {
        let Hop { from, to, kind } = *hop;
        let edge = (from, to, kind);
        let step = |because: Because| Step { from, to, kind, because };
        let shown = |(key, d): &(Key, Dependency)| {
            let (from_op, to_op) = (Some(d.from_op), Some(d.to_op));
            step(Because { key: Some(*key), from_op, to_op, inferred: false })
        };
        match found.get(&edge) {
            Some(all) if !all.is_empty() => all.iter().map(shown).collect(),
            _ if (Edges::SO | Edges::RT).contains(kind) => vec![step(Because::default())],
            _ => vec![step(self.unseen(from, to, kind))],
        }
    }

    /// A dependency that no pair of operations shows: the last ones of both on a key.
    fn unseen(&self, from: TxnId, to: TxnId, kind: Edges) -> Because {
        let last = |t: TxnId, writes: bool| -> HashMap<Key, OpId> {
            let ops = self.context.history.txn(t).ops().filter(|op| op.kind().has_key());
            ops.filter(|op| op.kind().writes() == writes).map(|op| (op.key(), op.id())).collect()
        };
        let (first, second) = (last(from, kind != Edges::RW), last(to, true));
        let both = first.iter().filter_map(|(key, op)| Some((*key, (*op, *second.get(key)?))));
        let found = both.min();
        match found {
            Some((key, (from_op, to_op))) => Because {
                key: Some(key),
                from_op: Some(from_op),
                to_op: Some(to_op),
                inferred: true,
            },
            None => Because { inferred: true, ..Because::default() },
        }
    }

    /// What supports some transactions, and for those of unknown outcome the reader that shows that
    /// they committed.
    pub(crate) fn with_proofs(&self, txns: &[TxnId], support: Vec<TxnId>) -> Vec<TxnId> {
        let mut all: Vec<TxnId> = txns.iter().copied().chain(support).collect();
        let mut known: HashSet<TxnId> = all.iter().copied().collect();
        let mut at = 0;
        while let Some(txn) = all.get(at) {
            let proof = self.context.proved_by.get(txn).copied().filter(|p| known.insert(*p));
            all.extend(proof);
            at += 1;
        }
        let own: HashSet<TxnId> = txns.iter().copied().collect();
        all.retain(|txn| !own.contains(txn));
        sorted(all)
    }

    /// The witness of what is wrong without any cycle.
    pub(crate) fn local(&self, finding: &LocalFinding) -> Witness {
        let ops = finding.ops();
        let txns = sorted(ops.iter().map(|op| self.context.history.txn_of(*op)).collect());
        let mut support = Vec::new();
        if finding.anomaly == Anomaly::IncompatibleOrder {
            // What the lists hold is no read from nowhere; of long ones, that is not worth showing.
            let appenders: Vec<TxnId> = ops.iter().flat_map(|op| self.appenders(*op)).collect();
            support
                .extend(Some(appenders).filter(|all| all.len() <= APPENDERS).into_iter().flatten());
        }
        let history = self.context.history;
        let predicates = ops.iter().map(|op| history.op(*op));
        for op in predicates.filter(|op| op.kind() == OpKind::PredicateRead) {
            let shown = self.context.predicates.evidence(op.value());
            support.extend(shown.into_iter().map(|op| history.txn_of(op)));
        }
        Witness {
            ops: ops.to_vec(),
            support: self.with_proofs(&txns, support),
            txns,
            ..Witness::of(finding.anomaly)
        }
    }

    /// The transactions that appended the elements of a list that was read.
    fn appenders(&self, read: OpId) -> Vec<TxnId> {
        let op = self.context.history.op(read);
        let Some(elements) = op.elements() else { return Vec::new() };
        let mut facts = KeyFacts::default();
        self.context.load(&mut facts, op.key().index());
        let writers = |v: &Value| facts.values.chain(&facts.writes, *v).next();
        elements.iter().filter_map(writers).map(|w| facts.writes[w as usize].txn).collect()
    }

    /// Whether one operation's statement comes before another's in the same transaction.
    pub(crate) fn earlier(&self, a: OpId, b: OpId) -> bool {
        self.statement(a) < self.statement(b)
    }

    /// A write that a list or the recorder shows to come after another one.
    pub(crate) fn overwrote(&self, from: TxnId, to: TxnId) -> Step {
        let hop = Hop { from, to, kind: Edges::WW };
        let wanted = HashSet::from([(from, to, Edges::WW)]);
        let because = Because::default();
        let any = Step { from, to, kind: Edges::WW, because };
        self.steps(&hop, &self.explain(&wanted)).first().copied().unwrap_or(any)
    }

    /// The transactions that show the order of writes in some steps.
    pub(crate) fn shown_by(&self, steps: &[Step]) -> Vec<TxnId> {
        let writes = steps.iter().filter(|s| s.kind == Edges::WW && !s.because.inferred);
        let edges: Vec<TxnEdge> = writes.map(|s| (s.from, s.to, s.kind)).collect();
        if edges.is_empty() {
            return Vec::new();
        }
        let found = self.explain(&edges.iter().copied().collect());
        self.support(&Behind { edges, ..Behind::default() }, &found)
    }

    fn statement(&self, op: OpId) -> Option<StmtId> {
        let txn = self.context.history.txn(self.context.history.txn_of(op));
        txn.stmts().find(|s| s.ops().any(|o| o.id() == op)).map(|s| s.id())
    }
}

/// The explanations of an edge on one key, if there are some.
fn on_key(mut steps: Vec<Step>, key: Option<&Key>) -> Vec<Step> {
    let wanted = |step: &Step| step.because.key.as_ref() == key;
    if key.is_some() && steps.iter().any(wanted) {
        steps.retain(wanted);
    }
    steps
}

fn sorted(mut txns: Vec<TxnId>) -> Vec<TxnId> {
    txns.sort_unstable();
    txns.dedup();
    txns
}

/// The cycle with an anti-dependency, if it has none and rests on an update: the transaction that made
/// the next version of what it had read comes before the other writers, because it missed what they
/// wrote. Without that it would have the name of a cycle of writes, which weaker levels forbid, too.
fn anti_dependent(hops: &[Hop], found: &Explained) -> Vec<Hop> {
    let mut hops = hops.to_vec();
    let of_update = |hop: &&mut Hop| {
        let behind = found.get(&(hop.from, hop.to, hop.kind)).filter(|all| !all.is_empty());
        behind.is_some_and(|all| all.iter().all(|(_, d)| d.of_update))
    };
    if hops.iter().all(|hop| hop.kind != Edges::RW)
        && let Some(hop) = hops.iter_mut().find(of_update)
    {
        hop.kind = Edges::RW;
    }
    hops
}
