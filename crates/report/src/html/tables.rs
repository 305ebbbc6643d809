//! What witnesses have in common, kept once each and referred to by number.

use isolde_spec::Anomaly;

use super::shared::Shared;

/// What has been gathered from all witnesses.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) texts: Shared,
    pub(super) txns: Shared,
    /// Bytes of transactions in full.
    pub(super) line_bytes: usize,
    /// Witnesses, without the level that they break.
    pub(super) bodies: Shared,
    /// What many witnesses have in common: dependencies, rows of time lines, and the texts of
    /// pictures, without names and times.
    pub(super) shapes: Shared,
    /// Pictures, without names.
    pub(super) pictures: Shared,
    pub(super) anomalies: Vec<Anomaly>,
}

impl Tables {
    /// The number of a text.
    pub(super) fn text(&mut self, text: &str) -> usize {
        self.texts.number(text)
    }

    /// The number of a transaction.
    pub(super) fn txn(&mut self, json: &str) -> usize {
        let known = self.txns.len();
        let at = self.txns.number(json);
        if at == known {
            self.line_bytes += json.len();
        }
        at
    }

    /// The number of an anomaly.
    pub(super) fn anomaly(&mut self, anomaly: Anomaly) -> usize {
        self.anomalies.iter().position(|known| *known == anomaly).unwrap_or_else(|| {
            self.anomalies.push(anomaly);
            self.anomalies.len() - 1
        })
    }
}
