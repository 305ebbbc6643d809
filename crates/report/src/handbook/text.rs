//! The handbook on a terminal: plain text, 100 columns.

use isolde_spec::{Anomaly, By, CATALOGUE, Edges, Finding, Level, Pattern, Promise, Reads};

use super::lattice::{self, DRAWING};
use super::{
    AnomalyPage, ByDesign, LevelPage, Recipe, anomaly as anomaly_page, level as level_page,
};
use crate::wrap::{all_of, paragraph};

/// What is said of an anomaly that no database shows by design.
pub(super) const NOWHERE: &str = "None by design: where it is seen, it is a bug.";

/// What is said of a level that the handbook knows no database to offer.
pub(super) const NOT_OFFERED: &str =
    "The handbook knows none that offers exactly this; every stronger level includes it.";

/// The page of an anomaly. `shown` is the picture of its smallest history, which the caller makes; it
/// stands as it is, and may be empty.
pub fn anomaly_to_text(page: &AnomalyPage, shown: &str) -> String {
    let entry = page.anomaly.entry();
    let mut out = String::new();
    para(&mut out, "", &format!("{}: {}", entry.name, entry.meaning));
    named(&mut out, "also called", &page.also_called.join("; "));
    named(&mut out, "class", entry.adya.unwrap_or_default());
    section(&mut out, "What it is", page.definition);
    section(&mut out, "", page.differs);
    section(&mut out, "", &variants(page.anomaly).unwrap_or_default());
    section(&mut out, "What it does", page.harm);
    section(&mut out, "What helps", page.remedy);
    heading(&mut out, "Levels");
    named(&mut out, "  forbidden from", &forbidden_from(page.anomaly));
    named(&mut out, "  forbidden by", &forbidden_by(page.anomaly));
    named(&mut out, "  allowed by", &allowed_by(page.anomaly));
    history(&mut out, "The smallest history", page.history);
    picture(&mut out, shown);
    databases(&mut out, "Databases that show it by design", page.shown_by, NOWHERE);
    recipes(&mut out, "How to see it", page.reproduce);
    out
}

/// The page of a level, with the pictures of its two histories, which the caller makes.
pub fn level_to_text(page: &LevelPage, allows_shown: &str, forbids_shown: &str) -> String {
    let level = page.level;
    let mut out = String::new();
    let short = level.short().map(|short| format!(" ({short})")).unwrap_or_default();
    para(&mut out, "", &format!("{}{short}: {}", level.name(), page.promise));
    named(&mut out, "also called", &page.also_called.join("; "));
    section(&mut out, "What it is", page.definition);
    heading(&mut out, "Between its neighbours (stronger ones above)");
    out.push_str(&lattice::neighbours(level));
    heading(&mut out, "Anomalies");
    for (name, text) in lattice::gains(level, &anomalies) {
        paragraph(&mut out, "  ", 4, usize::MAX, &format!("{name}: {text}"));
    }
    let leaves = lattice::leaves(level, &anomalies);
    paragraph(&mut out, "  ", 4, usize::MAX, &format!("still allowed: {leaves}"));
    history(&mut out, "It allows this", page.allows);
    picture(&mut out, allows_shown);
    history(&mut out, "It forbids this", page.forbids);
    picture(&mut out, forbids_shown);
    databases(&mut out, "Databases that offer it", page.offered_by, NOT_OFFERED);
    recipes(&mut out, "How to try it", page.reproduce);
    out
}

/// All levels and anomalies with one line each.
pub fn index_to_text() -> String {
    let mut out = String::from("Levels, each above those that it implies:\n");
    out.push_str(DRAWING.trim_end());
    out.push_str("\n\n");
    for level in Level::ALL {
        let name = format!("  {:<26}{:<11}", level.name(), level.short().unwrap_or_default());
        paragraph(&mut out, &name, name.len(), usize::MAX, level_page(level).promise);
    }
    out.push_str("\nAnomalies, the most basic first, and the weakest level that forbids each:\n\n");
    for entry in CATALOGUE {
        let name = format!("  {:<27}", entry.name);
        let text = format!("{} ({})", entry.meaning, forbidden_from(entry.anomaly));
        paragraph(&mut out, &name, name.len(), usize::MAX, &text);
    }
    out
}

/// "snapshot-isolation; of Adya's levels, cursor-stability".
pub(super) fn forbidden_from(anomaly: Anomaly) -> String {
    let entry = anomaly.entry();
    let from = anomaly_page(anomaly).promise();
    match entry.also_from {
        Some(also) => format!("{from}; of Adya's levels, {also}"),
        None => from.to_string(),
    }
}

fn forbidden_by(anomaly: Anomaly) -> String {
    if !lattice::is_timed(anomaly) {
        return levels(&lattice::forbidding(anomaly));
    }
    let timed = lattice::forbidding_by_timestamps(anomaly).into_iter();
    let timed = timed.map(|level| Promise::by_timestamps(level).to_string());
    let shown = lattice::forbidding_by_snapshots(anomaly).into_iter();
    let shown = shown.map(|level| Promise::by_snapshots(level).to_string());
    let mirrored = lattice::forbidding_by_intervals(anomaly).into_iter();
    let mirrored = mirrored.map(|level| Promise { by: By::Intervals, ..Promise::of(level) });
    let mirrored = mirrored.map(|promise| promise.to_string());
    let by: Vec<String> = timed.chain(shown).chain(mirrored).collect();
    all_of(&by.iter().map(String::as_str).collect::<Vec<_>>())
}

fn allowed_by(anomaly: Anomaly) -> String {
    if !lattice::is_timed(anomaly) {
        return levels(&lattice::allowing(anomaly));
    }
    allowed_by_values(anomaly)
}

/// What is allowed by values, where only the server's own word shows it.
pub(super) fn allowed_by_values(anomaly: Anomaly) -> String {
    let beside = lattice::beside(anomaly).map(|beside| format!("; {beside}"));
    format!("every level by values{}", beside.unwrap_or_default())
}

/// What else than reads and writes may be a step of such a cycle, and how the output says so.
pub(super) fn variants(anomaly: Anomaly) -> Option<String> {
    let Finding::Cycle(patterns) = anomaly.entry().finding else { return None };
    // Two transactions that missed each other leave no room for another step.
    let full = |pattern: &&Pattern| pattern.reads == Reads::Adjacent && pattern.len == Some(2);
    let roomy = || patterns.iter().filter(|pattern| !full(pattern));
    let any = |edge: Edges| roomy().any(|pattern| pattern.others.contains(edge));
    // A cycle that is made of session order anyway has no variant without it.
    let only = |edge: Edges| roomy().all(|pattern| pattern.others == edge);
    match (any(Edges::SO) && !only(Edges::SO), any(Edges::RT)) {
        (false, _) => None,
        (true, false) => Some(
            "Session order may be a step of the cycle where a level counts it: the output then \
             says 'needs session order'."
                .to_owned(),
        ),
        (true, true) => Some(
            "Session order may be a step of the cycle where a level counts it, and so may real \
             time at the levels that speak of it: the output then says 'needs session order' or \
             'needs real time'."
                .to_owned(),
        ),
    }
}

pub(super) fn levels(levels: &[Level]) -> String {
    all_of(&levels.iter().map(|level| level.name()).collect::<Vec<_>>())
}

pub(super) fn anomalies(anomalies: &[Anomaly]) -> String {
    all_of(&anomalies.iter().map(|anomaly| anomaly.name()).collect::<Vec<_>>())
}

fn heading(out: &mut String, text: &str) {
    out.push('\n');
    out.push_str(text);
    out.push('\n');
}

fn para(out: &mut String, indent: &str, text: &str) {
    paragraph(out, indent, indent.len(), usize::MAX, text);
}

/// A paragraph under a heading, if there is something to say; without a heading it belongs to the
/// one before.
fn section(out: &mut String, title: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    if !title.is_empty() {
        heading(out, title);
    }
    para(out, "  ", text);
}

/// A name and a text beside it, if there is something to say.
fn named(out: &mut String, name: &str, text: &str) {
    if !text.is_empty() {
        let prefix = format!("{name:<18}");
        paragraph(out, &prefix, prefix.len(), usize::MAX, text);
    }
}

fn history(out: &mut String, title: &str, text: &str) {
    heading(out, title);
    text.lines().for_each(|line| out.push_str(&format!("    {line}\n")));
}

fn picture(out: &mut String, shown: &str) {
    if !shown.is_empty() {
        out.push('\n');
        out.push_str(shown.trim_end_matches('\n'));
        out.push('\n');
    }
}

fn databases(out: &mut String, title: &str, databases: &[ByDesign], none: &str) {
    heading(out, title);
    if databases.is_empty() {
        para(out, "  ", none);
    }
    for by in databases {
        paragraph(out, "  ", 4, usize::MAX, &format!("{}: {}", by.database, by.level));
        para(out, "    ", by.why);
    }
}

fn recipes(out: &mut String, title: &str, recipes: &[Recipe]) {
    heading(out, title);
    for recipe in recipes {
        para(out, "  ", recipe.what);
        out.push_str(&format!("    {}\n", recipe.command));
    }
}
