//! Which statement depends on which (definitions 2 to 8 of the paper).
//!
//! A statement may have looked at every row that its version sets show, and at every row that they do not show: **a row that
//! is not there has a version, too**. INSERT overwrites the unborn version of its rows, and DELETE leaves a dead one. Without
//! these, a statement that counts the rows of a table could be moved behind one that inserts into it.
//!
//! More dependencies than there are do no harm: every order that keeps all of them keeps those that there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, Does};
use crate::observation::{Observation, versions_in};
use crate::plan::{At, Plan, Step};
use crate::versions::{RowKey, Versions};

/// Why a statement has to come after another one. The names are the paper's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Dependency {
    /// It returned a row that the other one wrote.
    ItemRead,
    /// It overwrote a row that the other one wrote.
    ItemWrite,
    /// It overwrote a row that the other one returned or wrote over.
    ItemAnti,
    /// It may have looked at a row that the other one wrote, to find what to return.
    PredicateRead,
    /// It may have looked at a row that the other one wrote, to find what to write.
    PredicateWrite,
    /// It overwrote a row that the other one may have looked at.
    PredicateAnti,
    /// What it wrote may come from a row that the other one wrote.
    ValueWrite,
}

/// The statements of a case and their dependencies.
pub struct StatementGraph {
    /// The statements.
    pub nodes: Vec<At>,
    /// From a statement to one that depends on it, by their places among the nodes, with all reasons.
    pub edges: BTreeMap<(usize, usize), BTreeSet<Dependency>>,
}

/// What is known while dependencies are looked for.
struct Search<'s> {
    case: &'s Case,
    plan: &'s Plan,
    observation: &'s Observation,
    versions: &'s Versions,
    places: BTreeMap<At, usize>,
    /// All rows of each table that were ever seen by a statement that counts, or written by one.
    items: BTreeSet<RowKey>,
    edges: BTreeMap<(usize, usize), BTreeSet<Dependency>>,
}

impl StatementGraph {
    /// From what was observed.
    pub fn new(
        case: &Case,
        plan: &Plan,
        observation: &Observation,
        versions: &Versions,
    ) -> StatementGraph {
        let nodes = versions.nodes.clone();
        let places = nodes.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let items = items(&nodes, observation, versions);
        let edges = BTreeMap::new();
        let mut search = Search { case, plan, observation, versions, places, items, edges };
        for at in &nodes {
            search.of_written(*at);
            search.of_returned(*at);
            search.of_looked_at(*at);
        }
        StatementGraph { nodes, edges: search.edges }
    }

    /// The statements that depend on each.
    pub fn successors(&self) -> Vec<Vec<usize>> {
        let mut successors = vec![Vec::new(); self.nodes.len()];
        for (from, to) in self.edges.keys() {
            successors[*from].push(*to);
        }
        successors
    }
}

/// All rows that any of the statements saw or wrote.
fn items(nodes: &[At], observation: &Observation, versions: &Versions) -> BTreeSet<RowKey> {
    let mut items: BTreeSet<RowKey> = versions.births.keys().copied().collect();
    for at in nodes {
        for (table, rows) in &observation.of(*at).version_sets {
            items.extend(versions_in(rows).map(|(key, _)| (*table, key)));
        }
    }
    items
}

impl Search<'_> {
    fn edge(&mut self, from: At, to: At, why: Dependency) {
        // What was undone or rolled back has no place.
        let (Some(from), Some(to)) = (self.places.get(&from), self.places.get(&to)) else { return };
        if from != to {
            self.edges.entry((*from, *to)).or_default().insert(why);
        }
    }

    /// What a statement overwrote was written by another one.
    fn of_written(&mut self, at: At) {
        let Some(table) = self.does(at).target() else { return };
        for (key, version) in self.observation.of(at).overwritten(self.does(at)) {
            if let Some(writer) = self.versions.writer(table, version) {
                self.edge(writer, at, Dependency::ItemWrite);
            }
            self.before_overwriter(((table, key), version), at, Dependency::ItemAnti);
        }
    }

    /// The statement that overwrites a version comes after one that used it.
    fn before_overwriter(&mut self, version: (RowKey, i128), at: At, why: Dependency) {
        if let Some(overwriter) = self.versions.overwriters.get(&version).copied() {
            self.edge(at, overwriter, why);
        }
    }

    /// What a plain SELECT returned.
    fn of_returned(&mut self, at: At) {
        let Does::Select { plain: Some((table, _)) } = self.does(at) else { return };
        let table = *table;
        let Some(Ok(isolde_target::Said::Rows(returned))) = &self.observation.of(at).answer else {
            return;
        };
        let returned: Vec<(i128, i128)> = versions_in(&returned.rows).collect();
        for (key, version) in returned {
            if let Some(writer) = self.versions.writer(table, version) {
                self.edge(writer, at, Dependency::ItemRead);
            }
            self.before_overwriter(((table, key), version), at, Dependency::ItemAnti);
        }
    }

    /// All rows that a statement may have looked at, and those that were not there.
    fn of_looked_at(&mut self, at: At) {
        let read = match self.does(at) {
            Does::Insert { .. } => Dependency::ValueWrite,
            Does::Update { .. } | Does::Delete { .. } => Dependency::PredicateWrite,
            _ => Dependency::PredicateRead,
        };
        let sets = self.observation.of(at).version_sets.iter();
        let sets = sets.map(|(table, rows)| (*table, versions_in(rows).collect()));
        let sets: Vec<(usize, BTreeMap<i128, i128>)> = sets.collect();
        for (table, rows) in sets {
            for (key, version) in &rows {
                if let Some(writer) = self.versions.writer(table, *version) {
                    self.edge(writer, at, read);
                    if read == Dependency::PredicateWrite {
                        self.edge(writer, at, Dependency::ValueWrite);
                    }
                }
                self.before_overwriter(((table, *key), *version), at, Dependency::PredicateAnti);
            }
            let of_table = self.items.range((table, i128::MIN)..=(table, i128::MAX));
            let missing = of_table.filter(|(_, key)| !rows.contains_key(key));
            let missing: Vec<RowKey> = missing.copied().collect();
            for item in missing {
                self.of_missing(at, item, read);
            }
        }
    }

    /// A row that a statement did not see was not born yet, or dead already.
    fn of_missing(&mut self, at: At, item: RowKey, read: Dependency) {
        let birth = self.versions.births.get(&item).copied();
        let death = self.versions.deaths.get(&item).copied();
        // If it may have been either, both are said; then there is a cycle, and one of the statements is cut.
        if let Some(birth) = birth
            && !self.has_certainly_seen(at, birth)
        {
            self.edge(at, birth, Dependency::PredicateAnti);
        }
        if let Some(death) = death
            && (birth.is_none() || self.may_have_seen(at, death))
        {
            self.edge(death, at, read);
        }
    }

    /// Whether what a statement wrote was there for another one, whatever its snapshot: it was before it in the same
    /// transaction, or its transaction had ended when the other one's began.
    fn has_certainly_seen(&self, reader: At, writer: At) -> bool {
        if reader.0 == writer.0 {
            return self.statement(writer) < self.statement(reader);
        }
        let (end, begin) = (self.place(writer.0, Step::End), self.place(reader.0, Step::Begin));
        matches!((end, begin), (Some(end), Some(begin)) if end < begin)
    }

    /// Whether what a statement wrote can have been there for another one: it was before it in the same transaction, or had
    /// been committed.
    fn may_have_seen(&self, reader: At, writer: At) -> bool {
        let written = match reader.0 == writer.0 {
            true => self.statement(writer),
            false => self.place(writer.0, Step::End),
        };
        written < self.statement(reader)
    }

    fn statement(&self, at: At) -> Option<usize> {
        self.place(at.0, Step::Statement(at.1))
    }

    fn place(&self, txn: usize, step: Step) -> Option<usize> {
        self.plan.turns().iter().position(|turn| turn.txn == txn && turn.step == step)
    }

    fn does(&self, at: At) -> &Does {
        &self.case.transactions[at.0].statements[at.1].does
    }
}
