//! What a page of the handbook holds.

use isolde_spec::{Anomaly, By, Finding, Level, Promise};

/// What the handbook says of an anomaly.
#[derive(Clone, Copy, Debug)]
pub struct AnomalyPage {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// Other names that people use for it.
    pub also_called: &'static [&'static str],
    /// What it is, exactly, in a few sentences.
    pub definition: &'static str,
    /// How it differs from those that it is taken for; may be empty.
    pub differs: &'static str,
    /// Why a level that forbids it cannot explain it, as a clause without names: "the second
    /// writer should have been refused, because what it had read was no longer current".
    pub breach: &'static str,
    /// What it does to an application, by example, in one or two sentences.
    pub harm: &'static str,
    /// What helps against it, or where to look first.
    pub remedy: &'static str,
    /// The smallest history that shows it, in the notation.
    pub history: &'static str,
    /// Databases and levels that show it by design.
    pub shown_by: &'static [ByDesign],
    /// Commands that make it happen.
    pub reproduce: &'static [Recipe],
}

impl AnomalyPage {
    /// The weakest promise that its history breaks: by timestamps, snapshots or intervals where only
    /// they show the anomaly.
    pub fn promise(&self) -> Promise {
        let entry = self.anomaly.entry();
        match entry.finding {
            Finding::Timestamps => Promise::by_timestamps(entry.forbidden_from),
            Finding::Snapshots => Promise::by_snapshots(entry.forbidden_from),
            Finding::Intervals => {
                Promise { by: By::Intervals, ..Promise::of(entry.forbidden_from) }
            }
            _ => Promise::of(entry.forbidden_from),
        }
    }
}

/// What the handbook says of a level.
#[derive(Clone, Copy, Debug)]
pub struct LevelPage {
    /// The level.
    pub level: Level,
    /// Other names that people use for it.
    pub also_called: &'static [&'static str],
    /// What it promises, as a clause: "every transaction reads from a snapshot".
    pub promise: &'static str,
    /// What it is, exactly, in a few sentences.
    pub definition: &'static str,
    /// A history that it allows and that the next stronger levels forbid, in the notation. The
    /// strongest levels have none: there it is one that looks odd and is allowed.
    pub allows: &'static str,
    /// A history that it forbids and that the next weaker levels allow, in the notation.
    pub forbids: &'static str,
    /// Databases that offer it, and under which name.
    pub offered_by: &'static [ByDesign],
    /// Commands to try it.
    pub reproduce: &'static [Recipe],
}

/// A database that shows or offers something by design.
#[derive(Clone, Copy, Debug)]
pub struct ByDesign {
    /// The database: "PostgreSQL".
    pub database: &'static str,
    /// The level in its own words: "READ COMMITTED".
    pub level: &'static str,
    /// Why, or under which circumstances.
    pub why: &'static str,
}

/// A command and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// What it does, in a few words.
    pub what: &'static str,
    /// The command.
    pub command: &'static str,
}

pub(super) const fn by(database: &'static str, level: &'static str, why: &'static str) -> ByDesign {
    ByDesign { database, level, why }
}

pub(super) const fn run(what: &'static str, command: &'static str) -> Recipe {
    Recipe { what, command }
}
