//! From cycles of nodes to something that a person can check.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Key, OpId, OpKind, StmtId, TxnId, Value};
use isolde_spec::{Anomaly, Because, Edges, Step, Witness};

use crate::keys::context::Context;
use crate::explain::cycle::Hop;
use crate::strong::decide::QuestionGraph;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::{Findings, LocalFinding};
use crate::explain::name;
use crate::order::dependency::{Dependencies, Dependency};
use crate::order::orderer::Orderer;
use crate::keys::provenance;
use crate::unordered::inferences::Edge;
use crate::unordered::force::Visibility;

/// Explains dependencies by the operations that made them.
pub(crate) struct Explainer<'a> {
    context: &'a Context<'a>,
    session_order: bool,
}

/// The dependencies of one key after another, of which some are wanted.
struct Collector<'c> {
    wanted: &'c HashSet<Edge>,
    /// The anti-dependencies among them, by whoever reads.
    anti: HashMap<TxnId, Vec<TxnId>>,
    key: Key,
    found: Explained,
}

/// The dependencies behind each edge. There may be several, on several keys; a few are enough.
type Explained = HashMap<Edge, Vec<(Key, Dependency)>>;

/// The edges behind a cycle, and the transactions that made them so.
type Behind = (Vec<Edge>, Vec<u32>);

const FEW: usize = 4;
/// How many combinations of explanations are tried for a name.
const CHOICES: usize = 64;
/// How many appenders of the elements of lists are shown.
const APPENDERS: usize = 64;

impl<'c> Collector<'c> {
    fn new(wanted: &'c HashSet<Edge>) -> Collector<'c> {
        let mut anti: HashMap<TxnId, Vec<TxnId>> = HashMap::new();
        for (from, to, _) in wanted.iter().filter(|(_, _, kind)| *kind == Edges::RW) {
            anti.entry(TxnId(*from)).or_default().push(TxnId(*to));
        }
        anti.values_mut().for_each(|to| to.sort_unstable());
        Collector { wanted, anti, key: Key(0), found: HashMap::new() }
    }
}

impl Dependencies for Collector<'_> {
    fn add(&mut self, d: Dependency) {
        let edge = (d.from.0, d.to.0, d.kind);
        if self.wanted.contains(&edge) {
            let found = self.found.entry(edge).or_default();
            if found.len() < FEW {
                found.push((self.key, d));
            }
        }
    }

    fn all(&mut self, _: usize, _: &[TxnId], _: &[TxnId]) {}

    fn wanted(&self) -> Option<&HashMap<TxnId, Vec<TxnId>>> {
        Some(&self.anti)
    }
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(context: &'a Context<'a>, session_order: bool) -> Explainer<'a> {
        Explainer { context, session_order }
    }

    /// The witnesses of cycles of a graph.
    /// The first of them are on these keys, whatever else their transactions have in common.
    pub(crate) fn cycles(
        &self,
        graph: &QuestionGraph<'_>,
        cycles: &[Vec<Hop>],
        keys: &[Key],
    ) -> Vec<Witness> {
        let behind: Vec<Behind> = cycles
            .iter()
            .map(|hops| {
                let hops: Vec<Edge> = hops.iter().map(|h| (h.from, h.to, h.kind)).collect();
                match &graph.reasons {
                    Some(reasons) => {
                        let txns = self.context.standings.len() as u32;
                        reasons.behind(&graph.sorted().graph, txns, &hops)
                    }
                    None => (hops, Vec::new()),
                }
            })
            .collect();
        let data = Edges::WR | Edges::WW | Edges::RW;
        let edges = behind.iter().flat_map(|(edges, _)| edges);
        let wanted: HashSet<Edge> = edges.filter(|edge| data.contains(edge.2)).copied().collect();
        let found = self.explain(&wanted);
        let cycle = |(at, (hops, behind)): (usize, (&Vec<Hop>, &Behind))| {
            let mut support = self.support(behind, &found);
            // Helpers of real time are no transactions.
            support.retain(|txn| txn.index() < self.context.standings.len());
            let steps = hops.iter().map(|hop| on_key(self.steps(hop, &found), keys.get(at)));
            let steps: Vec<Vec<Step>> = steps.collect();
            let by_session = |edge: &Edge| {
                let all = found.get(edge).filter(|all| !all.is_empty());
                all.is_some_and(|all| all.iter().all(|(_, d)| d.by_session))
            };
            let needs = behind.0.iter().fold(Edges::NONE, |needs, edge| {
                needs | edge.2 | if by_session(edge) { Edges::SO } else { Edges::NONE }
            });
            let mut witness = self.cycle(&steps, support);
            witness.needs = needs & (Edges::SO | Edges::RT);
            if witness.steps.iter().any(|step| step.because.inferred) {
                // Its edges hold at this level only: so does its name.
                let sees = graph.reasons.as_ref().map(|reasons| reasons.sees);
                witness.anomaly = match sees {
                    Some(Visibility::Prefix) => Anomaly::PrefixViolation,
                    Some(Visibility::Snapshot) => Anomaly::GNonadjacent,
                    _ => Anomaly::G2Item,
                };
            }
            witness
        };
        cycles.iter().zip(&behind).enumerate().map(cycle).collect()
    }

    /// The transactions that are needed to see some edges.
    fn support(&self, (edges, also): &Behind, found: &Explained) -> Vec<TxnId> {
        let mut support: Vec<TxnId> = also.iter().map(|txn| TxnId(*txn)).collect();
        for edge in edges {
            support.extend([TxnId(edge.0), TxnId(edge.1)]);
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

    /// Who shows that a row satisfies the predicate of a predicate read that missed it.
    fn row_shown_by(&self, key: Key, d: &Dependency, value: Value) -> Option<OpId> {
        let read = self.context.history.op(d.from_op);
        let missed = d.kind == Edges::RW && read.kind() == OpKind::PredicateRead;
        let predicates = &self.context.predicates;
        missed.then(|| predicates.shown_by(read.value(), key.index(), value)).flatten()
    }

    /// Finds the dependencies behind edges, key by key.
    fn explain(&self, wanted: &HashSet<Edge>) -> Explained {
        let mut keys: Vec<Key> = Vec::new();
        for &(from, to, _) in wanted {
            keys.extend(self.common_keys(TxnId(from), TxnId(to)));
        }
        keys.sort_unstable();
        keys.dedup();
        let sessions = self.session_order.then(|| self.context.history.txn_sessions());
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        let mut collector = Collector::new(wanted);
        for key in keys {
            facts.load(self.context, &self.context.standings, key.index());
            provenance::settle(self.context, &mut facts, &mut Findings::default());
            collector.key = key;
            let ignored = &mut Findings::default();
            orderer.key(self.context, &facts, sessions, ignored, &mut collector);
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
        let (from, to, kind) = (TxnId(hop.from), TxnId(hop.to), hop.kind);
        let edge = (hop.from, hop.to, kind);
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

    /// What supports some transactions, and for those of unknown outcome whoever shows that they
    /// committed.
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
            support.extend(shown.map(|op| history.txn_of(op)));
        }
        Witness {
            ops: ops.to_vec(),
            support: self.with_proofs(&txns, support),
            txns,
            ..Witness::of(finding.anomaly)
        }
    }

    /// Whoever appended the elements of a list that was read.
    fn appenders(&self, read: OpId) -> Vec<TxnId> {
        let op = self.context.history.op(read);
        let Some(elements) = op.elements() else { return Vec::new() };
        let mut facts = KeyFacts::default();
        facts.load(self.context, &self.context.standings, op.key().index());
        let writers = |v: &Value| facts.values.chain(&facts.writes, *v).next();
        elements.iter().filter_map(writers).map(|w| facts.writes[w as usize].txn).collect()
    }

    /// Whether one operation's statement comes before another's in the same transaction.
    pub(crate) fn earlier(&self, a: OpId, b: OpId) -> bool {
        self.statement(a) < self.statement(b)
    }

    /// A write that a list or the recorder shows to come after another one.
    pub(crate) fn overwrote(&self, from: TxnId, to: TxnId) -> Step {
        let hop = Hop { from: from.0, to: to.0, kind: Edges::WW };
        let wanted = HashSet::from([(from.0, to.0, Edges::WW)]);
        let because = Because::default();
        let any = Step { from, to, kind: Edges::WW, because };
        self.steps(&hop, &self.explain(&wanted)).first().copied().unwrap_or(any)
    }

    /// Whoever shows the order of writes in some steps.
    pub(crate) fn shown_by(&self, steps: &[Step]) -> Vec<TxnId> {
        let writes = steps.iter().filter(|s| s.kind == Edges::WW && !s.because.inferred);
        let edges: Vec<Edge> = writes.map(|s| (s.from.0, s.to.0, s.kind)).collect();
        let found = self.explain(&edges.iter().copied().collect());
        if edges.is_empty() { Vec::new() } else { self.support(&(edges, Vec::new()), &found) }
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
