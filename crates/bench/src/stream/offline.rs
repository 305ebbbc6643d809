//! The same history as a whole.

use std::time::Instant;

use anyhow::Result;
use isolde_check::{Limits, Options, timestamps};
use isolde_history::HistoryBuilder;
use isolde_spec::Promise;
use isolde_workload::simulate::simulate;
use serde_json::{Value, json};

use super::args::StreamCase;
use super::source::{say_level, simulated};
use crate::measure::round;

/// Adds to the line of a stream how many violations the whole history has.
pub(super) fn compare(case: &StreamCase, line: &mut Value) -> Result<()> {
    let mut builder = HistoryBuilder::new();
    simulate(&simulated(case), &mut builder)?;
    say_level(case.level, &mut builder);
    let history = builder.finish();
    let (promise, options) = (Promise::by_timestamps(case.level), Options::default());
    let begin = Instant::now();
    let verdict = timestamps::decide(&history, promise, &options, &Limits::default(), &|_| {});
    let count: u64 = verdict.counts.iter().map(|counted| counted.count).sum();
    line["offline_violations"] = json!(count);
    line["offline_seconds"] = json!(round(begin.elapsed().as_secs_f64()));
    line["as_offline"] = json!(line["violations"] == json!(count));
    Ok(())
}
