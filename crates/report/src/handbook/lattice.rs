//! What follows from the catalogue: which level is next to which, and which forbids what.

use isolde_spec::{Anomaly, By, CATALOGUE, Finding, Level, Profile};

/// The levels that imply this one directly.
pub fn next_stronger(level: Level) -> Vec<Level> {
    Level::ALL.into_iter().filter(|other| other.next_weaker().contains(&level)).collect()
}

/// What has to be known beside values for an anomaly to be seen: by values no level knows it then.
pub(super) fn shown_only_by(anomaly: Anomaly) -> Option<By> {
    match anomaly.entry().finding {
        Finding::Timestamps => Some(By::Timestamps),
        Finding::Snapshots => Some(By::Snapshots),
        Finding::Intervals => Some(By::Intervals),
        _ => None,
    }
}

/// Whether only the server's timestamps or snapshots, or client intervals, show an anomaly.
pub(super) fn is_timed(anomaly: Anomaly) -> bool {
    shown_only_by(anomaly).is_some()
}

/// Whether a level forbids an anomaly by values.
fn forbids(level: Level, anomaly: Anomaly) -> bool {
    !is_timed(anomaly) && anomaly.forbidden_at(level)
}

/// The levels that forbid an anomaly by values, weakest first as far as they compare.
pub fn forbidding(anomaly: Anomaly) -> Vec<Level> {
    Level::ALL.into_iter().filter(|level| forbids(*level, anomaly)).collect()
}

/// The levels that forbid by timestamps what only they show. In commit order, transactions have no
/// start that could be wrong or overlap.
pub fn forbidding_by_timestamps(anomaly: Anomaly) -> Vec<Level> {
    match anomaly {
        Anomaly::StaleRead | Anomaly::UncommittedVersionRead => {
            vec![Level::SnapshotIsolation, Level::Serializable]
        }
        _ if shown_only_by(anomaly) == Some(By::Timestamps) => vec![Level::SnapshotIsolation],
        _ => Vec::new(),
    }
}

/// The levels that forbid an anomaly by snapshots, of those that only the server's word shows.
pub fn forbidding_by_snapshots(anomaly: Anomaly) -> Vec<Level> {
    match anomaly {
        Anomaly::StaleRead | Anomaly::UncommittedVersionRead | Anomaly::BadSnapshot => {
            vec![Level::ReadCommitted, Level::SnapshotIsolation]
        }
        Anomaly::ConcurrentWrites | Anomaly::StaleSnapshot => vec![Level::SnapshotIsolation],
        _ => Vec::new(),
    }
}

/// The levels that forbid by intervals what only they show: of those that profiles of servers promise.
pub fn forbidding_by_intervals(anomaly: Anomaly) -> Vec<Level> {
    if shown_only_by(anomaly) != Some(By::Intervals) {
        return Vec::new();
    }
    let promised = |level: &Level| Profile::builtin().iter().any(|it| it.promises == *level);
    Level::ALL.into_iter().filter(|l| promised(l) && anomaly.forbidden_at(*l)).collect()
}

/// What such an anomaly means for serializability by timestamps, if that is not that it is violated.
pub(super) fn beside(anomaly: Anomaly) -> Option<&'static str> {
    match anomaly {
        Anomaly::TimestampTie => Some("serializable by timestamps is left open by it"),
        Anomaly::BadTimestamps | Anomaly::ConcurrentWrites => {
            Some("serializable by timestamps allows it: what counts there is commit order")
        }
        _ => None,
    }
}

/// The levels that allow an anomaly. What is wrong with single operations is no matter of levels of
/// transactions, which have other names for it.
pub fn allowing(anomaly: Anomaly) -> Vec<Level> {
    let single = anomaly.entry().finding == Finding::Orders;
    // At repeatable read it is a cycle with an anti-dependency, and has the name of that.
    let renamed = |l: &Level| anomaly == Anomaly::PrefixViolation && *l == Level::RepeatableRead;
    let allows = |l: &Level| !forbids(*l, anomaly) && (!single || l.of_operations()) && !renamed(l);
    Level::ALL.into_iter().filter(allows).collect()
}

/// The anomalies that a level forbids and a weaker one allows.
pub fn beyond(level: Level, weaker: Level) -> Vec<Anomaly> {
    all().filter(|a| forbids(level, *a) && !forbids(weaker, *a)).collect()
}

/// The anomalies that a level forbids.
fn forbidden(level: Level) -> Vec<Anomaly> {
    all().filter(|anomaly| forbids(level, *anomaly)).collect()
}

/// The anomalies that a level allows.
fn allowed(level: Level) -> Vec<Anomaly> {
    all().filter(|a| !is_timed(*a) && allowing(*a).contains(&level)).collect()
}

/// What a level still allows: the anomalies, and the variants of others that need an order which it
/// does not count.
pub(super) fn leaves(level: Level, list: &dyn Fn(&[Anomaly]) -> String) -> String {
    let sessionless = level == Level::ReadUncommitted || level.is_adya();
    let more = match (level.of_operations() || level.needs_real_time(), sessionless) {
        (true, _) => "",
        (false, true) => "every cycle that needs session order or real time",
        (false, false) => "every cycle that needs real time",
    };
    match (list(&allowed(level)), more) {
        (names, "") if names.is_empty() => "nothing".to_owned(),
        (names, more) if names.is_empty() => more.to_owned(),
        (names, "") => names,
        (names, more) => format!("{names}; and {more}"),
    }
}

/// What a level forbids beyond the next weaker ones, each with a name; what nothing is named after
/// is said in words.
pub(super) fn gains(level: Level, list: &dyn Fn(&[Anomaly]) -> String) -> Vec<(String, String)> {
    if level.next_weaker().is_empty() {
        return vec![("forbids".to_owned(), list(&forbidden(level)))];
    }
    let gain = |weaker: &Level| {
        let more = beyond(level, *weaker);
        let text = match (more.is_empty(), level.needs_real_time()) {
            (false, _) => list(&more),
            (true, true) => "nothing by name, but every cycle that needs real time".to_owned(),
            (true, false) => "nothing: it is the same, asked of single operations".to_owned(),
        };
        (format!("beyond {weaker}"), text)
    };
    level.next_weaker().iter().map(gain).collect()
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
            /           \       /
strong-snapshot-isolation  serializable
            \           /       \
       snapshot-isolation     repeatable-read
            /           \       /
         prefix      cursor-stability
            |               |
          causal            |
            |               |
       read-atomic          |
            |               |
      read-committed        |
               \           /
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
        let line = |level: Level| {
            let has = |line: &str| line.split_whitespace().any(|word| word == level.name());
            DRAWING.lines().position(has).unwrap_or_else(|| panic!("{level} is not drawn"))
        };
        for level in Level::ALL {
            assert!(
                level.next_weaker().iter().all(|weaker| line(*weaker) > line(level)),
                "{level}"
            );
        }
    }

    #[test]
    fn no_level_has_more_than_two_neighbours_on_a_side() {
        for level in Level::ALL {
            assert!(level.next_weaker().len() <= 2 && next_stronger(level).len() <= 2, "{level}");
        }
    }

    #[test]
    fn what_a_level_adds() {
        use Anomaly::{GNonadjacent, GSingle, LostUpdate};
        let more = beyond(Level::SnapshotIsolation, Level::Prefix);
        assert_eq!(more, [LostUpdate, GSingle, GNonadjacent]);
        assert_eq!(beyond(Level::StrictSerializable, Level::Serializable), []);
        assert_eq!(allowing(Anomaly::NotLinearizable), [Level::Sequential]);
    }
}
