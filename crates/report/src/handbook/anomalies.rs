//! The pages of anomalies.

use isolde_spec::Anomaly;

use super::AnomalyPage;

/// One page for each.
pub(super) static PAGES: &[AnomalyPage] = &[AnomalyPage {
    anomaly: Anomaly::LostUpdate,
    also_called: &["P4"],
    definition: "",
    breach: "",
    harm: "",
    history: "",
    shown_by: &[],
    reproduce: &[],
}];
