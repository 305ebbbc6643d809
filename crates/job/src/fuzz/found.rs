//! What was found, and what it is called.

use std::path::PathBuf;

use isolde_history::History;
use isolde_report::{Decided, Style, Telling, to_text};
use isolde_spec::{Level, Promise, Verdict};
use isolde_sql::case::Case;
use isolde_sql::plan::Plan;
use isolde_sql::work::Suspect;
use isolde_target::Offer;

/// Something that was found in a case.
pub struct Found {
    /// The number of the case.
    pub number: u64,
    /// The case.
    pub case: Case,
    /// The steps that were done when it was seen.
    pub plan: Plan,
    /// What is not as it has to be.
    pub what: What,
    /// Which findings are the same.
    pub signature: String,
    /// How often it was found.
    pub times: u64,
    /// Whether the server's makers document it: then it is counted, and is no finding.
    pub documented: bool,
    /// The folder that it went to.
    pub folder: Option<PathBuf>,
}

/// What is not as it has to be.
pub enum What {
    /// An oracle of SQL says so.
    Sql(Suspect),
    /// The level is broken, as the history shows.
    Isolation(Box<(History, Verdict)>),
}

/// What a level promises of a history without times.
pub(super) fn promise(offer: Offer) -> Promise {
    Promise::of(match offer.promises {
        Level::StrictSerializable => Level::Serializable,
        Level::StrongSnapshotIsolation => Level::SnapshotIsolation,
        level => level,
    })
}

/// The signature of a level that is broken: the names of what was found.
pub(super) fn isolation_signature(verdict: &Verdict) -> String {
    let mut names: Vec<&str> = verdict.witnesses().iter().map(|w| w.anomaly.name()).collect();
    names.sort_unstable();
    names.dedup();
    format!("isolation: {}", names.join(" "))
}

/// A verdict for people.
pub(super) fn told(history: &History, verdict: &Verdict) -> String {
    let (verdict, holds_without_session_order) = (verdict.clone(), false);
    let decided = Decided { verdict, holds_without_session_order, seconds: 0.0 };
    to_text(history, &decided, &Telling { all: true, style: Style::default(), explain: None })
}
