//! What is counted.

use isolde_spec::Anomaly;

/// What is counted beside the state.
#[derive(Default)]
pub(crate) struct Figures {
    by_anomaly: Vec<(Anomaly, i64)>,
    pub(crate) corrections: u64,
    pub(crate) doubts: u64,
    pub(crate) first_doubt: Option<String>,
    pub(crate) too_late: u64,
    pub(crate) unstamped: u64,
    pub(crate) flips: u64,
    pub(crate) flipped: u64,
    pub(crate) rectified: Vec<u64>,
    pub(crate) longest_change: i64,
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
