//! What shows that a promise was broken: local findings, lost updates, and the shortest cycles.
//!
//! Everything local is counted, and so is every divergence. Cycles can be exponentially many: for
//! each class of the catalogue the shortest are looked for, in the smallest parts of the graph first,
//! until enough are found or the budget is spent.

use hashbrown::{HashMap, HashSet};
use isolde_history::{Key, OpId, TxnId};
use isolde_spec::{Anomaly, CATALOGUE, Counted, Edges, Finding, Level, Promise, Reads, Witness};

use crate::checker::Checker;
use crate::explain::cycle::{Class, Hop, CycleSearch, Wanted};
use crate::strong::decide::{Case, QuestionGraph};
use crate::keys::findings::{self, Doubt, LocalFinding};
use crate::graph::order_steps::Later;
use crate::order::known::Known;
use crate::keys::standing::Standing;
use crate::unordered::inferences::Inferences;
use crate::unordered::force::Visibility;
use crate::explain::witness::Explainer;
use crate::keys::wording::Wording;

/// Witnesses, how many there are of each kind, and what the search counted.
#[derive(Default)]
pub(crate) struct Violations {
    pub(crate) witnesses: Vec<Witness>,
    pub(crate) counts: Vec<Counted>,
    pub(crate) figures: Vec<(&'static str, u64)>,
}

impl Violations {
    /// Witnesses, the most basic first: so many of each kind are kept, and all are counted.
    pub(crate) fn of(witnesses: Vec<Witness>, keep: usize) -> Violations {
        let mut found = Violations::default();
        for witness in witnesses {
            let at = found.counts.iter().position(|c| c.anomaly == witness.anomaly);
            let at = at.unwrap_or_else(|| {
                let (anomaly, positions) = (witness.anomaly, Vec::new());
                found.counts.push(Counted { anomaly, count: 0, at_least: true, positions });
                found.counts.len() - 1
            });
            found.counts[at].count += 1;
            found.counts[at].positions.push(witness.position() as u32);
            if found.counts[at].count <= keep as u64 {
                found.witnesses.push(witness);
            }
        }
        found.counts.iter_mut().for_each(|counted| counted.positions.sort_unstable());
        found
    }

    pub(crate) fn append(&mut self, mut other: Violations) {
        self.witnesses.append(&mut other.witnesses);
        self.counts.append(&mut other.counts);
    }
}

/// What is wrong inside transactions, or with where they read from.
pub(crate) fn local(checker: &Checker<'_>, promise: Promise, keys: &findings::Findings) -> Violations {
    let mut found = Violations::default();
    let explainer = Explainer::new(&checker.context, promise.session_order);
    let all = &keys.findings;
    // Where values may come out of thin air, somebody who read what may not have been written proves
    // nothing: whoever may have written it may be left out, with all that is wrong inside.
    let unsure = keys.doubts.iter().any(|doubt| matches!(doubt, Doubt::Unsure(_)));
    let proofs_fail = unsure && !Anomaly::ThinAirRead.forbidden_at(promise.level);
    let context = &checker.context;
    let proved = |op: &OpId| context.standings[context.history.txn_of(*op).index()] == Standing::Proved;
    let stands = |f: &&LocalFinding| !(proofs_fail && f.ops().iter().any(proved));
    for entry in CATALOGUE.iter().filter(|e| !matches!(e.finding, Finding::Cycle(_))) {
        if !entry.anomaly.forbidden_at(promise.level) {
            continue;
        }
        let named = all.iter().filter(|f| f.anomaly == entry.anomaly);
        let mut same: Vec<_> = named.filter(stands).collect();
        if same.is_empty() {
            continue;
        }
        same.sort_unstable();
        same.dedup();
        let kept = same.iter().take(checker.options.witnesses);
        found.witnesses.extend(kept.map(|finding| explainer.local(finding)));
        let visible = |finding: &&LocalFinding| {
            let txns = finding.ops().iter().map(|op| context.history.txn_of(*op).0 + 1);
            txns.max().unwrap_or(0)
        };
        let mut positions: Vec<u32> = same.iter().map(visible).collect();
        positions.sort_unstable();
        let (anomaly, count) = (entry.anomaly, same.len() as u64);
        found.counts.push(Counted { anomaly, count, at_least: false, positions });
    }
    found
}

/// What is worth knowing beside an answer: what was ambiguous, or not used.
pub(crate) fn notes(checker: &Checker<'_>, keys: &findings::Findings) -> Vec<String> {
    let words = Wording(checker.context.history);
    let ambiguous = |d: &&Doubt| matches!(d, Doubt::AmbiguousRead(_) | Doubt::EqualElements(_));
    let doubts = keys.doubts.iter().filter(ambiguous);
    let mut notes: Vec<String> = doubts.take(10).map(|d| words.doubt(d)).collect();
    if keys.failed > 0 {
        let what = if keys.failed == 1 { "operation" } else { "operations" };
        notes.push(format!("{} {what} failed, and what they saw is not used", keys.failed));
    }
    if keys.unsaid > 0 {
        let what = if keys.unsaid == 1 { "key" } else { "keys" };
        notes.push(format!(
            "predicate reads are taken to say nothing of {} {what} that the reads of some \
             predicate never returned",
            keys.unsaid
        ));
    }
    notes
}

/// What is wrong between transactions.
pub(crate) fn cycles(case: &Case<'_, '_>, graph: &QuestionGraph<'_>) -> Violations {
    let parts = graph.cyclic(case.sees);
    // Lost updates are no matter of prefixes.
    let forbidden = Anomaly::LostUpdate.forbidden_at(case.promise.level);
    let divergences = if forbidden { &case.walk().divergences[..] } else { &[] };
    if parts.is_empty() && divergences.is_empty() {
        return Violations::default();
    }
    let keep = case.checker.options.witnesses;
    let lost = divergences.iter().take(keep).map(|(_, [a, b])| {
        let hop = |from: u32, to: u32| Hop { from, to, kind: Edges::RW };
        vec![hop(a.0, b.0), hop(b.0, a.0)]
    });
    let budget = case.checker.options.search_budget;
    let sorted = graph.sorted();
    let mut hunt = CycleHunt {
        search: CycleSearch {
            graph: &sorted.graph,
            component: &sorted.components.of,
            txns: case.context().standings.len() as u32,
            within: None,
            budget,
        },
        reasons: graph.reasons.as_ref(),
        keep,
        kept: Kept::default(),
        rivals: Rivals::new(divergences),
    };
    lost.for_each(|cycle| hunt.kept.push(cycle));
    let known = hunt.kept.cycles.len();
    hunt.parts(case, &parts);
    let spent = budget - hunt.search.budget;
    let explainer = Explainer::new(case.context(), case.session_order);
    let others = hunt.kept.cycles.split_off(known);
    let lost = hunt.kept.cycles.into_iter().zip(divergences);
    let (mut cycles, keys): (Vec<_>, Vec<Key>) =
        lost.filter_map(|(cycle, (key, _))| Some((cycle?, *key))).unzip();
    let lost = cycles.len();
    cycles.extend(others.into_iter().flatten());
    let mut witnesses = explainer.cycles(graph, &cycles, &keys);
    for witness in witnesses.iter_mut().take(lost) {
        witness.anomaly = Anomaly::LostUpdate;
    }
    witnesses.iter_mut().for_each(|witness| rename(witness, case.promise.level));
    if case.promise.level == Level::CursorStability {
        one_for_each_lost_update(&mut witnesses);
    }
    witnesses.sort_by_key(|w| (w.anomaly.rank(), w.steps.len(), w.position()));
    let mut found = Violations::of(witnesses, keep);
    count_lost_updates(case, divergences, &mut found.counts);
    let txns = case.context().standings.len() as u32;
    let nodes = parts.iter().flat_map(|(_, part)| part);
    let transactions = nodes.filter(|node| **node < txns).count();
    found.figures = vec![
        ("divergences", case.walk().divergent_pairs),
        ("cyclic parts", parts.len() as u64),
        ("transactions in cycles", transactions as u64),
        ("anti-dependencies in cycles", graph.anti_dependencies()),
        ("search budget", budget as u64),
        ("search spent", spent as u64),
    ];
    found
}

/// Counts lost updates beyond those that were kept. Where every write follows a read, each of them is a
/// divergence.
fn count_lost_updates(
    case: &Case<'_, '_>,
    divergences: &[(Key, [TxnId; 2])],
    counts: &mut [Counted],
) {
    let other = [Known::List, Known::Given, Known::Session, Known::Unread, Known::Not];
    let at_least = other.iter().any(|way| case.walk().known[*way as usize] > 0);
    for counted in counts.iter_mut().filter(|c| c.anomaly == Anomaly::LostUpdate) {
        counted.count = counted.count.max(case.walk().divergent_pairs);
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

/// A hunt for the shortest cycles.
struct CycleHunt<'g> {
    search: CycleSearch<'g>,
    reasons: Option<&'g Inferences>,
    keep: usize,
    kept: Kept,
    rivals: Rivals,
}

/// Who overwrote the same version as who else. What is wrong among them is a lost update, also beyond those
/// that are kept, and does not come back under another name.
#[derive(Default)]
struct Rivals {
    /// The versions that each transaction overwrote as others did.
    of: HashMap<u32, Vec<u32>>,
}

impl Rivals {
    /// Divergences of one version follow each other as a chain: each pair begins where the last ended.
    fn new(divergences: &[(Key, [TxnId; 2])]) -> Rivals {
        let mut rivals = Rivals::default();
        let (mut version, mut last) = (0, None);
        for &(key, [a, b]) in divergences {
            if last != Some((key, a)) {
                version += 1;
                rivals.of.entry(a.0).or_default().push(version);
            }
            rivals.of.entry(b.0).or_default().push(version);
            last = Some((key, b));
        }
        rivals
    }

    /// Whether two transactions of a cycle overwrote the same version.
    fn are_in(&self, cycle: &[Hop]) -> bool {
        let of = |hop: &Hop| self.of.get(&hop.from).into_iter().flatten().copied();
        let mut versions: Vec<u32> = cycle.iter().flat_map(of).collect();
        versions.sort_unstable();
        versions.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// The cycles that were found, with those of each node at hand: only cycles that share all nodes of one
/// of them can make each other superfluous, and there may be ten thousand.
#[derive(Default)]
struct Kept {
    /// What turned out to be superfluous leaves a gap.
    cycles: Vec<Option<Vec<Hop>>>,
    at_node: HashMap<u32, Vec<usize>>,
    count: usize,
}

impl Kept {
    fn push(&mut self, cycle: Vec<Hop>) {
        for hop in &cycle {
            self.at_node.entry(hop.from).or_default().push(self.cycles.len());
        }
        self.cycles.push(Some(cycle));
        self.count += 1;
    }

    fn remove(&mut self, at: usize) {
        self.count -= usize::from(self.cycles[at].take().is_some());
    }

    /// The cycles that go through a node of this one, in the order in which they were found.
    fn beside(&self, cycle: &[Hop]) -> Vec<usize> {
        let of = |hop: &Hop| self.at_node.get(&hop.from).into_iter().flatten().copied();
        let mut all: Vec<usize> = cycle.iter().flat_map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// How many parts of the graph are searched for each witness that is kept.
const PARTS: usize = 8;
/// The longest cycle whose transactions are searched for a more basic one.
const BASIC: usize = 32;

impl CycleHunt<'_> {
    /// Keeps a cycle, or the most basic one among fewer of its transactions. One that goes through all
    /// transactions of another and more is explained by that.
    fn note(&mut self, case: &Case<'_, '_>, cycle: Vec<Hop>) {
        let cycle = self.most_basic(case, cycle);
        // At cursor stability nothing else is forbidden.
        let only_lost = case.promise.level == Level::CursorStability;
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
    /// the same and nothing that nobody saw, or it is the same.
    fn explains(&self, one: &[Hop], other: &[Hop]) -> bool {
        let nodes: HashSet<u32> = other.iter().map(|hop| hop.from).collect();
        let kinds = |c: &[Hop]| {
            let mut kinds: Vec<Edges> = c.iter().map(|hop| hop.kind).collect();
            kinds.sort_unstable();
            kinds
        };
        let inferred = |c: &[Hop]| self.is_inferred(c);
        one.iter().all(|hop| nodes.contains(&hop.from))
            && ((one.len() < other.len() && reads_in(one) <= reads_in(other))
                || kinds(one) == kinds(other)
                || (inferred(other) && !inferred(one)))
    }

    /// Whether a cycle has a dependency that nobody saw.
    fn is_inferred(&self, cycle: &[Hop]) -> bool {
        let edge = |hop: &Hop| (hop.from, hop.to, hop.kind);
        cycle.iter().any(|hop| self.reasons.is_some_and(|r| r.of.contains_key(&edge(hop))))
    }

    /// The first class of which there is a cycle among fewer transactions of one, and the shortest.
    fn most_basic(&mut self, case: &Case<'_, '_>, cycle: Vec<Hop>) -> Vec<Hop> {
        let mut nodes: Vec<u32> = cycle.iter().map(|hop| hop.from).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() > BASIC || nodes.len() < 3 {
            return cycle;
        }
        let later = self.later(case, &nodes);
        self.search.within = Some(nodes.iter().copied().collect());
        let mut basic: Option<Vec<Hop>> = None;
        let reads = reads_in(&cycle);
        for wanted in wanted(case).into_iter().filter(|w| reads_of(w.class) <= reads) {
            for &start in &nodes {
                let longest = basic.as_ref().map_or(nodes.len(), Vec::len) - 1;
                basic = self.search.through(start, wanted, longest, &later).or(basic);
            }
            if basic.is_some() {
                break;
            }
        }
        self.search.within = None;
        basic.unwrap_or(cycle)
    }

    fn parts(&mut self, case: &Case<'_, '_>, parts: &[(u32, Vec<u32>)]) {
        let all: Vec<&[u32]> = parts.iter().map(|(_, part)| &part[..]).collect();
        for part in some_of_each_size(all, self.keep) {
            if self.search.budget == 0 {
                break;
            }
            self.part(case, part);
        }
        if self.kept.count == 0 {
            // The budget did not reach for a shortest one, but there is one.
            debug_assert!(self.search.budget == 0, "a part without a cycle: {parts:?}");
            let class = if case.allows_adjacent() { Class::Snapshot } else { Class::Any };
            for (anchor, part) in parts.iter().take(1) {
                let later = self.later(case, part);
                let seen = case.sees == Visibility::Prefix;
                let wanted = Wanted { class, kinds: Edges::ALL, must: Edges::NONE, seen };
                self.search.budget = usize::MAX;
                // The one that leads back may be a helper: then another one does.
                let txns = part.iter().filter(|node| **node < self.search.txns).copied();
                let starts = std::iter::once(*anchor).filter(|n| *n < self.search.txns).chain(txns);
                let starts: Vec<u32> = starts.collect();
                let any = starts
                    .iter()
                    .find_map(|node| self.search.through(*node, wanted, usize::MAX, &later));
                self.search.budget = 0;
                any.into_iter().for_each(|cycle| self.note(case, cycle));
            }
        }
    }

    fn later<'c>(&self, case: &Case<'c, '_>, part: &[u32]) -> Later<'c> {
        let txns: Vec<u32> = part.iter().copied().filter(|n| *n < self.search.txns).collect();
        Later::new(case.context(), case.real_time, case.session_order, &txns)
    }

    /// The shortest cycles of each class in one part of the graph.
    fn part(&mut self, case: &Case<'_, '_>, part: &[u32]) {
        let txns: Vec<u32> = part.iter().copied().filter(|n| *n < self.search.txns).collect();
        let later = self.later(case, &txns);
        for wanted in wanted(case) {
            self.shortest(case, &txns, wanted, &later);
        }
    }

    /// Looks for the shortest cycles of a class, with longer and longer ones until there are some.
    fn shortest(&mut self, case: &Case<'_, '_>, txns: &[u32], wanted: Wanted, later: &Later<'_>) {
        let mut longest = 2;
        loop {
            let (before, mut any) = (self.kept.count, false);
            for &start in txns {
                if self.kept.count >= before + self.keep || self.search.budget == 0 {
                    return;
                }
                if let Some(cycle) = self.search.through(start, wanted, longest, later) {
                    any = true;
                    self.note(case, cycle);
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
pub(crate) fn some_of_each_size(mut parts: Vec<&[u32]>, keep: usize) -> Vec<&[u32]> {
    parts.sort_by_key(|part| part.len());
    let (mut some, mut more) = (Vec::new(), Vec::new());
    for same in parts.chunk_by(|a, b| a.len() == b.len()) {
        some.extend(&same[..same.len().min(keep)]);
        more.extend(&same[same.len().min(keep)..]);
    }
    some.append(&mut more);
    some.truncate(PARTS * keep);
    some
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
fn wanted(case: &Case<'_, '_>) -> Vec<Wanted> {
    let patterns = CATALOGUE.iter().flat_map(|entry| match entry.finding {
        Finding::Cycle(patterns) => patterns,
        Finding::Local | Finding::Lists | Finding::Orders => &[],
    });
    let adjacent = case.allows_adjacent();
    let mut patterns: Vec<_> =
        patterns.filter(|p| !adjacent || p.reads != Reads::Adjacent).collect();
    patterns.sort_by_key(|pattern| pattern.reads);
    let mut wanted: Vec<Wanted> = Vec::new();
    for pattern in patterns {
        let class = Class::Catalogued(pattern.reads);
        let data = pattern.others & (Edges::WR | Edges::WW);
        let anti = if pattern.reads == Reads::None { Edges::NONE } else { Edges::RW };
        let mut add = |orders: Edges, must: Edges| {
            let seen = case.sees == Visibility::Prefix;
            let new = Wanted { class, kinds: data | anti | orders, must, seen };
            if !wanted.contains(&new) {
                wanted.push(new);
            }
        };
        if !data.is_empty() {
            add(Edges::NONE, Edges::NONE);
        }
        if case.session_order {
            add(Edges::SO, Edges::SO);
        }
        if case.real_time.is_some() {
            add(Edges::SO | Edges::RT, Edges::RT);
        }
    }
    wanted
}
