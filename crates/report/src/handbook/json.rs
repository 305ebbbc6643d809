//! The handbook for machines.

use isolde_spec::{Anomaly, Level};
use serde_json::{Value, json};

use super::{AnomalyPage, ByDesign, LevelPage, Recipe, lattice};

/// The page of an anomaly as JSON.
pub fn anomaly_to_json(page: &AnomalyPage) -> Value {
    let entry = page.anomaly.entry();
    json!({
        "anomaly": entry.name,
        "also_called": page.also_called,
        "adya": entry.adya,
        "meaning": entry.meaning,
        "definition": page.definition,
        "differs": page.differs,
        "harm": page.harm,
        "remedy": page.remedy,
        "broken_because": page.breach,
        "forbidden_from": entry.forbidden_from.name(),
        "by": lattice::shown_only_by(page.anomaly).unwrap_or_default().name(),
        "forbidden_by": levels(&lattice::forbidding(page.anomaly)),
        "forbidden_by_timestamps": levels(&lattice::forbidding_by_timestamps(page.anomaly)),
        "forbidden_by_snapshots": levels(&lattice::forbidding_by_snapshots(page.anomaly)),
        "forbidden_by_intervals": levels(&lattice::forbidding_by_intervals(page.anomaly)),
        "allowed_by": levels(&lattice::allowing(page.anomaly)),
        "history": page.history,
        "shown_by": databases(page.shown_by),
        "reproduce": recipes(page.reproduce),
    })
}

/// The page of a level as JSON.
pub fn level_to_json(page: &LevelPage) -> Value {
    let level = page.level;
    let forbids = |a: &Anomaly| a.forbidden_at(level);
    let anomalies: Vec<Anomaly> = lattice::all().filter(|a| !lattice::is_timed(*a)).collect();
    let (forbidden, allowed): (Vec<Anomaly>, Vec<Anomaly>) =
        anomalies.into_iter().partition(forbids);
    json!({
        "level": level.name(),
        "short": level.short(),
        "also_called": page.also_called,
        "promise": page.promise,
        "definition": page.definition,
        "next_weaker": levels(level.next_weaker()),
        "next_stronger": levels(&lattice::next_stronger(level)),
        "forbids": forbidden.iter().map(|a| a.name()).collect::<Vec<_>>(),
        "allows": allowed.iter().map(|a| a.name()).collect::<Vec<_>>(),
        "history_that_it_allows": page.allows,
        "history_that_it_forbids": page.forbids,
        "offered_by": databases(page.offered_by),
        "reproduce": recipes(page.reproduce),
    })
}

fn levels(levels: &[Level]) -> Vec<&'static str> {
    levels.iter().map(|level| level.name()).collect()
}

fn databases(all: &[ByDesign]) -> Vec<Value> {
    let one = |d: &ByDesign| json!({"database": d.database, "level": d.level, "why": d.why});
    all.iter().map(one).collect()
}

fn recipes(all: &[Recipe]) -> Vec<Value> {
    all.iter().map(|r| json!({"what": r.what, "command": r.command})).collect()
}
