//! From a history and a promise to a verdict.

use hashbrown::{HashMap, HashSet};
use isolde_history::{History, Key, OpId, TxnId, Value};
use isolde_spec::{Anomaly, Answer, CATALOGUE, Counted, Edges, Finding, Level, Promise, Reads};
use isolde_spec::{Verdict, Witness};

use crate::cycle::{Hop, Region};
use crate::graph::{Components, Graph};
use crate::lists;
use crate::order::{self, ListOrder, Orders};
use crate::provenance::{self, Doubt, Provenance};
use crate::real_time::{self, RealTime};
use crate::saturate::{self, Sees};
use crate::witness::Explainer;
use crate::{replay, scan, snapshot};

/// How to decide.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How far the clocks of clients may be apart: one transaction precedes another in real time
    /// only if it ended more than this before the other began.
    pub clock_skew: i64,
    /// How many witnesses of each anomaly to keep.
    pub witnesses: usize,
    /// How many nodes a search for one shortest cycle may visit.
    pub search_budget: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { clock_skew: 0, witnesses: 10, search_budget: 1_000_000 }
    }
}

/// Decides whether a history keeps a promise.
pub fn check(history: &History, promise: Promise, options: &Options) -> Verdict {
    let mut provenance = provenance::trace(history, scan::operations(history));
    let lists = list_orders(history, &mut provenance);
    let mut case = Case::new(history, &provenance, &lists, promise, options);
    case.decide()
}

/// The orders of all lists, by key.
fn list_orders(history: &History, p: &mut Provenance) -> Vec<ListOrder> {
    let longest = lists::compare(history, p);
    let mut orders: Vec<ListOrder> = Vec::new();
    for (key, (read, elements)) in longest.by_key {
        orders.push(lists::versions(p, key, read, elements));
    }
    let lists: HashSet<Key> = orders.iter().map(|list| list.key).collect();
    for (key, versions) in history.version_orders() {
        let first = history.meta().initial.of(*key).unwrap_or(Value::ABSENT);
        // The elements of a list are not what the key starts with.
        let first = if lists.contains(key) { Value::UNOBSERVED } else { first };
        orders.push(given_order(p, *key, versions, first));
        if versions.iter().skip(1).any(|v| *v == first) {
            p.doubts.push(Doubt::InitialNotFirst(*key));
        }
    }
    orders.sort_unstable_by_key(|list| list.key);
    orders
}

/// The order that the recorder gave, as far as it names versions by values that were written once
/// and are not the initial one.
fn given_order(p: &mut Provenance, key: Key, versions: &[Value], first: Value) -> ListOrder {
    let mut position: HashMap<Value, usize> = HashMap::with_capacity(versions.len());
    let written = versions.iter().enumerate().filter(|(_, v)| **v != first);
    position.extend(written.map(|(i, v)| (*v, i)));
    let (mut seen, mut unseen) = (Vec::new(), Vec::new());
    for &w in p.by_key.of(key.index()) {
        let write = &p.writes[w as usize];
        match position.get(&write.value) {
            Some(&at) if p.may_have_happened(write) => seen.push((at, w)),
            None if p.is_version(write) => unseen.push(w),
            _ => {}
        }
    }
    seen.sort_unstable();
    // A value that several may have written does not say which of them comes there.
    let mut clear = Vec::new();
    let mut unclear = false;
    for run in seen.chunk_by(|a, b| a.0 == b.0) {
        let txn = |w: u32| p.writes[w as usize].txn;
        let one = run.iter().all(|(_, w)| txn(*w) == txn(run[0].1));
        unclear |= !one;
        let target = if one { &mut clear } else { &mut unseen };
        let versions = run.iter().map(|(_, w)| *w);
        target.extend(versions.filter(|&w| p.is_version(&p.writes[w as usize])));
    }
    if unclear {
        p.doubts.push(Doubt::AmbiguousOrder(key));
    }
    ListOrder { key, seen: clear, elements: Vec::new(), unseen, unseen_last: false }
}

/// One question about one history.
struct Case<'a> {
    history: &'a History,
    p: &'a Provenance,
    promise: Promise,
    options: &'a Options,
    orders: Orders,
    real_time: Option<RealTime>,
    graph: Graph,
    components: Components,
}

impl<'a> Case<'a> {
    fn new(
        history: &'a History,
        p: &'a Provenance,
        lists: &[ListOrder],
        promise: Promise,
        options: &'a Options,
    ) -> Case<'a> {
        let sessions = promise.session_order.then(|| history.txn_sessions());
        let mut orders = order::find(p, history.key_count(), lists, sessions);
        if promise.session_order {
            order::session_edges(history, p, &mut orders.edges);
        }
        let real_time = promise
            .level
            .needs_real_time()
            .then(|| real_time::edges(history, p, options.clock_skew, &mut orders.edges));
        let helpers = real_time.as_ref().map_or(0, |rt| rt.helpers);
        let nodes = history.txn_count() + helpers;
        if promise.level.implies(Level::SnapshotIsolation) {
            let serial = promise.level.implies(Level::Serializable);
            let sees = if serial { Sees::Serial } else { Sees::Snapshot };
            saturate::saturate(sees, nodes, &mut orders.edges, p, &orders.unordered);
        }
        let graph = Graph::new(nodes, &orders.edges);
        let components = graph.components(Edges::ALL);
        Case { history, p, promise, options, orders, real_time, graph, components }
    }

    fn decide(&mut self) -> Verdict {
        let mut witnesses = self.local_witnesses();
        let mut counts = self.local_counts();
        if self.is_strong() {
            let cycles = self.cycles();
            for witness in &cycles {
                count(&mut counts, witness.anomaly, 1);
            }
            witnesses.extend(cycles);
        }
        let answer =
            if witnesses.is_empty() { self.without_witness() } else { Answer::Violated(witnesses) };
        Verdict { promise: self.promise, answer, counts }
    }

    /// Whether the dependency graph decides the level.
    fn is_strong(&self) -> bool {
        self.promise.level.implies(Level::SnapshotIsolation)
    }

    // ---- what is wrong inside transactions ----

    fn local_witnesses(&self) -> Vec<Witness> {
        let mut witnesses = Vec::new();
        for entry in
            CATALOGUE.iter().filter(|e| matches!(e.finding, Finding::Local | Finding::Lists))
        {
            let found = self.p.findings.iter().filter(|f| f.anomaly == entry.anomaly);
            if !entry.anomaly.forbidden_at(self.promise.level) {
                continue;
            }
            witnesses.extend(found.take(self.options.witnesses).map(|f| {
                let txn_of = |op: &OpId| self.history.txn_of(*op);
                let mut txns: Vec<_> = f.ops.iter().map(txn_of).collect();
                txns.sort_unstable();
                txns.dedup();
                Witness {
                    anomaly: f.anomaly,
                    needs: Edges::NONE,
                    steps: Vec::new(),
                    ops: f.ops.clone(),
                    txns,
                }
            }));
        }
        witnesses
    }

    fn local_counts(&self) -> Vec<Counted> {
        let mut counts = Vec::new();
        for f in self.p.findings.iter().filter(|f| f.anomaly.forbidden_at(self.promise.level)) {
            count(&mut counts, f.anomaly, 1);
        }
        counts
    }

    // ---- what is wrong between transactions ----

    /// Snapshot isolation allows cycles with anti-dependencies next to each other.
    fn allows_adjacent(&self) -> bool {
        !self.promise.level.implies(Level::Serializable)
    }

    fn cycles(&self) -> Vec<Witness> {
        let mut witnesses = Vec::new();
        if self.allows_adjacent() {
            if self.orders.divergences.is_empty() && self.snapshot_acyclic() {
                return witnesses;
            }
        } else if self.components.acyclic() {
            return witnesses;
        }
        let explainer = Explainer::new(self.history, self.p);
        for d in self.orders.divergences.iter().take(self.options.witnesses) {
            let [a, b] = d.writes.map(|w| self.p.writes[w as usize].txn.0);
            let hops = [(a, b), (b, a)].map(|(from, to)| Hop { from, to, kind: Edges::RW });
            witnesses.push(Witness { anomaly: Anomaly::LostUpdate, ..explainer.cycle(&hops) });
        }
        let mut seen = HashSet::new();
        for start in self.cyclic_nodes() {
            if witnesses.len() >= 4 * self.options.witnesses {
                break;
            }
            if seen.contains(&self.components.of[start as usize]) {
                continue;
            }
            if let Some(hops) = self.most_basic_cycle(start) {
                seen.insert(self.components.of[start as usize]);
                witnesses.push(explainer.cycle(&hops));
            }
        }
        witnesses.sort_by_key(|w| CATALOGUE.iter().position(|e| e.anomaly == w.anomaly));
        witnesses
    }

    fn snapshot_acyclic(&self) -> bool {
        snapshot::acyclic(&self.graph, &self.components)
    }

    /// Transactions that are in a cycle of any kind.
    fn cyclic_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        let size = |n: &u32| self.components.sizes[self.components.of[*n as usize] as usize];
        (0..self.history.txn_count() as u32).filter(move |n| size(n) > 1)
    }

    /// The shortest cycle through a node of the first class that has one.
    fn most_basic_cycle(&self, start: u32) -> Option<Vec<Hop>> {
        let region =
            Region { graph: &self.graph, component: &self.components.of, kinds: Edges::ALL };
        let dependencies = crate::cycle::DEPENDENCIES;
        let classes = [Reads::None(dependencies), Reads::One, Reads::Apart, Reads::Adjacent];
        let allowed = if self.allows_adjacent() { &classes[..3] } else { &classes[..] };
        let budget = self.options.search_budget;
        allowed.iter().find_map(|class| region.shortest_through(start, *class, budget))
    }

    // ---- when nothing is wrong ----

    fn without_witness(&self) -> Answer {
        if self.promise.level == Level::Linearizable
            && let Some(reason) = self.beyond_objects()
        {
            return Answer::Unknown(reason);
        }
        if let Some(doubt) = self.p.doubts.first() {
            return Answer::Unknown(self.explain_doubt(doubt));
        }
        if let Some(rt) = &self.real_time
            && !rt.complete
        {
            return Answer::Unknown(match rt.contradiction {
                Some(txn) => format!(
                    "the interval of transaction {} contradicts the order of its session",
                    self.txn(txn)
                ),
                None => "not every transaction has an interval, so real time cannot be checked"
                    .to_owned(),
            });
        }
        let strong_enough = self.is_strong() && (self.orders.unordered.is_empty());
        if strong_enough || self.serial_execution_exists() || self.snapshots_exist() {
            return Answer::Holds;
        }
        Answer::Unknown(self.explain_order())
    }

    /// Why linearizability is more than this road can decide, if it is: transactions of several
    /// operations, and failed operations, which have seen something too.
    fn beyond_objects(&self) -> Option<String> {
        let several = self.history.txns().find(|t| t.ops().len() > 1);
        if let Some(txn) = several {
            return Some(format!("transaction {} has more than one operation", self.txn(txn.id())));
        }
        let failed = self.history.ops().find(|op| op.effect() == isolde_history::Effect::Failed);
        failed.map(|op| format!("{} failed, and what it saw is not used", self.place(op.id())))
    }

    /// A serial execution keeps every promise that serializability implies.
    fn serial_execution_exists(&self) -> bool {
        let txns = self.history.txn_count();
        self.components.acyclic()
            && replay::succeeds(&self.graph, self.p, txns, &self.orders.unordered)
    }

    /// Whether some order of the versions explains everything by snapshots.
    fn snapshots_exist(&self) -> bool {
        if !self.is_strong() || !self.allows_adjacent() {
            return false;
        }
        let nodes = self.graph.node_count();
        let (edges, open) = (&self.orders.edges, &self.orders.unordered);
        let Some(chosen) = saturate::choose(nodes, edges, self.p, open) else { return false };
        let graph = Graph::new(nodes, &chosen);
        let components = graph.components(Edges::ALL);
        snapshot::acyclic(&graph, &components)
    }

    fn explain_doubt(&self, doubt: &Doubt) -> String {
        match doubt {
            Doubt::AmbiguousRead(op) => {
                format!("{} read a value that was written more than once", self.place(*op))
            }
            Doubt::UnknownWriter(op) => format!(
                "{} read a value that nobody wrote, but the history is not complete",
                self.place(*op)
            ),
            Doubt::Predicate(op) => format!("{} is a predicate read", self.place(*op)),
            Doubt::Mixed(op) => {
                format!("the key of {} is used as a list and as something else", self.place(*op))
            }
            Doubt::AmbiguousOrder(key) => {
                format!(
                    "the given order of key {} names a value that several wrote",
                    self.key(*key)
                )
            }
            Doubt::InitialNotFirst(key) => {
                format!(
                    "the given order of key {} puts the initial state after others",
                    self.key(*key)
                )
            }
            Doubt::Unsure(op) => format!("nobody knows whether {} was done", self.place(*op)),
        }
    }

    /// Where the user finds an operation: "operation 2 of transaction T7 (key x)".
    fn place(&self, op: OpId) -> String {
        let txn = self.history.txn(self.history.txn_of(op));
        let number = op.index() - txn.op_range().start + 1;
        let key = self.history.op(op).key();
        let key =
            if key == Key::NONE { String::new() } else { format!(" (key {})", self.key(key)) };
        format!("operation {number} of transaction {}{key}", self.txn(txn.id()))
    }

    fn txn(&self, id: TxnId) -> String {
        match self.history.txn(id).label() {
            Some(label) => format!("T{}", self.value(label)),
            None => format!("#{}", id.0),
        }
    }

    fn key(&self, key: Key) -> String {
        self.value(self.history.pool().key_name(key))
    }

    fn value(&self, value: Value) -> String {
        let mut text = String::new();
        isolde_history::notation::write_value(self.history.pool(), value, &mut text);
        text
    }

    fn explain_order(&self) -> String {
        if !self.is_strong() {
            return format!("{} is not decided by this procedure", self.promise.level);
        }
        let count = self.orders.unordered.len();
        format!(
            "the order of versions is not known for {count} keys, and no serial execution was found"
        )
    }
}

fn count(counts: &mut Vec<Counted>, anomaly: Anomaly, more: u64) {
    match counts.iter_mut().find(|c| c.anomaly == anomaly) {
        Some(counted) => counted.count += more,
        None => counts.push(Counted { anomaly, count: more }),
    }
}
