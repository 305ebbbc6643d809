//! Figures over the whole time of a watch, however long it is: never more than a few hundred samples.

use std::time::Duration;

use isolde_stream::Status;

/// How many samples are kept. When there are so many, every second one goes.
const MOST: usize = 600;
/// How long it is from one sample to the next at first.
const FIRST: Duration = Duration::from_millis(200);

/// How a watch was doing at some time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    /// When, since the watch began.
    pub at: Duration,
    /// Transactions until then.
    pub txns: u64,
    /// Transactions whose verdict was not final.
    pub open: u64,
    /// Violations that stood.
    pub violations: u64,
    /// Final verdicts that had changed.
    pub corrections: u64,
    /// Transactions that had come later than promised.
    pub late: u64,
    /// How often verdicts had changed before they were final.
    pub flips: u64,
    /// The longest time after its transaction had come that a verdict had changed.
    pub lateness: Duration,
    /// Bytes in memory, counted.
    pub memory: u64,
    /// Bytes on disk.
    pub disk: u64,
    /// How long the last batch had waited.
    pub lag: Duration,
    /// Transactions that waited to be judged.
    pub backlog: u64,
}

impl Sample {
    pub(crate) fn new(status: &Status, at: Duration, lag: Duration, backlog: u64) -> Sample {
        Sample {
            at,
            txns: status.txns,
            open: status.open,
            violations: status.violations,
            corrections: status.corrections,
            late: status.late,
            flips: status.flips,
            lateness: Duration::from_millis(u64::try_from(status.longest_change).unwrap_or(0)),
            memory: status.memory as u64,
            disk: status.disk,
            lag,
            backlog,
        }
    }
}

/// Samples over the whole time of a watch.
#[derive(Clone, Debug)]
pub struct Series {
    samples: Vec<Sample>,
    interval: Duration,
}

impl Default for Series {
    fn default() -> Series {
        Series { samples: Vec::new(), interval: FIRST }
    }
}

impl Series {
    /// The samples, the oldest first.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Whether it is time for the next one.
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.samples.last().is_none_or(|last| now >= last.at + self.interval)
    }

    /// Takes a sample, due or not.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.samples.len() >= MOST {
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.interval *= 2;
        }
        self.samples.push(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_watch_has_few_samples_over_its_whole_time() {
        let mut series = Series::default();
        for second in 0..100_000 {
            let at = Duration::from_secs(second);
            if series.is_due(at) {
                series.push(Sample { at, txns: second, ..Sample::default() });
            }
        }
        let samples = series.samples();
        assert!((MOST / 3..=MOST).contains(&samples.len()), "{}", samples.len());
        assert_eq!(samples[0].at, Duration::ZERO);
        assert!(samples[samples.len() - 1].txns > 99_000);
        assert!(samples.windows(2).all(|two| two[0].at < two[1].at));
    }
}
