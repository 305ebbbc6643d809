//! What is counted.

use hashbrown::HashSet;
use isolde_spec::Anomaly;

use crate::bodies::TxnRef;
use crate::pack::Pack;

/// Of so many transactions that were too late it is remembered which they were, so that each counts once.
const REMEMBERED: usize = 1 << 12;

/// What is counted beside the state.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    by_anomaly: Vec<(Anomaly, i64)>,
    pub(crate) corrections: u64,
    pub(crate) doubts: u64,
    pub(crate) first_doubt: Option<String>,
    pub(crate) too_late: u64,
    pub(crate) unstamped: u64,
    pub(crate) flips: u64,
    pub(crate) flipped: u64,
    pub(crate) flipped_txns: u64,
    pub(crate) rectified: Vec<u64>,
    pub(crate) longest_change: i64,
    /// The last ones that were too late.
    were_too_late: HashSet<TxnRef>,
}

impl Pack for Figures {
    fn pack(&self, out: &mut Vec<u8>) {
        self.by_anomaly.clone().pack(out);
        let Figures { corrections, doubts, too_late, unstamped, flips, flipped, .. } = *self;
        let flipped = [flips, flipped, self.flipped_txns];
        [&[corrections, doubts, too_late, unstamped], &flipped[..]].concat().pack(out);
        self.first_doubt.pack(out);
        self.rectified.pack(out);
        self.longest_change.pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Figures> {
        let by_anomaly = Vec::<(Anomaly, i64)>::unpack(input)?;
        let [corrections, doubts, too_late, unstamped, flips, flipped, flipped_txns] =
            Vec::unpack(input)?.try_into().ok()?;
        Some(Figures {
            by_anomaly,
            corrections,
            doubts,
            too_late,
            unstamped,
            flips,
            flipped,
            flipped_txns,
            first_doubt: Option::unpack(input)?,
            rectified: Vec::unpack(input)?,
            longest_change: i64::unpack(input)?,
            were_too_late: HashSet::new(),
        })
    }
}

impl Figures {
    /// Counts a violation more or less.
    pub(crate) fn count(&mut self, anomaly: Anomaly, by: i64) {
        match self.by_anomaly.iter_mut().find(|(name, _)| *name == anomaly) {
            Some((_, count)) => *count += by,
            None => self.by_anomaly.push((anomaly, by)),
        }
    }

    /// Counts a doubt more or less.
    pub(crate) fn doubt(&mut self, is: bool, why: Option<&str>) {
        if is {
            self.doubts += 1;
            if self.first_doubt.is_none() {
                self.first_doubt = why.map(str::to_owned);
            }
        } else {
            self.doubts = self.doubts.saturating_sub(1);
        }
    }

    /// Counts a transaction that needed what is not kept any more. It may need several things, and be asked about again.
    pub(crate) fn too_late(&mut self, txn: TxnRef) {
        if self.were_too_late.len() == REMEMBERED {
            self.were_too_late.clear();
        }
        self.too_late += u64::from(self.were_too_late.insert(txn));
    }

    /// A verdict changed so many milliseconds after its transaction had come.
    pub(crate) fn change(&mut self, after: i64, is_right: bool) {
        self.flips += 1;
        self.came_after(after);
        if is_right {
            let class = (64 - (after.max(0) as u64).leading_zeros()) as usize;
            if self.rectified.len() <= class {
                self.rectified.resize(class + 1, 0);
            }
            self.rectified[class] += 1;
        }
    }

    /// What changed a verdict came so many milliseconds after the transaction that it is about.
    pub(crate) fn came_after(&mut self, after: i64) {
        self.longest_change = self.longest_change.max(after);
    }

    /// Violations that stand, by their names.
    pub(crate) fn standing(&self) -> Vec<(&'static str, u64)> {
        let standing = self.by_anomaly.iter().filter(|(_, count)| *count > 0);
        let mut named: Vec<_> =
            standing.map(|(anomaly, count)| (anomaly.name(), *count as u64)).collect();
        named.sort_unstable();
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isolde_history::TxnId;

    #[test]
    fn a_transaction_that_is_too_late_counts_once() {
        let mut figures = Figures::default();
        for txn in [1, 2, 1, 1, 3, 2] {
            figures.too_late(TxnRef::new(0, TxnId(txn)));
        }
        assert_eq!(figures.too_late, 3);
    }
}
