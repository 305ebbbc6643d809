//! What was found to be wrong: witnesses, and how many there are.

use isolde_spec::{Counted, Witness};

/// Witnesses, how many there are of each kind, and what the search counted.
#[derive(Default)]
pub(crate) struct Violations {
    pub(crate) witnesses: Vec<Witness>,
    pub(crate) counts: Vec<Counted>,
    pub(crate) figures: Vec<(&'static str, u64)>,
    /// What was counted without leaving out any, and where each of them is.
    pub(crate) places: Vec<(&'static str, Vec<u32>)>,
}

/// The name of the transactions that are in forbidden cycles, among figures.
pub(crate) const TXNS_IN_CYCLES: &str = "transactions in cycles";
/// The name of the anti-dependencies between them.
pub(crate) const ANTI_IN_CYCLES: &str = "anti-dependencies in cycles";

impl Violations {
    /// Witnesses, the most basic first: so many of each kind are kept, and all are counted.
    pub(crate) fn of(witnesses: Vec<Witness>, keep: usize) -> Violations {
        let mut found = Violations::default();
        for witness in witnesses {
            let at = found.counts.iter().position(|c| c.anomaly == witness.anomaly);
            let at = at.unwrap_or_else(|| {
                let (anomaly, positions) = (witness.anomaly, Vec::new());
                found.counts.push(Counted { anomaly, count: 0, at_least: true, positions });
                found.counts.len() - 1
            });
            found.counts[at].count += 1;
            found.counts[at].positions.push(witness.position() as u32);
            if found.counts[at].count <= keep as u64 {
                found.witnesses.push(witness);
            }
        }
        found.counts.iter_mut().for_each(|counted| counted.positions.sort_unstable());
        found
    }

    pub(crate) fn append(&mut self, mut other: Violations) {
        self.witnesses.append(&mut other.witnesses);
        self.counts.append(&mut other.counts);
    }
}
