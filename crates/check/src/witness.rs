//! From cycles of nodes to something that a person can check.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Key, OpId, StmtId, TxnId};
use isolde_spec::{Anomaly, Because, Edges, Step, Witness};

use crate::context::Context;
use crate::cycle::Hop;
use crate::decide::Dependent;
use crate::facts::KeyFacts;
use crate::found::{Found, LocalFinding};
use crate::name;
use crate::order::{Dependencies, Dependency, Orderer};
use crate::provenance;
use crate::reasons::Edge;

/// Explains dependencies by the operations that made them.
pub(crate) struct Explainer<'a> {
    context: &'a Context<'a>,
    session_order: bool,
}

/// The dependencies of one key after another, of which some are wanted.
struct Collector<'c> {
    wanted: &'c HashSet<Edge>,
    key: Key,
    found: HashMap<Edge, (Key, Dependency)>,
}

impl Dependencies for Collector<'_> {
    fn add(&mut self, d: Dependency) {
        let edge = (d.from.0, d.to.0, d.kind);
        if self.wanted.contains(&edge) {
            self.found.entry(edge).or_insert((self.key, d));
        }
    }
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(context: &'a Context<'a>, session_order: bool) -> Explainer<'a> {
        Explainer { context, session_order }
    }

    /// The witnesses of cycles of a graph.
    pub(crate) fn cycles(&self, graph: &Dependent<'_>, cycles: &[Vec<Hop>]) -> Vec<Witness> {
        let behind: Vec<(Vec<Edge>, Vec<u32>)> = cycles
            .iter()
            .map(|hops| {
                let hops: Vec<Edge> = hops.iter().map(|h| (h.from, h.to, h.kind)).collect();
                match &graph.reasons {
                    Some(reasons) => reasons.behind(&graph.sorted().graph, &hops),
                    None => (hops, Vec::new()),
                }
            })
            .collect();
        let data = Edges::WR | Edges::WW | Edges::RW;
        let edges = behind.iter().flat_map(|(edges, _)| edges);
        let wanted: HashSet<Edge> = edges.filter(|edge| data.contains(edge.2)).copied().collect();
        let found = self.explain(&wanted);
        let cycle = |(hops, behind): (&Vec<Hop>, &(Vec<Edge>, Vec<u32>))| {
            let mut support = self.support(behind, &found);
            // Helpers of real time are no transactions.
            support.retain(|txn| txn.index() < self.context.play.len());
            self.cycle(hops, &found, support)
        };
        cycles.iter().zip(&behind).map(cycle).collect()
    }

    /// The transactions that are needed to see some edges.
    fn support(
        &self,
        (edges, also): &(Vec<Edge>, Vec<u32>),
        found: &HashMap<Edge, (Key, Dependency)>,
    ) -> Vec<TxnId> {
        let mut support: Vec<TxnId> = also.iter().map(|txn| TxnId(*txn)).collect();
        for edge in edges {
            support.extend([TxnId(edge.0), TxnId(edge.1)]);
            let behind = found.get(edge).map(|(_, d)| [d.version, d.shown_by]);
            let behind = behind.into_iter().flatten().flatten();
            support.extend(behind.map(|op| self.context.history.txn_of(op)));
        }
        support
    }

    /// Finds the dependencies behind edges, key by key.
    fn explain(&self, wanted: &HashSet<Edge>) -> HashMap<Edge, (Key, Dependency)> {
        let mut keys: Vec<Key> = Vec::new();
        for &(from, to, _) in wanted {
            keys.extend(self.common_keys(TxnId(from), TxnId(to)));
        }
        keys.sort_unstable();
        keys.dedup();
        let sessions = self.session_order.then(|| self.context.history.txn_sessions());
        let (mut facts, mut orderer) = (KeyFacts::default(), Orderer::default());
        let mut collector = Collector { wanted, key: Key(0), found: HashMap::new() };
        for key in keys {
            facts.load(self.context, key.index());
            provenance::settle(self.context, &mut facts, &mut Found::default());
            collector.key = key;
            let ignored = &mut Found::default();
            orderer.key(self.context, &facts, sessions, ignored, &mut collector);
        }
        collector.found
    }

    /// The keys that two transactions touched both.
    fn common_keys(&self, a: TxnId, b: TxnId) -> Vec<Key> {
        let keys = |t: TxnId| self.context.history.txn(t).ops().map(|op| op.key());
        let first: HashSet<Key> = keys(a).filter(|key| *key != Key::NONE).collect();
        keys(b).filter(|key| first.contains(key)).collect()
    }

    fn cycle(
        &self,
        hops: &[Hop],
        found: &HashMap<Edge, (Key, Dependency)>,
        support: Vec<TxnId>,
    ) -> Witness {
        let steps: Vec<Step> = hops
            .iter()
            .map(|hop| {
                let (from, to) = (TxnId(hop.from), TxnId(hop.to));
                let because = match found.get(&(hop.from, hop.to, hop.kind)) {
                    Some((key, d)) => Because {
                        key: Some(*key),
                        from_op: Some(d.from_op),
                        to_op: Some(d.to_op),
                        inferred: false,
                    },
                    None if (Edges::SO | Edges::RT).contains(hop.kind) => Because::default(),
                    None => self.inferred(from, to),
                };
                Step { from, to, kind: hop.kind, because }
            })
            .collect();
        let needs = steps.iter().fold(Edges::NONE, |all, s| all | s.kind);
        let txns = sorted(steps.iter().map(|s| s.from).collect());
        let earlier = |a: OpId, b: OpId| self.statement(a) < self.statement(b);
        Witness {
            anomaly: name::of_cycle(&steps, earlier),
            needs: needs & (Edges::SO | Edges::RT),
            steps,
            ops: Vec::new(),
            support: self.with_proofs(&txns, support),
            txns,
        }
    }

    /// A dependency that no operation shows: the last operations of both on a key.
    fn inferred(&self, from: TxnId, to: TxnId) -> Because {
        let common = self.common_keys(from, to);
        let writes = |t: TxnId, key: Key| {
            let ops = self.context.history.txn(t).ops().filter(|op| op.key() == key);
            ops.filter(|op| op.kind().writes()).last().map(|op| op.id())
        };
        let key = common.iter().copied().find(|key| writes(to, *key).is_some());
        Because {
            key,
            from_op: key.and_then(|key| writes(from, key)),
            to_op: key.and_then(|key| writes(to, key)),
            inferred: true,
        }
    }

    /// What supports some transactions, and for those of unknown outcome whoever shows that they
    /// committed.
    fn with_proofs(&self, txns: &[TxnId], support: Vec<TxnId>) -> Vec<TxnId> {
        let mut all: Vec<TxnId> = txns.iter().copied().chain(support).collect();
        let mut known: HashSet<TxnId> = all.iter().copied().collect();
        let mut at = 0;
        while let Some(txn) = all.get(at) {
            let proof = self.context.proved_by.get(txn).copied().filter(|p| known.insert(*p));
            all.extend(proof);
            at += 1;
        }
        all.retain(|txn| !txns.contains(txn));
        sorted(all)
    }

    /// The witness of what is wrong without any cycle.
    pub(crate) fn local(&self, finding: &LocalFinding) -> Witness {
        let ops = finding.ops();
        let txns = sorted(ops.iter().map(|op| self.context.history.txn_of(*op)).collect());
        let mut support = Vec::new();
        if finding.anomaly == Anomaly::IncompatibleOrder {
            // What the lists hold must be known to be compared.
            support.extend(ops.iter().flat_map(|op| self.appenders(*op)));
        }
        Witness {
            anomaly: finding.anomaly,
            needs: Edges::NONE,
            steps: Vec::new(),
            ops: ops.to_vec(),
            support: self.with_proofs(&txns, support),
            txns,
        }
    }

    /// Whoever appended the elements of a list that was read.
    fn appenders(&self, read: OpId) -> Vec<TxnId> {
        let op = self.context.history.op(read);
        let Some(elements) = op.elements() else { return Vec::new() };
        let mut facts = KeyFacts::default();
        facts.load(self.context, op.key().index());
        let writers = |v: &isolde_history::Value| facts.values.chain(&facts.writes, *v).next();
        elements.iter().filter_map(writers).map(|w| facts.writes[w as usize].txn).collect()
    }

    fn statement(&self, op: OpId) -> Option<StmtId> {
        let txn = self.context.history.txn(self.context.history.txn_of(op));
        txn.stmts().find(|s| s.ops().any(|o| o.id() == op)).map(|s| s.id())
    }
}

fn sorted(mut txns: Vec<TxnId>) -> Vec<TxnId> {
    txns.sort_unstable();
    txns.dedup();
    txns
}
