//! What follows from the catalogue: which level is next to which, and which forbids what.

use isolde_spec::{Anomaly, CATALOGUE, Level};

/// The levels that imply this one directly.
pub fn next_stronger(level: Level) -> Vec<Level> {
    Level::ALL.into_iter().filter(|other| other.next_weaker().contains(&level)).collect()
}

/// The levels that forbid an anomaly, weakest first as far as they compare.
pub fn forbidding(anomaly: Anomaly) -> Vec<Level> {
    Level::ALL.into_iter().filter(|level| anomaly.forbidden_at(*level)).collect()
}

/// The anomalies that a level forbids and that none of the next weaker ones does.
pub fn newly_forbidden(level: Level) -> Vec<Anomaly> {
    let before = |anomaly: Anomaly| level.next_weaker().iter().any(|l| anomaly.forbidden_at(*l));
    all().filter(|anomaly| anomaly.forbidden_at(level) && !before(*anomaly)).collect()
}

/// The anomalies that a level allows.
pub(super) fn allowed(level: Level) -> Vec<Anomaly> {
    all().filter(|anomaly| !anomaly.forbidden_at(level)).collect()
}

/// Every anomaly, the most basic first.
pub(super) fn all() -> impl Iterator<Item = Anomaly> {
    CATALOGUE.iter().map(|entry| entry.anomaly)
}

/// All levels, each above those that it implies. A test checks that none is missing, and that none
/// stands below one that it implies.
pub(super) const DRAWING: &str = r"
                    linearizable
                    /          \
     strict-serializable    sequential
         /            \      /
strong-snapshot-       serializable
    isolation         /            \
         \           /              \
       snapshot-isolation      repeatable-read
          /            \         /
       prefix        cursor-stability
          |                 |
       causal               |
          |                 |
     read-atomic            |
          |                 |
    read-committed          |
              \            /
                   pl-2
                     |
             read-uncommitted
";

/// A level between its neighbours: the stronger ones above, the weaker ones below. No level has
/// more than two of either (a test checks it).
pub(super) fn neighbours(level: Level) -> String {
    let above = next_stronger(level);
    let below = level.next_weaker();
    let rows = [row(&above), row(&[level]), row(below)];
    let width = rows.iter().map(String::len).max().unwrap_or(0);
    let centred = |row: &str| format!("{}{row}", " ".repeat((width - row.len()) / 2));
    let mut lines = Vec::new();
    if !above.is_empty() {
        lines.push(centred(&rows[0]));
        lines.push(centred(if above.len() == 1 { "|" } else { r"\         /" }));
    }
    lines.push(centred(&rows[1]));
    if !below.is_empty() {
        lines.push(centred(if below.len() == 1 { "|" } else { r"/         \" }));
        lines.push(centred(&rows[2]));
    }
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn row(levels: &[Level]) -> String {
    levels.iter().map(|level| level.name()).collect::<Vec<_>>().join("     ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_has_every_level_above_what_it_implies() {
        let drawing = DRAWING.replace("strong-snapshot-", "strong-snapshot-isolation");
        let line = |level: Level| {
            let has = |line: &str| line.split_whitespace().any(|word| word == level.name());
            drawing.lines().position(has).unwrap_or_else(|| panic!("{level} is not drawn"))
        };
        for level in Level::ALL {
            assert!(level.next_weaker().iter().all(|weaker| line(*weaker) > line(level)), "{level}");
        }
    }

    #[test]
    fn no_level_has_more_than_two_neighbours_on_a_side() {
        for level in Level::ALL {
            assert!(level.next_weaker().len() <= 2 && next_stronger(level).len() <= 2, "{level}");
        }
    }

    #[test]
    fn every_anomaly_is_newly_forbidden_where_the_catalogue_says() {
        for anomaly in all() {
            assert!(newly_forbidden(anomaly.entry().forbidden_from).contains(&anomaly)
                || anomaly.entry().also_from.is_some(), "{anomaly}");
        }
    }
}
