//! Which evidence a history is judged by: what was asked for, or what is there.

use anyhow::{Result, bail};
use isolde_check::snapshots::SnapshotSupply;
use isolde_check::timestamps::Supply;
use isolde_history::History;
use isolde_report::Decided;
use isolde_spec::{By, Level, Promise};

/// What is asked of a history.
pub(crate) struct Chosen {
    /// Whether levels are asked by values.
    pub(crate) values: bool,
    /// What is asked by what the server says: by its timestamps, by its snapshots.
    pub(crate) by_the_server: Vec<Promise>,
    /// What the server says that is not used, and why.
    not_used: Vec<(By, String)>,
}

/// What has rules by timestamps.
const TIMED: [Level; 2] = [Level::SnapshotIsolation, Level::Serializable];

impl Chosen {
    pub(crate) fn new(history: &History, levels: &[Level], evidence: &[By]) -> Result<Chosen> {
        if evidence.is_empty() {
            return Ok(Chosen::by_what_is_there(history, levels));
        }
        let mut by_the_server = Vec::new();
        if evidence.contains(&By::Timestamps) {
            by_the_server
                .extend(asked_for(history, levels)?.into_iter().map(Promise::by_timestamps));
        }
        if evidence.contains(&By::Snapshots) {
            by_the_server
                .extend(shown_for(history, levels)?.into_iter().map(Promise::by_snapshots));
        }
        Ok(Chosen { values: evidence.contains(&By::Values), by_the_server, not_used: Vec::new() })
    }

    /// By values always, and by timestamps and snapshots if all that is needed is there.
    fn by_what_is_there(history: &History, levels: &[Level]) -> Chosen {
        let mut chosen = Chosen { values: true, by_the_server: Vec::new(), not_used: Vec::new() };
        chosen.timestamps_that_are_there(history, levels);
        chosen.snapshots_that_are_there(history, levels);
        chosen
    }

    fn timestamps_that_are_there(&mut self, history: &History, levels: &[Level]) {
        let mut wanted: Vec<Level> = levels.iter().filter_map(|level| timed_part(*level)).collect();
        // Where commit order is serial, transactions that wrote one key may overlap and be right: such a
        // server keeps snapshot isolation by values, and does not claim it by timestamps.
        let serial = Supply::of(history, Level::Serializable) == Supply::Whole;
        if serial {
            wanted.retain(|level| *level != Level::SnapshotIsolation);
        }
        if levels.is_empty() {
            wanted.push(if serial { Level::Serializable } else { Level::SnapshotIsolation });
        }
        wanted.sort_unstable();
        wanted.dedup();
        for level in wanted {
            match Supply::of(history, level) {
                Supply::Whole => self.by_the_server.push(Promise::by_timestamps(level)),
                Supply::None | Supply::NoRules => {}
                lacking @ (Supply::Partial { .. } | Supply::NotSerial) => {
                    self.not_used.push((By::Timestamps, lacking.reason(level)));
                }
            }
        }
    }

    fn snapshots_that_are_there(&mut self, history: &History, levels: &[Level]) {
        for level in shown_parts(levels) {
            match SnapshotSupply::of(history, level) {
                SnapshotSupply::Whole => self.by_the_server.push(Promise::by_snapshots(level)),
                SnapshotSupply::None | SnapshotSupply::NoRules => {}
                lacking
                @ (SnapshotSupply::Partial { .. } | SnapshotSupply::SharedNumber { .. }) => {
                    self.not_used.push((By::Snapshots, lacking.reason(level)));
                }
            }
        }
    }

    /// Says why timestamps or snapshots were not used, beside the first verdict.
    pub(crate) fn say_what_was_not_used(self, decided: &mut [Decided]) {
        let Some(first) = decided.first_mut() else { return };
        for (by, why) in self.not_used {
            first.verdict.notes.push(format!("{} are not used: {why}", by.name()));
        }
    }
}

/// What has rules by snapshots.
const SHOWN: [Level; 2] = [Level::ReadCommitted, Level::SnapshotIsolation];

/// The parts of levels that snapshots can judge: all that has rules if no level is named. What is stronger than
/// snapshot isolation is snapshot isolation and more, and the rest of it is judged by values.
pub(crate) fn shown_parts(levels: &[Level]) -> Vec<Level> {
    let wanted = |shown: &Level| levels.is_empty() || levels.iter().any(|l| l.implies(*shown));
    SHOWN.into_iter().filter(wanted).collect()
}

/// The levels to ask by snapshots, because that was asked for.
fn shown_for(history: &History, levels: &[Level]) -> Result<Vec<Level>> {
    let parts = shown_parts(levels);
    let whole = |level: &Level| SnapshotSupply::of(history, *level) == SnapshotSupply::Whole;
    let there: Vec<Level> = parts.iter().copied().filter(whole).collect();
    if there.is_empty() {
        // The strongest part is what was meant.
        let level = parts.last().copied().or(levels.first().copied());
        let level = level.unwrap_or(Level::SnapshotIsolation);
        bail!(
            "{level} cannot be judged by snapshots: {}",
            SnapshotSupply::of(history, level).reason(level)
        );
    }
    Ok(there)
}

/// The part of a level that timestamps can judge. Serializability does not imply snapshot isolation here:
/// with locks, transactions that wrote one key may overlap.
pub(crate) fn timed_part(level: Level) -> Option<Level> {
    TIMED.into_iter().rev().find(|timed| level.implies(*timed))
}

/// The levels to ask by timestamps, because that was asked for.
fn asked_for(history: &History, levels: &[Level]) -> Result<Vec<Level>> {
    let whole = |level: &Level| Supply::of(history, *level) == Supply::Whole;
    if levels.is_empty() {
        let timed: Vec<Level> = TIMED.into_iter().filter(whole).collect();
        if timed.is_empty() {
            let level = Level::SnapshotIsolation;
            bail!(
                "it cannot be judged by timestamps: {}",
                Supply::of(history, level).reason(level)
            );
        }
        return Ok(timed);
    }
    if let Some(level) = levels.iter().find(|level| !whole(level)) {
        let why = Supply::of(history, *level).reason(*level);
        bail!("{level} cannot be judged by timestamps: {why}");
    }
    Ok(levels.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::notation::parse;

    fn chosen(text: &str, levels: &[Level], evidence: &[By]) -> Result<(bool, Vec<Level>)> {
        let chosen = Chosen::new(&parse(text)?, levels, evidence)?;
        let levels = chosen.by_the_server.iter().map(|promise| promise.level).collect();
        Ok((chosen.values, levels))
    }

    #[test]
    fn timestamps_are_used_where_they_are_whole() {
        let (si, ser) = (Level::SnapshotIsolation, Level::Serializable);
        let whole = "a: w(x,1) ts(1,2)";
        let serial = "meta commit-order serial\na: w(x,1) ts(1,2)";
        let auto = |text: &str, levels: &[Level]| chosen(text, levels, &[]).unwrap();
        assert_eq!(auto("a: w(x,1)", &[si]), (true, vec![]));
        assert_eq!(auto(whole, &[si]), (true, vec![si]));
        assert_eq!(auto(whole, &[]), (true, vec![si]));
        assert_eq!(auto(whole, &[ser]), (true, vec![]));
        assert_eq!(auto(serial, &[]), (true, vec![ser]));
        assert_eq!(auto(serial, &[si]), (true, vec![]));
        assert_eq!(auto(serial, &[Level::StrictSerializable]), (true, vec![ser]));
        assert_eq!(auto(whole, &[Level::Causal]), (true, vec![]));
        assert_eq!(auto("a: w(x,1) ts(1,2)\na: w(x,2)", &[si]), (true, vec![]));
    }

    #[test]
    fn snapshots_are_used_where_they_are_whole() {
        let (rc, si) = (Level::ReadCommitted, Level::SnapshotIsolation);
        let of_txn = "a: w(x,1) {xid=1,snapshot={xmin:1,xmax:1,xip:[]}}";
        let of_stmt = "a: [r(x,_)]{snapshot={xmin:1,xmax:1,xip:[]}}";
        let auto = |text: &str, levels: &[Level]| chosen(text, levels, &[]).unwrap();
        assert_eq!(auto(of_txn, &[]), (true, vec![si]));
        assert_eq!(auto(of_txn, &[Level::StrictSerializable]), (true, vec![si]));
        assert_eq!(auto(of_txn, &[rc]), (true, vec![]));
        assert_eq!(auto(of_stmt, &[]), (true, vec![rc]));
        assert_eq!(auto(of_stmt, &[Level::Serializable]), (true, vec![rc]));
        let by = [By::Snapshots];
        assert_eq!(chosen(of_txn, &[Level::Serializable], &by).unwrap(), (false, vec![si]));
        for (text, level) in [("a: w(x,1)", si), (of_txn, rc), (of_txn, Level::Pl2)] {
            assert!(chosen(text, &[level], &by).is_err(), "{text}");
        }
    }

    #[test]
    fn evidence_that_is_missing_is_refused() {
        let (si, by) = (Level::SnapshotIsolation, [By::Timestamps]);
        assert_eq!(chosen("a: w(x,1) ts(1,2)", &[si], &by).unwrap(), (false, vec![si]));
        for (text, level) in [
            ("a: w(x,1)", si),
            ("a: w(x,1) ts(1,2)\na: w(x,2)", si),
            ("a: w(x,1) ts(1,2)", Level::Serializable),
            ("a: w(x,1) ts(1,2)", Level::Causal),
        ] {
            assert!(chosen(text, &[level], &by).is_err(), "{text}");
        }
        let error = chosen("a: w(x,1) ts(1,2)\na: w(x,2)", &[si], &by).unwrap_err().to_string();
        assert!(error.contains("1 of 2 committed transactions lack"), "{error}");
    }
}
