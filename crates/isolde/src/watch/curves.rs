//! The figures of a watch over time, as a report draws them.

use isolde_report::Curve;
use isolde_watch::{Sample, Series};

/// What is drawn of a sample as it is: names for machines and people, and the value.
type Drawn = (&'static str, &'static str, fn(&Sample) -> f64);

const MEGABYTE: f64 = (1 << 20) as f64;

const DRAWN: [Drawn; 8] = [
    ("disk_mb", "disk (MB)", |sample| sample.disk as f64 / MEGABYTE),
    ("open", "open verdicts", |sample| sample.open as f64),
    ("violations", "violations that stand", |sample| sample.violations as f64),
    (
        "lateness_seconds",
        "lateness: seconds after which a verdict changed, the most so far",
        |sample| sample.lateness.as_secs_f64(),
    ),
    ("late", "transactions later than promised, so far", |sample| sample.late as f64),
    ("corrections", "corrections so far", |sample| sample.corrections as f64),
    ("lag_seconds", "seconds from reading to judging", |sample| sample.lag.as_secs_f64()),
    ("backlog", "transactions that wait to be judged", |sample| sample.backlog as f64),
];

/// When samples were taken, in seconds, and the curves. Memory has a limit.
pub(super) fn of(series: &Series, memory_limit: u64) -> (Vec<f64>, Vec<Curve>) {
    let samples = series.samples();
    let seconds = samples.iter().map(|sample| thousandths(sample.at.as_secs_f64())).collect();
    let plain = |key, name, values| Curve { key, name, values, limit: None };
    let each = |of: fn(&Sample) -> f64| samples.iter().map(|s| thousandths(of(s))).collect();
    let mut curves = vec![
        plain("transactions_per_second", "transactions a second", rates(samples, |s| s.txns)),
        Curve {
            key: "memory_mb",
            name: "memory, counted (MB)",
            values: each(|sample| sample.memory as f64 / MEGABYTE),
            limit: Some(memory_limit as f64 / MEGABYTE),
        },
        plain("flips_per_second", "flips a second", rates(samples, |s| s.flips)),
    ];
    curves.extend(DRAWN.map(|(key, name, of)| plain(key, name, each(of))));
    (seconds, curves)
}

/// How much a count grew in each second since the sample before.
fn rates(samples: &[Sample], count: fn(&Sample) -> u64) -> Vec<f64> {
    let mut before = Sample::default();
    let rate = |sample: &Sample| {
        let more = count(sample).saturating_sub(count(&before)) as f64;
        let seconds = sample.at.saturating_sub(before.at).as_secs_f64().max(1e-3);
        before = *sample;
        thousandths(more / seconds)
    };
    samples.iter().map(rate).collect()
}

/// More digits say nothing.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_is_that_of_the_time_since_the_sample_before() {
        let at = |ms: u64, txns: u64| Sample {
            at: Duration::from_millis(ms),
            txns,
            ..Sample::default()
        };
        let samples = [at(0, 0), at(500, 100), at(1500, 100), at(1500, 101)];
        assert_eq!(rates(&samples, |sample| sample.txns), [0.0, 200.0, 0.0, 1000.0]);
    }
}
