//! The handbook: every level and every anomaly explained, as data.
//!
//! What follows from the catalogue (which level forbids what) is derived from it and not written
//! here again. Tests check every history, and every command that names something to plant.

mod anomalies;
mod gallery;
mod json;
mod lattice;
mod levels;
mod page;
mod text;

use isolde_spec::{Anomaly, By, Level, Promise};

pub use gallery::{Page, Scene, Shown, gallery};
pub use json::{anomaly_to_json, level_to_json};
pub use lattice::{
    allowing, beyond, forbidding, forbidding_by_intervals, forbidding_by_snapshots,
    forbidding_by_timestamps, next_stronger,
};
pub use page::{AnomalyPage, ByDesign, LevelPage, Recipe};
pub use text::{anomaly_to_text, index_to_text, level_to_text};

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

/// What is promised, as a clause: by values what the level says, by timestamps and snapshots what they are held
/// against.
pub fn promise(promise: Promise) -> &'static str {
    match (promise.by, promise.level) {
        (By::Values, of) => level(of).promise,
        (By::Timestamps, Level::Serializable) => {
            "transactions take effect one after another in the order of their commit timestamps"
        }
        (By::Timestamps, _) => {
            "a transaction sees exactly what committed before it started, and of two transactions that \
             overlap only one writes a key"
        }
        (By::Snapshots, Level::ReadCommitted) => {
            "a plain read returns the newest version that the snapshot of its statement shows"
        }
        (By::Snapshots, _) => {
            "a transaction sees exactly what its snapshot shows, the snapshot shows all that had been confirmed, \
             and of two transactions that update a row one sees the other"
        }
        (By::Intervals, Level::ReadUncommitted) => {
            "no two transactions hold locks on one row at the same time that exclude each other"
        }
        (By::Intervals, Level::ReadCommitted) => {
            "each statement sees what its snapshot can show, or what it locked, and locks that exclude each other are \
             not held at the same time"
        }
        (By::Intervals, Level::Serializable | Level::StrictSerializable) => {
            "each mechanism of the server does what it is there for: snapshots, locks, and the one that refuses what is \
             not serializable"
        }
        (By::Intervals, _) => {
            "a transaction sees what one snapshot shows that its server can have taken, locks that exclude each other \
             are not held at the same time, and of two transactions that write a row one had committed before the \
             other took its snapshot"
        }
    }
}
