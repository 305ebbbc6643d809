//! What shows that a promise was broken: local findings, lost updates, and the shortest cycles.
//!
//! Everything local is counted, and so is every divergence. Cycles can be exponentially many: for
//! each class of the catalogue the shortest are looked for, in the smallest parts of the graph first,
//! until enough are found or the budget is spent.

use hashbrown::HashSet;
use isolde_spec::{Anomaly, CATALOGUE, Counted, Edges, Finding, Reads, Witness};

use crate::cycle::{Begins, Class, DEPENDENCIES, Hop, Search};
use crate::decide::{Case, Dependent};
use crate::witness::Explainer;

/// Witnesses, how many there are of each kind, and what the search counted.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) witnesses: Vec<Witness>,
    pub(crate) counts: Vec<Counted>,
    pub(crate) figures: Vec<(&'static str, u64)>,
}

impl Found {
    pub(crate) fn append(&mut self, mut other: Found) {
        self.witnesses.append(&mut other.witnesses);
        self.counts.append(&mut other.counts);
    }
}

fn rank(anomaly: Anomaly) -> usize {
    CATALOGUE.iter().position(|e| e.anomaly == anomaly).unwrap_or(CATALOGUE.len())
}

/// What is wrong inside transactions, or with where they read from.
pub(crate) fn local(case: &Case<'_, '_>) -> Found {
    let mut found = Found::default();
    let explainer = Explainer::new(case.context(), case.promise.session_order);
    let all = &case.walk.found.findings;
    for entry in CATALOGUE.iter().filter(|e| !matches!(e.finding, Finding::Cycle(_))) {
        if !entry.anomaly.forbidden_at(case.promise.level) {
            continue;
        }
        let mut same: Vec<_> = all.iter().filter(|f| f.anomaly == entry.anomaly).collect();
        if same.is_empty() {
            continue;
        }
        same.sort_unstable();
        let kept = same.iter().take(case.checker.options.witnesses);
        found.witnesses.extend(kept.map(|finding| explainer.local(finding)));
        let count = same.len() as u64;
        found.counts.push(Counted { anomaly: entry.anomaly, count, at_least: false });
    }
    found
}

/// What is wrong between transactions.
pub(crate) fn cycles(case: &Case<'_, '_>, graph: &Dependent<'_>) -> Found {
    let parts = graph.cyclic(case.allows_adjacent());
    let divergences = &case.walk.divergences;
    let mut found = Found::default();
    if parts.is_empty() && divergences.is_empty() {
        return found;
    }
    let keep = case.checker.options.witnesses;
    let lost = divergences.iter().take(keep).map(|(_, [a, b])| {
        let hop = |from: u32, to: u32| Hop { from, to, kind: Edges::RW };
        vec![hop(a.0, b.0), hop(b.0, a.0)]
    });
    let budget = case.checker.options.search_budget;
    let sorted = graph.sorted();
    let mut hunt = Hunt {
        search: Search {
            graph: &sorted.graph,
            component: &sorted.components.of,
            txns: case.context().play.len() as u32,
            real_time: case.real_time,
            budget,
        },
        keep,
        cycles: lost.collect(),
    };
    hunt.parts(case, &parts);
    let spent = budget - hunt.search.budget;
    let explainer = Explainer::new(case.context(), case.promise.session_order);
    let mut witnesses = explainer.cycles(&hunt.cycles);
    for witness in witnesses.iter_mut().take(divergences.len().min(keep)) {
        witness.anomaly = Anomaly::LostUpdate;
    }
    witnesses.sort_by_key(|w| (rank(w.anomaly), w.steps.len(), w.position()));
    let mut counts: Vec<Counted> = Vec::new();
    for witness in witnesses {
        let at = counts.iter().position(|c| c.anomaly == witness.anomaly);
        let at = at.unwrap_or_else(|| {
            counts.push(Counted { anomaly: witness.anomaly, count: 0, at_least: true });
            counts.len() - 1
        });
        counts[at].count += 1;
        if counts[at].count <= keep as u64 {
            found.witnesses.push(witness);
        }
    }
    for counted in counts.iter_mut().filter(|c| c.anomaly == Anomaly::LostUpdate) {
        counted.count = counted.count.max(divergences.len() as u64);
    }
    found.counts = counts;
    found.figures = vec![
        ("divergences", divergences.len() as u64),
        ("cyclic parts", parts.len() as u64),
        ("transactions in them", parts.iter().map(|part| part.len() as u64).sum()),
        ("anti-dependencies inside", graph.anti_dependencies()),
        ("search budget", budget as u64),
        ("search spent", spent as u64),
    ];
    found
}

/// A hunt for the shortest cycles.
struct Hunt<'g> {
    search: Search<'g>,
    keep: usize,
    cycles: Vec<Vec<Hop>>,
}

/// How many parts of the graph are searched for each witness that is kept.
const PARTS: usize = 8;

impl Hunt<'_> {
    /// Keeps a cycle, unless it goes through all transactions of another one: that explains it.
    fn note(&mut self, cycle: Vec<Hop>) {
        let nodes: HashSet<u32> = cycle.iter().map(|hop| hop.from).collect();
        let known = |c: &Vec<Hop>| c.iter().all(|hop| nodes.contains(&hop.from));
        if !self.cycles.iter().any(known) {
            self.cycles.push(cycle);
        }
    }

    fn parts(&mut self, case: &Case<'_, '_>, parts: &[Vec<u32>]) {
        let mut smallest: Vec<&Vec<u32>> = parts.iter().collect();
        smallest.sort_by_key(|part| part.len());
        for part in smallest.into_iter().take(PARTS * self.keep) {
            if self.search.budget == 0 {
                break;
            }
            self.part(case, part);
        }
        if self.cycles.is_empty() {
            // The budget did not reach for a shortest one, but there is one.
            debug_assert!(self.search.budget == 0, "a part without a cycle: {parts:?}");
            let class = if case.allows_adjacent() { Class::Snapshot } else { Class::Any };
            for part in parts.iter().take(1) {
                let begins = self.search.begins(part);
                self.search.budget = usize::MAX;
                let txns = self.search.txns;
                let any = part.iter().filter(|node| **node < txns).find_map(|node| {
                    self.search.through(*node, class, Edges::ALL, usize::MAX, &begins)
                });
                self.search.budget = 0;
                any.into_iter().for_each(|cycle| self.note(cycle));
            }
        }
    }

    /// The shortest cycles of each class in one part of the graph.
    fn part(&mut self, case: &Case<'_, '_>, part: &[u32]) {
        let txns: Vec<u32> = part.iter().copied().filter(|n| *n < self.search.txns).collect();
        let begins = self.search.begins(&txns);
        let data = Edges::WR | Edges::WW | Edges::RW;
        for class in classes(case.allows_adjacent()) {
            // Without session order and real time first: what needs them is another variant.
            for kinds in [data, data | Edges::SO, data | Edges::SO | Edges::RT] {
                let possible = (kinds.contains(Edges::SO) <= case.promise.session_order
                    || kinds.contains(Edges::RT))
                    && kinds.contains(Edges::RT) <= case.real_time.is_some();
                if possible && self.shortest(&txns, class, kinds, &begins) {
                    break;
                }
            }
        }
    }

    /// Looks for the shortest cycles of a class, with longer and longer ones until there are some.
    fn shortest(&mut self, txns: &[u32], class: Reads, kinds: Edges, begins: &Begins) -> bool {
        let mut longest = 2;
        loop {
            let before = self.cycles.len();
            for &start in txns {
                if self.cycles.len() >= before + self.keep || self.search.budget == 0 {
                    break;
                }
                let class = Class::Catalogued(class);
                let cycle = self.search.through(start, class, kinds, longest, begins);
                cycle.into_iter().for_each(|cycle| self.note(cycle));
            }
            if self.cycles.len() > before {
                return true;
            }
            if longest >= txns.len() || self.search.budget == 0 {
                return false;
            }
            longest = (longest + 1 + longest / 4).min(txns.len());
        }
    }
}

/// The classes of forbidden cycles, the most basic first.
fn classes(allows_adjacent: bool) -> Vec<Reads> {
    let mut classes = vec![
        Reads::None(Edges::WW | Edges::SO | Edges::RT),
        Reads::None(DEPENDENCIES),
        Reads::One,
        Reads::Apart,
    ];
    if !allows_adjacent {
        classes.push(Reads::Adjacent);
    }
    classes
}
