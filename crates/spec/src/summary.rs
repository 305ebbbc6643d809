//! What verdicts on several levels say together.

use crate::level::{By, Level};
use crate::verdict::Verdict;

/// Where the line runs between the levels that hold and the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The strongest levels that hold. They may be two: neither of serializability and strong
    /// snapshot isolation implies the other.
    pub strongest: Vec<Level>,
    /// The levels that were asked about and follow from none of those, weakest first.
    pub others: Vec<Standing>,
    /// The level whose first witness says most in the fewest words: no weaker one of the axioms is
    /// violated.
    pub plainest: Option<Level>,
}

/// How a level stands that is not shown to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The level.
    pub level: Level,
    /// How it stands.
    pub how: How,
}

/// Why a level is not shown to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its verdict has witnesses.
    Violated,
    /// Its verdict is open, but a weaker level is violated.
    ViolatedAs(Level),
    /// Its verdict is open.
    Unknown,
}

impl Summary {
    /// Of verdicts on different levels of one history, in any order. Promises that are judged by more
    /// than values stand for themselves, and are left out.
    pub fn of<'v>(verdicts: impl IntoIterator<Item = &'v Verdict>) -> Summary {
        let mut verdicts: Vec<&Verdict> = verdicts.into_iter().collect();
        verdicts.retain(|verdict| verdict.promise.by == By::Values);
        verdicts.sort_by_key(|v| v.promise.level);
        let levels = |wanted: Option<bool>| {
            let those = verdicts.iter().filter(move |v| v.holds() == wanted);
            those.map(|v| v.promise.level).collect::<Vec<Level>>()
        };
        let (hold, violated) = (levels(Some(true)), levels(Some(false)));
        let strongest = |level: &Level| !hold.iter().any(|o| o != level && o.implies(*level));
        let mut others = Vec::new();
        for verdict in &verdicts {
            let level = verdict.promise.level;
            let weaker = violated.iter().find(|weaker| level.implies(**weaker));
            let how = match (verdict.holds(), weaker) {
                (Some(true), _) => continue,
                (Some(false), _) => How::Violated,
                (None, Some(weaker)) => How::ViolatedAs(*weaker),
                (None, None) if hold.iter().any(|stronger| stronger.implies(level)) => continue,
                (None, None) => How::Unknown,
            };
            others.push(Standing { level, how });
        }
        // Most people mean the levels of the axioms; Adya's serve where nothing else is violated.
        let shown: Vec<Level> = match violated.iter().any(|level| !level.is_adya()) {
            true => violated.iter().copied().filter(|level| !level.is_adya()).collect(),
            false => violated.clone(),
        };
        let weakest = |level: &Level| {
            shown.contains(level) && !shown.iter().any(|o| o != level && level.implies(*o))
        };
        let plainest =
            verdicts.iter().filter_map(|v| Some((v.promise.level, v.witnesses().first()?)));
        Summary {
            strongest: hold.iter().copied().filter(strongest).collect(),
            plainest: plainest
                .filter(|(level, _)| weakest(level))
                .min_by_key(|(_, w)| (w.anomaly.rank(), w.involved().count()))
                .map(|(level, _)| level),
            others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anomaly, Answer, Procedure, Promise, Witness};

    fn verdict(level: Level, answer: Answer) -> Verdict {
        let (counts, notes) = (Vec::new(), Vec::new());
        let procedure = Procedure::default();
        Verdict { promise: Promise::of(level), answer, counts, notes, procedure }
    }

    fn violated(anomaly: Anomaly) -> Answer {
        Answer::Violated(vec![Witness::of(anomaly)])
    }

    #[test]
    fn two_levels_may_be_the_strongest() {
        let summary = Summary::of(&[
            verdict(Level::StrictSerializable, Answer::Unknown(String::new())),
            verdict(Level::Serializable, Answer::Holds),
            verdict(Level::StrongSnapshotIsolation, Answer::Holds),
            verdict(Level::SnapshotIsolation, Answer::Holds),
            verdict(Level::Causal, Answer::Unknown(String::new())),
        ]);
        assert_eq!(summary.strongest, [Level::StrongSnapshotIsolation, Level::Serializable]);
        let open = Standing { level: Level::StrictSerializable, how: How::Unknown };
        assert_eq!(summary.others, [open], "causal follows");
        assert_eq!(summary.plainest, None);
    }

    #[test]
    fn what_a_weaker_level_forbids_a_stronger_one_forbids() {
        let summary = Summary::of(&[
            verdict(Level::StrictSerializable, Answer::Unknown(String::new())),
            verdict(Level::SnapshotIsolation, violated(Anomaly::LostUpdate)),
            verdict(Level::RepeatableRead, violated(Anomaly::WriteSkew)),
            verdict(Level::Serializable, violated(Anomaly::AbortedRead)),
        ]);
        assert!(summary.strongest.is_empty());
        let how: Vec<How> = summary.others.iter().map(|o| o.how).collect();
        let as_weaker = How::ViolatedAs(Level::RepeatableRead);
        assert_eq!(how, [How::Violated, How::Violated, How::Violated, as_weaker]);
        assert_eq!(summary.plainest, Some(Level::SnapshotIsolation));
    }
}
