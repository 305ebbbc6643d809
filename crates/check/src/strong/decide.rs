//! From a promise to a verdict.

use isolde_history::{Effect, Key, TxnId};
use isolde_spec::{Answer, Edges, Level, Procedure, Promise, Verdict, Witness};

use crate::checker::{Checker, Road, Sorted};
use crate::keys::context::Context;
use crate::keys::findings::Doubt;
use crate::unordered::unordered_key::UnorderedKey;
use crate::order::known::Known;
use crate::keys::standing::Standing;
use crate::graph::real_time::RealTime;
use crate::unordered::inferences::Inferences;
use crate::unordered::force::{self, Visibility};
use crate::explain::hunt::{self, Violations};
use crate::unordered::unread::InsideComponents;
use crate::graph::key_walk::Walk;
use crate::keys::wording::Wording;
use crate::graph::{cursor_stability, layers};
use crate::unordered::{ambiguous, serial_try};
use crate::{linear, weak};

/// How many nodes a graph may have: half of what 32 bits count, since a search numbers nodes from
/// below and components from above.
const MAX_NODES: usize = 1 << 30;

/// One question about one history.
pub(crate) struct Case<'c, 'h> {
    pub(crate) checker: &'c Checker<'h>,
    pub(crate) promise: Promise,
    /// Whether session order counts: it does not on Adya's levels.
    pub(crate) session_order: bool,
    /// What a transaction sees.
    pub(crate) sees: Visibility,
    pub(crate) real_time: Option<&'c RealTime<'h>>,
}

impl<'c, 'h> Case<'c, 'h> {
    pub(crate) fn new(checker: &'c Checker<'h>, promise: Promise) -> Case<'c, 'h> {
        let real_time = promise.level.needs_real_time().then(|| checker.real_time());
        let level = promise.level;
        let session_order = promise.session_order && level.implies(Level::ReadCommitted);
        let sees = match level {
            Level::Prefix => Visibility::Prefix,
            Level::SnapshotIsolation | Level::StrongSnapshotIsolation => Visibility::Snapshot,
            _ => Visibility::Serial,
        };
        Case { checker, promise, session_order, sees, real_time }
    }

    /// What the walk over all keys found. Not every level needs it.
    pub(crate) fn walk(&self) -> &'c Walk {
        self.checker.walk(self.session_order)
    }

    pub(crate) fn context(&self) -> &'c Context<'h> {
        &self.checker.context
    }

    fn words(&self) -> Wording<'_> {
        Wording(self.context().history)
    }

    pub(crate) fn decide(&self) -> Verdict {
        if self.promise.level == Level::Linearizable {
            return linear::decide(self);
        }
        let local = hunt::local(self.checker, self.promise, &self.walk().found);
        let graph = self.fits().then(|| self.graph());
        let cycles = graph.as_ref().map(|graph| hunt::cycles(self, graph)).unwrap_or_default();
        let procedure = self.procedure(graph.as_ref(), &cycles);
        let mut found = local;
        found.append(cycles);
        if rests_on_the_unseen(&found) {
            self.by_causality(&mut found);
        }
        if found.witnesses.is_empty()
            && let Some(verdict) = self.by_choices()
        {
            return verdict;
        }
        let mut answer = Answer::Holds;
        if found.witnesses.is_empty() {
            answer = self.without_witness(graph.as_ref());
        }
        if matches!(answer, Answer::Unknown(_)) {
            self.by_causality(&mut found);
        }
        if !found.witnesses.is_empty() {
            answer = Answer::Violated(std::mem::take(&mut found.witnesses));
        }
        Verdict {
            promise: self.promise,
            answer,
            counts: found.counts,
            notes: self.notes(),
            procedure,
        }
    }

    /// What causal consistency forbids, stronger levels do too. It needs no order of versions, and says
    /// in plainer words what else rests on inferred edges.
    fn by_causality(&self, found: &mut Violations) {
        if !self.promise.level.implies(Level::Causal) {
            return;
        }
        let causal = weak::causal_cycles(self.checker, self.promise.session_order);
        if !causal.witnesses.is_empty() {
            (found.witnesses, found.counts) = (causal.witnesses, causal.counts);
        }
    }

    /// What the ways to match ambiguous reads say together, if nothing else is in doubt.
    fn by_choices(&self) -> Option<Verdict> {
        let doubts = &self.walk().found.doubts;
        if doubts.is_empty() || !self.may_infer() {
            return None;
        }
        ambiguous::decide(self.checker, self.promise, doubts)
    }

    /// Whether nodes and edges can be numbered by 32 bits.
    fn fits(&self) -> bool {
        let (nodes, edges) = self.checker.known(self.session_order, self.real_time.is_some());
        let edges: usize = edges.iter().map(|list| list.len()).sum();
        nodes < MAX_NODES && edges < u32::MAX as usize
    }

    /// Snapshots allow cycles with anti-dependencies next to each other.
    pub(crate) fn allows_adjacent(&self) -> bool {
        self.sees.snapshots()
    }

    /// Whether edges that nobody saw may be looked for.
    fn may_infer(&self) -> bool {
        self.checker.options.procedure != Some(Road::Graph)
    }

    // ---- the graph ----

    /// The graph of everything that is known, or that every explanation must have.
    fn graph(&self) -> QuestionGraph<'c> {
        if self.promise.level == Level::CursorStability {
            let updates = cursor_stability::edges(self.context());
            let sorted =
                Sorted::new(self.context().standings.len(), &updates.iter().collect::<Vec<_>>());
            let open = UnorderedKey::all(self.context(), &self.walk().unordered);
            let sorted = Shared::Own(Box::new(sorted));
            return QuestionGraph { sorted, open, inside: None, reasons: None };
        }
        let known = self.checker.sorted(self.session_order, self.real_time.is_some());
        if !self.may_infer() {
            return QuestionGraph::known(known);
        }
        if !self.walk().unordered.is_empty() || !self.divergent().is_empty() {
            return self.saturated();
        }
        if self.sees == Visibility::Snapshot
            && !self.walk().unread.is_empty()
            && !known.components.acyclic()
        {
            return self.with_unread(known);
        }
        QuestionGraph::known(known)
    }

    /// With the edges that follow from reads of keys whose order is not known.
    fn saturated(&self) -> QuestionGraph<'c> {
        let open = UnorderedKey::all(self.context(), &self.open_keys());
        let (nodes, known) = self.checker.known(self.session_order, self.real_time.is_some());
        let mut forced = self.context().edges();
        let reasons = force::saturate(self.sees, nodes, &known, &mut forced, &open);
        let all: Vec<_> = known.iter().copied().chain([&forced]).collect();
        let sorted = Shared::Own(Box::new(Sorted::new(nodes, &all)));
        QuestionGraph { sorted, open, inside: None, reasons: Some(reasons) }
    }

    fn open_keys(&self) -> Vec<Key> {
        let mut keys = self.walk().unordered.clone();
        if self.sees == Visibility::Snapshot {
            keys.extend(&self.walk().unread);
        }
        keys.extend(self.divergent());
        keys
    }

    /// Keys of which several read the same version and overwrote it, where that is allowed: which of
    /// the new versions comes first is not known. (What nobody read may come in any order.)
    fn divergent(&self) -> Vec<Key> {
        if self.sees != Visibility::Prefix {
            return Vec::new();
        }
        let is_in = |keys: &[Key], key: &Key| keys.binary_search(key).is_ok();
        let Walk { unordered, unread, abridged, divergences, .. } = self.walk();
        let mut keys: Vec<Key> = divergences.iter().map(|(key, _)| *key).collect();
        keys.retain(|key| !is_in(unread, key));
        keys.extend(abridged);
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| !is_in(unordered, key));
        keys
    }

    /// With the edges between writers that nobody read, inside components.
    fn with_unread(&self, known: &'c Sorted) -> QuestionGraph<'c> {
        let Some(mut inside) = InsideComponents::new(self.context(), known, &self.walk().unread) else {
            return QuestionGraph::known(known);
        };
        let mut forced = self.context().edges();
        let reasons = inside.force(&mut forced);
        let (nodes, mut edges) = self.checker.known(self.session_order, self.real_time.is_some());
        edges.push(&forced);
        let sorted = Shared::Own(Box::new(Sorted::new(nodes, &edges)));
        let (open, reasons) = (Vec::new(), Some(reasons));
        QuestionGraph { sorted, open, inside: Some(inside), reasons }
    }

    // ---- when nothing is wrong ----

    fn without_witness(&self, graph: Option<&QuestionGraph<'_>>) -> Answer {
        let words = self.words();
        if self.promise.level == Level::Sequential
            && let Some(reason) = self.beyond_objects()
        {
            let ordered = linear::in_program_order(self) == Some(true);
            return if ordered { Answer::Holds } else { Answer::Unknown(reason) };
        }
        if let Some(doubt) = self.walk().found.doubts.first() {
            if graph.is_some_and(|graph| self.replays(graph)) {
                return Answer::Holds;
            }
            return Answer::Unknown(words.doubts(doubt, &self.walk().found.doubts));
        }
        if let Some(rt) = self.real_time.filter(|rt| !rt.complete) {
            return Answer::Unknown(match rt.contradictions.first() {
                Some(txn) => words.contradiction(*txn),
                None => "not every transaction has an interval, so real time cannot be checked"
                    .to_owned(),
            });
        }
        let Some(graph) = graph else {
            return Answer::Unknown("the history is too large for one graph".to_owned());
        };
        if self.explained(graph) { Answer::Holds } else { Answer::Unknown(self.explain_order()) }
    }

    /// Whether a serial execution explains everything, where only ambiguous reads leave a doubt.
    fn replays(&self, graph: &QuestionGraph<'_>) -> bool {
        let ambiguous = |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_));
        let in_time = self.real_time.is_none_or(|rt| rt.complete);
        let sorted = graph.sorted();
        self.may_infer()
            && in_time
            && self.walk().found.doubts.iter().all(ambiguous)
            && sorted.components.acyclic()
            && serial_try::succeeds(&sorted.graph, &graph.open)
    }

    /// Whether some order of the versions explains everything.
    fn explained(&self, graph: &QuestionGraph<'_>) -> bool {
        let sorted = graph.sorted();
        if let Some(inside) = &graph.inside {
            return inside.choice_exists();
        }
        if self.walk().unordered.is_empty() && self.divergent().is_empty() {
            // What nobody read may come in the order of the graph, unless that has cycles.
            return sorted.components.acyclic()
                || self.sees != Visibility::Snapshot
                || self.walk().unread.is_empty()
                || self.may_infer();
        }
        if !self.may_infer() {
            return false;
        }
        if self.promise.level == Level::CursorStability
            && cursor_stability::explains(&sorted.graph, &graph.open)
        {
            return true;
        }
        // A serial execution keeps every promise that serializability implies.
        (sorted.components.acyclic() && serial_try::succeeds(&sorted.graph, &graph.open))
            || (self.allows_adjacent() && self.snapshots_exist(graph))
    }

    fn snapshots_exist(&self, graph: &QuestionGraph<'_>) -> bool {
        let sorted = graph.sorted();
        let Some(chosen) =
            force::choose(self.sees, &sorted.graph, &graph.open, self.context().edges())
        else {
            return false;
        };
        let (nodes, mut edges) = self.checker.known(self.session_order, self.real_time.is_some());
        edges.push(&chosen);
        force::explains(self.sees, nodes, &edges)
    }

    /// Why sequential consistency is more than this road can decide, if it is: transactions of
    /// several operations, and failed operations, which have seen something too.
    fn beyond_objects(&self) -> Option<String> {
        let (history, words) = (self.context().history, self.words());
        let may_count = |txn: TxnId| self.context().standings[txn.index()] != Standing::RolledBack;
        let mut txns = history.txns().filter(|t| may_count(t.id()));
        if let Some(txn) = txns.find(|t| t.ops().len() > 1) {
            return Some(format!(
                "transaction {} has more than one operation",
                words.txn(txn.id())
            ));
        }
        let mut ops = history.ops().filter(|op| op.effect() == Effect::Failed);
        let failed = ops.find(|op| may_count(history.txn_of(op.id())));
        failed.map(|op| format!("{} failed, and what it saw is not used", words.place(op.id())))
    }

    fn explain_order(&self) -> String {
        let words = self.words();
        let open = self.open_keys();
        let names: Vec<String> = open.iter().take(3).map(|key| words.key(*key)).collect();
        let more = if open.len() > names.len() { ", ..." } else { "" };
        let tried = if self.may_infer() {
            "and neither forced edges nor a serial execution decide it"
        } else {
            "and the graph of what is known does not decide it"
        };
        format!(
            "the order of versions is not known for {} ({}{more}), {tried}",
            keys(open.len() as u64),
            names.join(", ")
        )
    }

    /// What is worth knowing beside the answer.
    fn notes(&self) -> Vec<String> {
        let words = self.words();
        let mut notes = hunt::notes(self.checker, &self.walk().found);
        if let Some(rt) = self.real_time {
            let wrong = rt.contradictions.iter().take(10);
            notes.extend(wrong.map(|txn| format!("{}: not used", words.contradiction(*txn))));
        }
        notes
    }

    // ---- what ran ----

    fn procedure(&self, graph: Option<&QuestionGraph<'_>>, cycles: &Violations) -> Procedure {
        let history = self.context().history;
        let ways = Known::WAYS.iter().filter(|(way, _)| self.walk().known[*way as usize] > 0);
        let ways: Vec<String> = ways
            .map(|(way, words)| format!("{words} ({})", keys(self.walk().known[*way as usize])))
            .collect();
        let mut evidence = vec!["values".to_owned()];
        if !ways.is_empty() {
            evidence.push(format!("order of versions: {}", ways.join(", ")));
        }
        if self.session_order {
            evidence.push("session order".to_owned());
        }
        let timed = self.context().history.txns().any(|txn| !txn.interval().is_empty());
        evidence.extend(self.real_time.filter(|_| timed).map(|_| "client intervals".to_owned()));
        let divergent = self.divergent().len();
        let open = self.walk().unordered.len() + self.walk().unread.len() + divergent;
        let (road, why) = match (self.checker.options.procedure, graph) {
            (_, None) => ("local", "the history is too large for one graph".to_owned()),
            (Some(asked), _) => (asked.name(), "it was asked for".to_owned()),
            _ if self.promise.level == Level::CursorStability => {
                let why = "only what was read and overwritten has to stay together";
                (Road::Graph.name(), why.to_owned())
            }
            (None, Some(graph)) if graph.reasons.is_some() => {
                let why = format!("the order of versions is open for {}", keys(open as u64));
                (Road::Saturation.name(), why)
            }
            _ if open > 0 => {
                (Road::Graph.name(), "what nobody read may come in any order".to_owned())
            }
            _ => (Road::Graph.name(), "the order of versions is known".to_owned()),
        };
        let mut figures = vec![
            ("transactions", history.txn_count() as u64),
            ("operations", history.op_count() as u64),
            ("keys", history.key_count() as u64),
        ];
        if let Some(graph) = graph {
            figures.push(("nodes", graph.sorted().graph.node_count() as u64));
            figures.push(("edges", graph.sorted().graph.edge_count() as u64));
            figures
                .push(("inferred edges", graph.reasons.as_ref().map_or(0, |r| r.of.len() as u64)));
            figures.extend(&cycles.figures);
        }
        Procedure { name: road, evidence, why, figures }
    }
}

/// Whether all that was found needs an edge that nobody saw.
fn rests_on_the_unseen(found: &Violations) -> bool {
    let inferred = |w: &Witness| w.steps.iter().any(|step| step.because.inferred);
    !found.witnesses.is_empty() && found.witnesses.iter().all(inferred)
}

fn keys(count: u64) -> String {
    if count == 1 { "1 key".to_owned() } else { format!("{count} keys") }
}

/// A graph that serves other questions too, or this one only.
enum Shared<'c> {
    Known(&'c Sorted),
    Own(Box<Sorted>),
}

/// The graph of one question.
pub(crate) struct QuestionGraph<'c> {
    sorted: Shared<'c>,
    /// The keys that need an order.
    open: Vec<UnorderedKey>,
    inside: Option<InsideComponents>,
    /// Why edges were inferred, if any were.
    pub(crate) reasons: Option<Inferences>,
}

impl<'c> QuestionGraph<'c> {
    fn known(known: &'c Sorted) -> QuestionGraph<'c> {
        let sorted = Shared::Known(known);
        QuestionGraph { sorted, open: Vec::new(), inside: None, reasons: None }
    }

    pub(crate) fn sorted(&self) -> &Sorted {
        match &self.sorted {
            Shared::Known(sorted) => sorted,
            Shared::Own(sorted) => sorted,
        }
    }

    /// The nodes on forbidden cycles, by strongly connected part, each with one of them from which a
    /// walk comes back.
    pub(crate) fn cyclic(&self, sees: Visibility) -> Vec<(u32, Vec<u32>)> {
        let sorted = self.sorted();
        if sees.snapshots() {
            layers::cyclic(&sorted.graph, &sorted.components, sees)
        } else {
            let cyclic = sorted.components.cyclic().into_iter();
            cyclic.map(|part| (part[0], part)).collect()
        }
    }

    /// How many anti-dependencies lie inside strongly connected parts.
    pub(crate) fn anti_dependencies(&self) -> u64 {
        let Sorted { graph, components } = self.sorted();
        let mut count = 0;
        for node in components.cyclic().into_iter().flatten() {
            let inside = |to: u32| components.of[to as usize] == components.of[node as usize];
            let anti =
                graph.edges(node).filter(|(to, kind)| kind.contains(Edges::RW) && inside(*to));
            count += anti.count() as u64;
        }
        count
    }
}
