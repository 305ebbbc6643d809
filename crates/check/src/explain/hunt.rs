//! What shows that a promise was broken: local findings, lost updates, and the shortest cycles.
//!
//! Everything local is counted, and so is every divergence. Cycles can be exponentially many: for
//! each class of the catalogue the shortest are looked for, in the smallest parts of the graph first,
//! until enough are found or the budget is spent.

use hashbrown::HashSet;
use isolde_history::{Key, TxnId};
use isolde_spec::{Anomaly, CATALOGUE, Counted, Edges, Finding, Level, Reads, Witness};

use crate::explain::cycle::{Class, CycleSearch, Hop, Wanted};
use crate::explain::kept::{Kept, Rivals};
use crate::explain::violations::{ANTI_IN_CYCLES, TXNS_IN_CYCLES, Violations};
use crate::explain::witness::Explainer;
use crate::graph::edges::TxnParts;
use crate::graph::evidence::NoGraph;
use crate::graph::key_walk::KeyWalk;
use crate::graph::node::{Node, Numbering};
use crate::graph::order_steps::OrderSteps;
use crate::graph::visibility::{CyclicPart, Visibility};
use crate::order::known::Known;
use crate::order::orderer::Divergence;
use crate::question::Question;
use crate::unordered::inferences::Inferences;
use crate::unordered::question_graph::QuestionGraph;

/// What is wrong between transactions. A hunt that reaches a limit is over early, but what is wrong is
/// wrong, and one witness of it is always found.
pub(crate) fn cycles(
    question: &Question<'_, '_>,
    graph: &QuestionGraph<'_>,
) -> Result<Violations, NoGraph> {
    let walk = question.walk()?;
    let parts = graph.cyclic(question.visibility)?;
    // Prefix consistency allows lost updates.
    let forbidden = Anomaly::LostUpdate.forbidden_at(question.level());
    let divergences = if forbidden { &walk.divergences[..] } else { &[] };
    if parts.is_empty() && divergences.is_empty() {
        return Ok(Violations::default());
    }
    let mut hunt = CycleHunt::new(question, graph, divergences);
    hunt.parts(&parts);
    let spent = question.options().search_budget - hunt.search.budget;
    let mut found = hunt.explain(graph, divergences);
    let at_least = question.orders()?.known.iter().enumerate().any(|(way, keys)| {
        // Where every write follows a read, each lost update is a divergence.
        let exact = [Known::Single, Known::Updates].iter().any(|exact| *exact as usize == way);
        !exact && *keys > 0
    });
    count_lost_updates(walk, at_least, divergences, &mut found.counts);
    let numbering = Numbering::of(question.context());
    let nodes = parts.iter().flat_map(|(_, part)| part);
    let txns = nodes.filter_map(|node| numbering.txn(*node)).map(|txn| txn.0 + 1);
    let mut txns: Vec<u32> = txns.collect();
    txns.sort_unstable();
    let anti = graph.anti_dependencies(numbering);
    found.figures = vec![
        ("divergences", walk.divergent_pairs),
        ("strongly connected components", parts.len() as u64),
        (TXNS_IN_CYCLES, txns.len() as u64),
        (ANTI_IN_CYCLES, anti.len() as u64),
        ("search budget", question.options().search_budget as u64),
        ("search spent", spent as u64),
    ];
    found.places = vec![(TXNS_IN_CYCLES, txns), (ANTI_IN_CYCLES, anti)];
    Ok(found)
}

/// Counts lost updates beyond those that were kept.
fn count_lost_updates(
    walk: &KeyWalk,
    at_least: bool,
    divergences: &[(Key, Divergence)],
    counts: &mut [Counted],
) {
    for counted in counts.iter_mut().filter(|c| c.anomaly == Anomaly::LostUpdate) {
        counted.count = counted.count.max(walk.divergent_pairs);
        counted.at_least = at_least;
        if divergences.len() > counted.positions.len() {
            let visible = divergences.iter().map(|(_, [a, b])| a.0.max(b.0) + 1);
            counted.positions = visible.collect();
            counted.positions.sort_unstable();
        }
    }
}

/// The same update may be lost in several cycles, which differ in how the two are bound otherwise.
fn one_for_each_lost_update(witnesses: &mut Vec<Witness>) {
    let mut known = HashSet::new();
    witnesses.sort_by_key(|w| w.steps.len());
    witnesses.retain(|w| {
        let mut anti = w.steps.iter().filter(|step| step.kind == Edges::RW);
        anti.next().is_none_or(|step| known.insert((step.from, step.to, step.because.key)))
    });
}

/// A cycle whose name belongs to a stronger level has another one here.
fn rename(witness: &mut Witness, level: Level) {
    if witness.anomaly.forbidden_at(level) {
        return;
    }
    match level {
        Level::Prefix => witness.anomaly = Anomaly::PrefixViolation,
        Level::CursorStability => witness.anomaly = Anomaly::LostUpdate,
        _ => {}
    }
}

/// How many parts of the graph are searched for each witness that is kept.
const PARTS: usize = 8;
/// How many things of a run are looked at in their own order.
const FEW: usize = 64;
/// The longest cycle whose transactions are searched for a more basic one.
const BASIC: usize = 32;

/// A hunt for the shortest cycles.
struct CycleHunt<'g, 'c, 'h> {
    question: &'g Question<'c, 'h>,
    search: CycleSearch<'g>,
    inferences: Option<&'g Inferences>,
    keep: usize,
    kept: Kept,
    /// How many of the kept cycles are lost updates that need no search.
    lost: usize,
    rivals: Rivals,
}

impl<'g, 'c, 'h> CycleHunt<'g, 'c, 'h> {
    fn new(
        question: &'g Question<'c, 'h>,
        graph: &'g QuestionGraph<'_>,
        divergences: &[(Key, Divergence)],
    ) -> CycleHunt<'g, 'c, 'h> {
        let TxnParts { graph: edges, components } = graph.parts();
        let (numbering, budget) =
            (Numbering::of(question.context()), question.options().search_budget);
        let mut hunt = CycleHunt {
            question,
            search: CycleSearch { graph: edges, components, numbering, within: None, budget },
            inferences: graph.inferences.as_ref(),
            keep: question.options().witnesses,
            kept: Kept::default(),
            lost: 0,
            rivals: Rivals::new(divergences),
        };
        for (_, [a, b]) in divergences.iter().take(hunt.keep) {
            let hop = |from: TxnId, to: TxnId| Hop { from, to, kind: Edges::RW };
            hunt.kept.push(vec![hop(*a, *b), hop(*b, *a)]);
            hunt.lost += 1;
        }
        hunt
    }

    /// The witnesses of all cycles that were kept.
    fn explain(
        mut self,
        graph: &QuestionGraph<'_>,
        divergences: &[(Key, Divergence)],
    ) -> Violations {
        let question = self.question;
        let explainer = Explainer::new(question.context(), question.session_order)
            .with_adjacent(question.updates_are_adjacent());
        let others = self.kept.cycles.split_off(self.lost);
        let lost = self.kept.cycles.into_iter().zip(divergences);
        let (mut cycles, keys): (Vec<_>, Vec<Key>) =
            lost.filter_map(|(cycle, (key, _))| Some((cycle?, *key))).unzip();
        let lost = cycles.len();
        cycles.extend(others.into_iter().flatten());
        let mut witnesses = explainer.cycles(graph, &cycles, &keys);
        for witness in witnesses.iter_mut().take(lost) {
            witness.anomaly = Anomaly::LostUpdate;
        }
        witnesses.iter_mut().for_each(|witness| rename(witness, question.level()));
        if question.level() == Level::CursorStability {
            one_for_each_lost_update(&mut witnesses);
        }
        witnesses.sort_by_key(|w| (w.anomaly.rank(), w.steps.len(), w.position()));
        Violations::of(witnesses, self.keep)
    }

    /// Whether the hunt has to end: its budget is spent, or a limit of the check was reached.
    fn is_over(&mut self) -> bool {
        if self.question.limits().go_on().is_err() {
            self.search.budget = 0;
        }
        self.search.budget == 0
    }

    /// Keeps a cycle, or the most basic one among fewer of its transactions. One that goes through all
    /// transactions of another and more is explained by that.
    fn note(&mut self, cycle: Vec<Hop>) {
        let mut cycle = self.most_basic(cycle);
        // It is told from the transaction on that comes first in the history.
        let first = (0..cycle.len()).min_by_key(|at| cycle[*at].from).unwrap_or(0);
        cycle.rotate_left(first);
        // At cursor stability nothing else is forbidden.
        let only_lost = self.question.level() == Level::CursorStability;
        if (only_lost || self.is_inferred(&cycle)) && self.rivals.are_in(&cycle) {
            return;
        }
        let beside = self.kept.beside(&cycle);
        let old = |at: &usize| self.kept.cycles[*at].as_ref();
        if beside.iter().filter_map(old).any(|old| self.explains(old, &cycle)) {
            return;
        }
        let explained = |at: &usize| old(at).is_some_and(|old| self.explains(&cycle, old));
        let superfluous: Vec<usize> = beside.into_iter().filter(explained).collect();
        superfluous.into_iter().for_each(|at| self.kept.remove(at));
        self.kept.push(cycle);
    }

    /// Whether one cycle makes another one superfluous: it needs fewer of the same transactions, or
    /// the same and nothing that no operation shows, or it is the same.
    fn explains(&self, one: &[Hop], other: &[Hop]) -> bool {
        let txns: HashSet<TxnId> = other.iter().map(|hop| hop.from).collect();
        let kinds = |c: &[Hop]| {
            let mut kinds: Vec<Edges> = c.iter().map(|hop| hop.kind).collect();
            kinds.sort_unstable();
            kinds
        };
        let inferred = |c: &[Hop]| self.is_inferred(c);
        one.iter().all(|hop| txns.contains(&hop.from))
            && ((one.len() < other.len() && reads_in(one) <= reads_in(other))
                || kinds(one) == kinds(other)
                || (inferred(other) && !inferred(one)))
    }

    /// Whether a cycle has a dependency that no operation shows.
    fn is_inferred(&self, cycle: &[Hop]) -> bool {
        let edge = |hop: &Hop| (Node::from(hop.from), Node::from(hop.to), hop.kind);
        cycle.iter().any(|hop| self.inferences.is_some_and(|i| i.of.contains_key(&edge(hop))))
    }

    /// The first class of which there is a cycle among fewer transactions of one, and the shortest.
    fn most_basic(&mut self, cycle: Vec<Hop>) -> Vec<Hop> {
        let mut txns: Vec<TxnId> = cycle.iter().map(|hop| hop.from).collect();
        txns.sort_unstable();
        txns.dedup();
        if txns.len() > BASIC || txns.len() < 3 {
            return cycle;
        }
        let steps = self.steps(&txns);
        self.search.within = Some(txns.iter().copied().collect());
        let mut basic: Option<Vec<Hop>> = None;
        let reads = reads_in(&cycle);
        for wanted in wanted(self.question).into_iter().filter(|w| reads_of(w.class) <= reads) {
            for &start in &txns {
                let longest = basic.as_ref().map_or(txns.len(), Vec::len) - 1;
                basic = self.search.through(start, wanted, longest, &steps).or(basic);
            }
            if basic.is_some() {
                break;
            }
        }
        self.search.within = None;
        basic.unwrap_or(cycle)
    }

    fn parts(&mut self, parts: &[CyclicPart]) {
        let all: Vec<&[Node]> = parts.iter().map(|(_, part)| &part[..]).collect();
        for part in some_of_each_size(all, self.keep) {
            if self.is_over() {
                break;
            }
            self.part(part);
        }
        if self.kept.count == 0 {
            // The budget did not reach for a shortest one, but there is one.
            debug_assert!(self.search.budget == 0, "a part without a cycle: {parts:?}");
            parts.iter().take(1).for_each(|(anchor, part)| self.any_of(*anchor, part));
        }
    }

    /// Any cycle of a part, in linear time: the part has one.
    fn any_of(&mut self, anchor: Node, part: &[Node]) {
        let snapshots = self.question.visibility.snapshots();
        let class = if snapshots { Class::Snapshot } else { Class::Any };
        let txns = self.txns(part);
        let steps = self.steps(&txns);
        let seen = self.question.visibility == Visibility::Prefix;
        let wanted = Wanted { class, kinds: Edges::ALL, must: Edges::NONE, seen };
        self.search.budget = usize::MAX;
        // The node that leads back may be a helper: then another one does.
        let starts = self.search.numbering.txn(anchor).into_iter().chain(txns);
        let any =
            starts.into_iter().find_map(|t| self.search.through(t, wanted, usize::MAX, &steps));
        self.search.budget = 0;
        any.into_iter().for_each(|cycle| self.note(cycle));
    }

    fn txns(&self, part: &[Node]) -> Vec<TxnId> {
        part.iter().filter_map(|node| self.search.numbering.txn(*node)).collect()
    }

    fn steps(&self, txns: &[TxnId]) -> OrderSteps<'c> {
        let question = self.question;
        OrderSteps::new(question.context(), question.real_time, question.session_order, txns)
    }

    /// The shortest cycles of each class in one part of the graph.
    fn part(&mut self, part: &[Node]) {
        let txns = self.txns(part);
        let steps = self.steps(&txns);
        for wanted in wanted(self.question) {
            self.shortest(&txns, wanted, &steps);
        }
    }

    /// Looks for the shortest cycles of a class, with longer and longer ones until there are some.
    fn shortest(&mut self, txns: &[TxnId], wanted: Wanted, steps: &OrderSteps<'_>) {
        let mut longest = 2;
        loop {
            let (before, mut any) = (self.kept.count, false);
            for start in evenly(txns) {
                if self.kept.count >= before + self.keep || self.is_over() {
                    return;
                }
                if let Some(cycle) = self.search.through(start, wanted, longest, steps) {
                    any = true;
                    self.note(cycle);
                }
            }
            if any || longest >= txns.len() {
                return;
            }
            longest = (longest + 1 + longest / 4).min(txns.len());
        }
    }
}

/// The parts of a graph that are searched: some of each size, since what is wrong with them has as many
/// transactions, the smallest first; then more of the smallest.
pub(crate) fn some_of_each_size(mut parts: Vec<&[Node]>, keep: usize) -> Vec<&[Node]> {
    parts.sort_by_key(|part| part.len());
    let (mut some, mut more) = (Vec::new(), Vec::new());
    for same in parts.chunk_by(|a, b| a.len() == b.len()) {
        let mut spread = evenly(same);
        some.extend(spread.by_ref().take(keep));
        more.extend(spread);
    }
    some.append(&mut more);
    some.truncate(PARTS * keep);
    some
}

/// Things of a run in an order in which the first few are spread over all of it: the middle one, those
/// in the middle of the halves, and so on. A search that stops early has looked everywhere then.
fn evenly<T: Copy>(things: &[T]) -> impl Iterator<Item = T> {
    let few = things.len() <= FEW;
    let bits = usize::BITS - things.len().leading_zeros();
    let reversed = move |i: usize| i.reverse_bits() >> (usize::BITS - bits);
    let places = (1..1usize << bits).chain([0]);
    let in_order = 0..if few { things.len() } else { 0 };
    let spread = places.filter(move |_| !few).map(reversed);
    in_order.chain(spread).filter_map(|at| things.get(at).copied())
}

/// The anti-dependencies of a class.
fn reads_of(class: Class) -> Reads {
    match class {
        Class::Catalogued(reads) => reads,
        Class::Snapshot => Reads::Apart,
        Class::Any => Reads::Adjacent,
    }
}

/// The anti-dependencies of a cycle.
fn reads_in(cycle: &[Hop]) -> Reads {
    let kinds: Vec<Edges> = cycle.iter().map(|hop| hop.kind).collect();
    Reads::of(&kinds)
}

/// The cycles of the catalogue that the level forbids, the fewer anti-dependencies the earlier: each
/// pattern without session order and real time, then what needs the one, then what needs the other.
fn wanted(question: &Question<'_, '_>) -> Vec<Wanted> {
    let patterns = CATALOGUE.iter().flat_map(|entry| match entry.finding {
        Finding::Cycle(patterns) => patterns,
        Finding::Local
        | Finding::Lists
        | Finding::Orders
        | Finding::Timestamps
        | Finding::Snapshots
        | Finding::Intervals
        | Finding::Told => &[],
    });
    let adjacent = question.visibility.snapshots();
    let mut patterns: Vec<_> =
        patterns.filter(|p| !adjacent || p.reads != Reads::Adjacent).collect();
    patterns.sort_by_key(|pattern| pattern.reads);
    let mut wanted: Vec<Wanted> = Vec::new();
    for pattern in patterns {
        let class = Class::Catalogued(pattern.reads);
        let data = pattern.others & (Edges::WR | Edges::WW);
        let anti = if pattern.reads == Reads::None { Edges::NONE } else { Edges::RW };
        let mut add = |orders: Edges, must: Edges| {
            let seen = question.visibility == Visibility::Prefix;
            let new = Wanted { class, kinds: data | anti | orders, must, seen };
            if !wanted.contains(&new) {
                wanted.push(new);
            }
        };
        if !data.is_empty() {
            add(Edges::NONE, Edges::NONE);
        }
        if question.session_order {
            add(Edges::SO, Edges::SO);
        }
        if question.real_time.is_some() {
            add(Edges::SO | Edges::RT, Edges::RT);
        }
    }
    wanted
}
