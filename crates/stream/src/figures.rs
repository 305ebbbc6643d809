//! What is counted.

use isolde_spec::{Anomaly, CATALOGUE};

use crate::pack::Pack;

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
}

impl Pack for Figures {
    fn pack(&self, out: &mut Vec<u8>) {
        let named = self.by_anomaly.iter().map(|(anomaly, n)| (anomaly.name().to_owned(), *n));
        named.collect::<Vec<(String, i64)>>().pack(out);
        let Figures { corrections, doubts, too_late, unstamped, flips, flipped, .. } = *self;
        let flipped = [flips, flipped, self.flipped_txns];
        [&[corrections, doubts, too_late, unstamped], &flipped[..]].concat().pack(out);
        self.first_doubt.pack(out);
        self.rectified.pack(out);
        self.longest_change.pack(out);
    }

    fn unpack(input: &mut &[u8]) -> Option<Figures> {
        let mut by_anomaly = Vec::new();
        for (name, count) in Vec::<(String, i64)>::unpack(input)? {
            let entry = CATALOGUE.iter().find(|entry| entry.name == name)?;
            by_anomaly.push((entry.anomaly, count));
        }
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

    /// A verdict changed so many milliseconds after its transaction had come.
    pub(crate) fn change(&mut self, after: i64, is_right: bool) {
        self.flips += 1;
        self.longest_change = self.longest_change.max(after);
        if is_right {
            let class = (64 - (after.max(0) as u64).leading_zeros()) as usize;
            if self.rectified.len() <= class {
                self.rectified.resize(class + 1, 0);
            }
            self.rectified[class] += 1;
        }
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
