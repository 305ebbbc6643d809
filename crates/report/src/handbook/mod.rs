//! The handbook: every level and every anomaly explained, as data.
//!
//! What follows from the catalogue (which level forbids what) is derived from it and not written
//! here again. Tests check every history, and every command that names something to plant.

mod anomalies;
mod gallery;
mod json;
mod lattice;
mod levels;
mod text;

use isolde_spec::{Anomaly, Level};

pub use gallery::{Page, Scene, Shown, gallery};
pub use json::{anomaly_to_json, level_to_json};
pub use lattice::{allowing, beyond, forbidding, next_stronger};
pub use text::{anomaly_to_text, index_to_text, level_to_text};

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
    /// writer had to be refused, because what it had read was no longer current".
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

const fn by(database: &'static str, level: &'static str, why: &'static str) -> ByDesign {
    ByDesign { database, level, why }
}

const fn run(what: &'static str, command: &'static str) -> Recipe {
    Recipe { what, command }
}

impl AnomalyPage {
    /// The weakest level that its history breaks.
    pub fn level(&self) -> Level {
        self.anomaly.entry().forbidden_from
    }
}

/// A page of the handbook.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// Of an anomaly.
    Anomaly(&'static AnomalyPage),
    /// Of a level.
    Level(&'static LevelPage),
}

/// The page of that name, or of one that people use for it, in any case: `LostUpdate`, `p4`, `SI`. A name
/// that several use is none.
///
/// ```
/// use isolde_report::handbook::{Entry, named};
/// assert!(matches!(named("p4"), Some(Entry::Anomaly(page)) if page.anomaly.name() == "LostUpdate"));
/// assert!(matches!(named("SI"), Some(Entry::Level(page)) if page.level.name() == "snapshot-isolation"));
/// assert!(named("acid").is_none());
/// ```
pub fn named(name: &str) -> Option<Entry> {
    let lower = name.to_lowercase();
    if let Some(found) = Anomaly::named(name) {
        return Some(Entry::Anomaly(anomaly(found)));
    }
    if let Some(found) = Level::named(&lower) {
        return Some(Entry::Level(level(found)));
    }
    let called = |names: &[&str]| names.iter().any(|other| other.to_lowercase() == lower);
    // "G1a" is one anomaly, "G-single" the class of several.
    let classed = |page: &AnomalyPage| page.anomaly.entry().adya.is_some_and(|a| called(&[a]));
    let anomalies = anomalies::pages().filter(|page| called(page.also_called) || classed(page));
    let anomalies = anomalies.map(Entry::Anomaly);
    let levels = levels::pages().filter(|page| called(page.also_called)).map(Entry::Level);
    let mut all = anomalies.chain(levels);
    all.next().filter(|_| all.next().is_none())
}

/// What the handbook says of an anomaly.
pub fn anomaly(anomaly: Anomaly) -> &'static AnomalyPage {
    anomalies::page(anomaly)
}

/// What the handbook says of a level.
pub fn level(level: Level) -> &'static LevelPage {
    levels::page(level)
}
