//! Which statement wrote which version of which row.
//!
//! A row has a version for each statement that wrote it; before it is inserted it is unborn, and after it was deleted it is
//! dead. Keys are never used twice, so it is born once, and dies once.

use std::collections::BTreeMap;

use crate::case::{Case, Does, ReadLock};
use crate::observation::Observation;
use crate::plan::{At, Plan};

/// A row: its table and its primary key.
pub type RowKey = (usize, i128);

/// What of a case has an effect, and what of which row it wrote.
pub struct Versions {
    /// The statements of which the serial case consists: of transactions that committed, without those that were undone, and
    /// without those whose results depend on locks. In the order of the plan.
    pub nodes: Vec<At>,
    /// By table and version key, the statement that writes it, whatever became of it.
    writers: BTreeMap<(usize, i64), At>,
    /// The statement that overwrote a version.
    pub overwriters: BTreeMap<(RowKey, i128), At>,
    /// The statement that inserted a row.
    pub births: BTreeMap<RowKey, At>,
    /// The statement that deleted a row.
    pub deaths: BTreeMap<RowKey, At>,
    /// Two statements that overwrote one version, if there are any: then no order of them shows what each saw.
    pub torn: Option<(At, At)>,
}

impl Versions {
    /// From what was observed.
    pub fn new(case: &Case, plan: &Plan, observation: &Observation) -> Versions {
        let txns = 0..case.transactions.len();
        let undone: Vec<Vec<usize>> =
            txns.map(|txn| undone(case, plan, observation, txn)).collect();
        let nodes: Vec<At> = plan
            .statements()
            .filter(|(txn, at)| observation.committed(*txn) && !undone[*txn].contains(at))
            .filter(|at| counts(case, observation, *at))
            .collect();
        let mut versions = Versions {
            writers: writers(case),
            nodes,
            overwriters: BTreeMap::new(),
            births: BTreeMap::new(),
            deaths: BTreeMap::new(),
            torn: None,
        };
        for at in versions.nodes.clone() {
            versions.enter(case, observation, at);
        }
        versions
    }

    /// Enters what a statement wrote.
    fn enter(&mut self, case: &Case, observation: &Observation, at: At) {
        let does = &case.transactions[at.0].statements[at.1].does;
        let Some(table) = does.target() else { return };
        let seen = observation.of(at);
        for (key, version) in seen.overwritten(does) {
            let overwritten = ((table, key), version);
            if let Some(other) = self.overwriters.insert(overwritten, at) {
                self.torn.get_or_insert((other, at));
            }
            if matches!(does, Does::Delete { .. }) {
                self.deaths.insert((table, key), at);
            }
        }
        if matches!(does, Does::Insert { .. }) {
            for key in seen.written(does) {
                self.births.insert((table, key), at);
            }
        }
    }

    /// The statement that writes a version key, if one does; else the row was there before.
    pub fn writer(&self, table: usize, version: i128) -> Option<At> {
        let version = i64::try_from(version).ok()?;
        self.writers.get(&(table, version)).copied()
    }
}

/// The statement that writes each version key.
fn writers(case: &Case) -> BTreeMap<(usize, i64), At> {
    let mut writers = BTreeMap::new();
    for (txn, transaction) in case.transactions.iter().enumerate() {
        for (at, statement) in transaction.statements.iter().enumerate() {
            if let Does::Insert { table, version } | Does::Update { table, version, .. } =
                &statement.does
            {
                writers.insert((*table, *version), (txn, at));
            }
        }
    }
    writers
}

/// Whether a statement is one of rows that was done, and whose result depends on rows alone.
fn counts(case: &Case, observation: &Observation, at: At) -> bool {
    let statement = &case.transactions[at.0].statements[at.1];
    !statement.does.is_control()
        && statement.locks != ReadLock::IfFree
        && observation.of(at).succeeded()
}

/// The statements of a transaction that it undid: it rolled back to a savepoint that it had set before.
pub fn undone(case: &Case, plan: &Plan, observation: &Observation, txn: usize) -> Vec<usize> {
    let (mut done, mut undone) = (Vec::new(), Vec::new());
    // Each savepoint that is set, and how much had been done by then.
    let mut set: Vec<(&str, usize)> = Vec::new();
    for (_, at) in plan.statements().filter(|(of, _)| *of == txn) {
        if !observation.of((txn, at)).succeeded() {
            continue;
        }
        let place = |name: &str| set.iter().rposition(|(other, _)| *other == name);
        match &case.transactions[txn].statements[at].does {
            Does::Savepoint(name) => set.push((name, done.len())),
            Does::RollbackTo(name) => {
                if let Some(place) = place(name) {
                    undone.extend(done.drain(set[place].1..));
                    set.truncate(place + 1);
                }
            }
            Does::Release(name) => {
                if let Some(place) = place(name) {
                    set.truncate(place);
                }
            }
            _ => done.push(at),
        }
    }
    undone
}
