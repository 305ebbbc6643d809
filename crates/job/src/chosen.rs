//! Which evidence a history is judged by: what was asked for, or what is there.

use anyhow::{Result, bail};
use isolde_check::timestamps::Supply;
use isolde_history::History;
use isolde_report::Decided;
use isolde_spec::{By, Level};

/// What is asked of a history.
pub(crate) struct Chosen {
    /// Whether levels are asked by values.
    pub(crate) values: bool,
    /// The levels that are asked by timestamps.
    pub(crate) timed: Vec<Level>,
    /// Why timestamps that are there are not used.
    not_used: Option<String>,
}

/// What has rules by timestamps.
const TIMED: [Level; 2] = [Level::SnapshotIsolation, Level::Serializable];

impl Chosen {
    pub(crate) fn new(history: &History, levels: &[Level], evidence: &[By]) -> Result<Chosen> {
        if evidence.is_empty() {
            return Ok(Chosen::by_what_is_there(history, levels));
        }
        let values = evidence.contains(&By::Values);
        let timed = match evidence.contains(&By::Timestamps) {
            true => asked_for(history, levels)?,
            false => Vec::new(),
        };
        Ok(Chosen { values, timed, not_used: None })
    }

    /// By values always, and by timestamps if all that is needed is there.
    fn by_what_is_there(history: &History, levels: &[Level]) -> Chosen {
        let mut chosen = Chosen { values: true, timed: Vec::new(), not_used: None };
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
                Supply::Whole => chosen.timed.push(level),
                Supply::None | Supply::NoRules => {}
                lacking @ (Supply::Partial { .. } | Supply::NotSerial) => {
                    chosen.not_used = Some(lacking.reason(level));
                }
            }
        }
        chosen
    }

    /// Says why timestamps were not used, beside the first verdict.
    pub(crate) fn say_what_was_not_used(self, decided: &mut [Decided]) {
        if let (Some(why), Some(first)) = (self.not_used, decided.first_mut()) {
            first.verdict.notes.push(format!("timestamps are not used: {why}"));
        }
    }
}

/// The part of a level that timestamps can judge. Serializability does not imply snapshot isolation here:
/// with locks, transactions that wrote one key may overlap.
fn timed_part(level: Level) -> Option<Level> {
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
        Ok((chosen.values, chosen.timed))
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
