//! Checking a history with a clock and a counter of bytes.

use std::time::Instant;

use anyhow::Result;
use isolde_check::{Options, check};
use isolde_history::History;
use isolde_spec::{Level, Promise};

use crate::counting;
use crate::plan::Plan;

/// A simulated history and the bytes that it takes.
pub(crate) struct Made {
    pub(crate) history: History,
    pub(crate) bytes: usize,
    pub(crate) seconds: f64,
}

/// Makes a history. What it takes is counted by the allocator, not by the history's own arithmetic.
pub(crate) fn make(plan: &Plan) -> Result<Made> {
    let before = counting::now();
    let begin = Instant::now();
    let history = plan.make()?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Made { history, bytes: counting::now().saturating_sub(before), seconds })
}

/// What several runs of the same check took.
#[derive(Clone, Default)]
pub(crate) struct Runs {
    seconds: Vec<f64>,
    /// The most bytes beyond the history.
    pub(crate) peak: usize,
    pub(crate) answer: &'static str,
    /// How many anomalies the verdict counts: a checker that stops early is not a fast one.
    pub(crate) counted: u64,
}

impl Runs {
    /// One more run.
    pub(crate) fn run(&mut self, history: &History, level: Level) {
        let before = counting::now();
        counting::reset_peak();
        let begin = Instant::now();
        let verdict = check(history, Promise::of(level), &Options::default());
        self.seconds.push(begin.elapsed().as_secs_f64());
        self.peak = self.peak.max(counting::peak().saturating_sub(before));
        self.counted = verdict.counts.iter().map(|c| c.count).sum();
        self.answer = match verdict.holds() {
            Some(true) => "holds",
            Some(false) => "violated",
            None => "unknown",
        };
    }

    pub(crate) fn best(&self) -> f64 {
        best(&self.seconds)
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.seconds)
    }
}

/// The least of some times.
pub(crate) fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The one in the middle.
pub(crate) fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Three digits after the point: what a clock on a real machine can tell.
pub(crate) fn round(x: f64) -> f64 {
    (x * 1000.0).round() / 1000.0
}

/// The level of that name, for the command line.
pub(crate) fn level(name: &str) -> Result<Level, String> {
    Level::named(name).ok_or_else(|| format!("there is no level '{name}'"))
}
