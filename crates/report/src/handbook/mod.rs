//! The handbook: every level and every anomaly explained, as data.

mod anomalies;
mod levels;

use isolde_spec::{Anomaly, Level};

/// What the handbook says of an anomaly.
#[derive(Clone, Copy, Debug)]
pub struct AnomalyPage {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// Other names that people use for it.
    pub also_called: &'static [&'static str],
    /// What it is, exactly, in a few sentences.
    pub definition: &'static str,
    /// Why a level that forbids it cannot explain it, in one sentence without names: "the second
    /// writer had to be refused, because what it had read was no longer current".
    pub breach: &'static str,
    /// What it does to an application, by example, in one or two sentences.
    pub harm: &'static str,
    /// The smallest history that shows it, in the notation.
    pub history: &'static str,
    /// Databases and levels that show it by design.
    pub shown_by: &'static [ByDesign],
    /// Commands that make it happen.
    pub reproduce: &'static [Recipe],
}

/// What the handbook says of a level.
#[derive(Clone, Copy, Debug)]
pub struct LevelPage {
    /// The level.
    pub level: Level,
    /// Other names that people use for it.
    pub also_called: &'static [&'static str],
    /// What it promises, in one sentence.
    pub promise: &'static str,
    /// What it is, exactly, in a few sentences.
    pub definition: &'static str,
    /// A history that it allows and that the next stronger levels forbid, in the notation.
    pub allows: &'static str,
    /// A history that it forbids and that the next weaker levels allow, in the notation.
    pub forbids: &'static str,
    /// Databases that offer it, and under which name.
    pub offered_by: &'static [ByDesign],
    /// Commands to try it.
    pub reproduce: &'static [Recipe],
}

/// A database that shows something by design.
#[derive(Clone, Copy, Debug)]
pub struct ByDesign {
    /// The database: "PostgreSQL".
    pub database: &'static str,
    /// The level in its own words: "read committed".
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

/// What the handbook says of an anomaly.
pub fn anomaly(anomaly: Anomaly) -> &'static AnomalyPage {
    // Every anomaly has a page (a test checks it); the first stands in for none.
    anomalies::PAGES.iter().find(|page| page.anomaly == anomaly).unwrap_or(&anomalies::PAGES[0])
}

/// What the handbook says of a level.
pub fn level(level: Level) -> &'static LevelPage {
    // Every level has a page (a test checks it); the first stands in for none.
    levels::PAGES.iter().find(|page| page.level == level).unwrap_or(&levels::PAGES[0])
}
