//! The pages of anomalies, in files by what goes wrong.

mod conflicts;
mod cycles;
mod intervals;
mod lists;
mod local;
mod missed;
mod nowhere;
mod operations;
mod snapshots;
mod timestamps;

use isolde_spec::{Anomaly, Profile};

use super::page::AnomalyPage;

/// All of them.
static PAGES: [&[AnomalyPage]; 10] = [
    &local::PAGES,
    &nowhere::PAGES,
    &lists::PAGES,
    &cycles::PAGES,
    &missed::PAGES,
    &conflicts::PAGES,
    &operations::PAGES,
    &timestamps::PAGES,
    &snapshots::PAGES,
    &intervals::PAGES,
];

/// The page of an anomaly.
pub(super) fn page(anomaly: Anomaly) -> &'static AnomalyPage {
    // Every anomaly has a page (a test checks it); the first stands in for none.
    pages().find(|page| page.anomaly == anomaly).unwrap_or(&local::PAGES[0])
}

impl AnomalyPage {
    /// The server whose mechanisms its history is held against, if only client intervals show the anomaly.
    pub fn profile(&self) -> Option<&'static Profile> {
        Profile::named(intervals::profile(self.anomaly)?).ok()
    }
}

/// Every page.
pub(super) fn pages() -> impl Iterator<Item = &'static AnomalyPage> {
    PAGES.iter().flat_map(|pages| pages.iter())
}
