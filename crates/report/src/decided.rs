//! A verdict, with what is known beside it.

use isolde_spec::{By, Level, Summary, Verdict};

/// A verdict on one promise, and what came with it.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether session order alone is what the level breaks.
    pub holds_without_session_order: bool,
    /// How long it took. Levels of one history share work: the first pays for it. Told to machines
    /// only, so that a text is the same every time.
    pub seconds: f64,
}

/// The verdict on a level by values: that by the server's own word is another matter.
pub(crate) fn by_values(level: Level, decided: &[Decided]) -> Option<&Decided> {
    let asked = |d: &&Decided| {
        let promise = d.verdict.promise;
        promise.level == level && promise.by == By::Values
    };
    decided.iter().find(asked)
}

/// The verdicts by what the server itself says: timestamps, snapshots.
pub(crate) fn by_the_server(decided: &[Decided]) -> impl Iterator<Item = &Decided> {
    decided.iter().filter(|d| d.verdict.promise.by != By::Values)
}

/// The violations that say most in the fewest words: that by the server's own word, if there is one, and that by
/// values.
pub(crate) fn plainest(decided: &[Decided]) -> impl Iterator<Item = &Decided> {
    let said = |d: &&Decided| {
        d.verdict
            .witnesses()
            .first()
            .map_or((usize::MAX, 0), |w| (w.anomaly.rank(), w.involved().count()))
    };
    let violated = by_the_server(decided).filter(|d| !d.verdict.witnesses().is_empty());
    let level = Summary::of(decided.iter().map(|d| &d.verdict)).plainest;
    let valued = level.and_then(|level| by_values(level, decided));
    violated.min_by_key(said).into_iter().chain(valued)
}
