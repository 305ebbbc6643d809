//! A verdict, with what is known beside it.

use isolde_spec::Verdict;

/// A verdict on one level, and what came with it.
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
