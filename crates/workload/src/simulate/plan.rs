//! What a simulated history shall be like.

use std::str::FromStr;

use isolde_spec::{Anomaly, CATALOGUE, Level};

use super::recipes::{self, Recipe};
use super::timestamps::Timestamps;
use crate::settings::{Kind, Settings};
use crate::workload::Workload;

/// What the simulated database promises, and keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Database {
    /// Each read is of the version that was committed last. Conflicts are not detected.
    ReadCommitted,
    /// All reads are of one snapshot. Conflicts are not detected.
    Prefix,
    /// All reads are of one snapshot, and the first of two writers of a key wins.
    Snapshot,
    /// A writer commits only if the versions that it read are still current.
    Serializable,
}

impl Database {
    /// Every database, weakest first.
    pub const ALL: [Database; 4] =
        [Database::ReadCommitted, Database::Prefix, Database::Snapshot, Database::Serializable];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Database::ReadCommitted => "read-committed",
            Database::Prefix => "prefix",
            Database::Snapshot => "snapshot",
            Database::Serializable => "serializable",
        }
    }

    /// The database of that name.
    pub fn named(name: &str) -> Option<Database> {
        Database::ALL.into_iter().find(|database| database.name() == name)
    }

    /// The strongest level that it keeps. Everything happens in real time, so it is a strict one
    /// where there is one; for transactions of one operation, linearizability.
    pub const fn keeps(self) -> Level {
        match self {
            Database::ReadCommitted => Level::ReadCommitted,
            Database::Prefix => Level::Prefix,
            Database::Snapshot => Level::StrongSnapshotIsolation,
            Database::Serializable => Level::Linearizable,
        }
    }

    /// The weakest database that keeps the level.
    ///
    /// ```
    /// use isolde_spec::Level;
    /// use isolde_workload::simulate::Database;
    /// assert_eq!(Database::that_keeps(Level::SnapshotIsolation), Database::Snapshot);
    /// assert_eq!(Database::that_keeps(Level::Causal), Database::Prefix);
    /// ```
    pub fn that_keeps(level: Level) -> Database {
        let mut all = Database::ALL.into_iter();
        all.find(|database| database.keeps().implies(level)).unwrap_or(Database::Serializable)
    }
}

/// Violations to plant. Written `LostUpdate:10`, `LostUpdate`, or `10` for various kinds in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planted {
    /// Which; `None`: all that the database forbids, in turn.
    pub anomaly: Option<Anomaly>,
    /// How many.
    pub count: u64,
}

impl FromStr for Planted {
    type Err = String;

    fn from_str(text: &str) -> Result<Planted, String> {
        if let Ok(count) = text.parse() {
            return Ok(Planted { anomaly: None, count });
        }
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, count.parse().ok()),
            None => (text, Some(1)),
        };
        let count = count.ok_or_else(|| format!("'{text}' does not say how many to plant"))?;
        let entry = CATALOGUE.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
        let entry = entry.ok_or_else(|| format!("there is no anomaly '{name}'"))?;
        Ok(Planted { anomaly: Some(entry.anomaly), count })
    }
}

/// What a simulated history shall be like.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// What the sessions do.
    pub workload: Settings,
    /// What the database promises, and keeps.
    pub database: Database,
    /// How many transactions there are, with those that were rolled back and recorded.
    pub txns: u64,
    /// How many of a hundred sessions run a transaction at the same time; at least one does.
    pub concurrency: f64,
    /// What to plant.
    pub planted: Vec<Planted>,
    /// Which share of the transactions that the database aborted is recorded, from 0 to 1. What a
    /// client rolled back on purpose always is.
    pub aborted: f64,
    /// Whether the clients' intervals are recorded.
    pub intervals: bool,
    /// Whether every list is read once more when it has stopped growing, so that the order of all
    /// elements is known; otherwise the last ones may never be read.
    pub read_out: bool,
    /// Which timestamps of the database are recorded, if any are.
    pub timestamps: Option<Timestamps>,
    /// Whether only transactions that committed are recorded; the others still count.
    pub only_committed: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            workload: Settings::default(),
            database: Database::Serializable,
            txns: 10_000,
            concurrency: 100.0,
            planted: Vec::new(),
            aborted: 0.0,
            intervals: true,
            read_out: false,
            timestamps: None,
            only_committed: false,
        }
    }
}

impl Plan {
    /// How many transactions run at the same time.
    pub(crate) fn slots(&self) -> u32 {
        let slots = f64::from(self.workload.sessions) * self.concurrency / 100.0;
        (slots.round() as u32).clamp(1, self.workload.sessions.max(1))
    }

    /// What is planted where nothing is named.
    pub(crate) fn mixture(&self) -> Vec<&'static Recipe> {
        recipes::mixture(self.workload.kind, self.slots() as usize, self.database.keeps())
    }

    /// The workload, unless something is wrong with the plan.
    pub(crate) fn validate(&self) -> Result<Workload, String> {
        let workload = Workload::new(self.workload.clone())?;
        if !(self.concurrency > 0.0 && self.concurrency <= 100.0) {
            return Err(format!(
                "the concurrency is a percentage of the sessions, above 0, not {}",
                self.concurrency
            ));
        }
        if !(0.0..=1.0).contains(&self.aborted) {
            let share = self.aborted;
            return Err(format!(
                "the share of recorded aborts lies between 0 and 1, not at {share}"
            ));
        }
        // The largest kind of violation takes six transactions; the rest has to stay the rule.
        let faults = self.timestamps.iter().flat_map(|timestamps| &timestamps.planted);
        let planted = self.planted.iter().map(|p| p.count).chain(faults.map(|p| p.count));
        if planted.fold(0, u64::saturating_add) > self.txns / 8 {
            return Err("at most one in eight transactions can be a planted violation".to_owned());
        }
        for planted in self.planted.iter().filter(|planted| planted.count > 0) {
            self.validate_planted(*planted)?;
        }
        if let Some(timestamps) = &self.timestamps {
            timestamps.validate(self.workload.kind, self.slots() as usize)?;
        }
        Ok(workload)
    }

    fn validate_planted(&self, planted: Planted) -> Result<(), String> {
        let (kind, slots) = (self.workload.kind, self.slots() as usize);
        let Some(anomaly) = planted.anomaly else {
            if self.mixture().is_empty() {
                return Err(format!("with {slots} session(s) at a time there is nothing to plant"));
            }
            return Ok(());
        };
        let Some(recipe) = recipes::recipe_for(anomaly, kind) else {
            let names: Vec<&str> = recipes::plantable(kind).map(Anomaly::name).collect();
            return Err(format!(
                "{anomaly} cannot be planted into the workload {}\n  hint: these can: {}",
                kind.name(),
                names.join(", ")
            ));
        };
        let needed = recipe.at_a_time(kind == Kind::Append);
        if needed > slots {
            return Err(format!(
                "{anomaly} takes {needed} sessions at a time, and there are {slots}\n  \
                 hint: more sessions, or a higher concurrency"
            ));
        }
        Ok(())
    }
}
