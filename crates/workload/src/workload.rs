//! A workload: what all sessions do, made from a seed.

use std::sync::Arc;

use isolde_history::OpKind;
use isolde_spec::Anomaly;

use crate::pick::{Distribution, Picker};
use crate::plan::{Step, TxnPlan};
use crate::random::Random;

/// What transactions do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Mini-transactions: one or two reads, up to two writes, each after a read of its key.
    Mini,
    /// Cobra's mix: 20% read-only, 40% write-only, 40% read-modify-write.
    General,
    /// Appends to lists and reads of lists.
    Append,
    /// Compare-and-set, insert-if-absent and reads of single rows, in fresh, empty tables.
    Cas,
    /// Reads and blind writes of registers, mixed at random.
    Register,
}

/// What a workload shall be like.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// What transactions do.
    pub kind: Kind,
    /// The rows of a table.
    pub keys: u32,
    /// How often each is touched.
    pub distribution: Distribution,
    /// How many operations a transaction has at most (general: exactly; mini: 4, always).
    pub max_txn_len: u32,
    /// How many sessions there are.
    pub sessions: u32,
    /// An anomaly whose shape and contention to favour (mini only).
    pub favour: Option<Anomaly>,
    /// Which share of the transactions the client rolls back on purpose, from 0 to 1.
    pub rollbacks: f64,
    /// After how many transactions of a session it goes on to a fresh table; 0: never.
    pub round: u32,
    /// What all choices follow from.
    pub seed: u64,
}

/// What all sessions do.
#[derive(Clone, Debug)]
pub struct Workload {
    settings: Settings,
    picker: Arc<Picker>,
}

/// What one session does.
#[derive(Clone, Debug)]
pub struct Script {
    picker: Arc<Picker>,
    random: Random,
    made: u64,
}

impl Workload {
    /// The workload, or what is wrong with the settings.
    pub fn new(settings: Settings) -> Result<Workload, String> {
        let picker = Arc::new(Picker::new(settings.distribution, settings.keys));
        Ok(Workload { settings, picker })
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether rows hold lists; otherwise integers.
    pub fn has_lists(&self) -> bool {
        self.settings.kind == Kind::Append
    }

    /// Whether all rows are there from the start, with the value 0; otherwise tables are empty.
    pub fn starts_filled(&self) -> bool {
        !matches!(self.settings.kind, Kind::Append | Kind::Cas)
    }

    /// What that session does, from its first transaction on.
    pub fn script(&self, session: u32) -> Script {
        let random = Random::new(self.settings.seed ^ (u64::from(session) << 32));
        Script { picker: Arc::clone(&self.picker), random, made: 0 }
    }
}

impl Script {
    /// The next transaction.
    pub fn next(&mut self, plan: &mut TxnPlan) {
        self.made += 1;
        plan.steps.clear();
        let row = self.picker.pick(&mut self.random);
        for kind in [OpKind::Read, OpKind::Write] {
            let choice = self.random.bits() as u32;
            plan.steps.push(Step { kind, row, choice });
        }
    }
}
