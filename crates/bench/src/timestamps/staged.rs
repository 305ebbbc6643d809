//! One check in this process, stage by stage.

use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use isolde_check::timestamps::{self, Stage};
use isolde_check::{Limits, Options};
use isolde_history::{Format, History, Source};
use isolde_spec::{Level, Promise, Verdict};
use serde_json::{Value, json};

use crate::counting;
use crate::measure::round;

/// How long each stage of a check took, in seconds, and the most memory that it held.
#[derive(Clone, Default)]
pub(super) struct Staged {
    load: f64,
    sort: f64,
    check: f64,
    collect: f64,
    explain: f64,
    /// From the question to the verdict.
    pub(super) decide: f64,
    /// Bytes of the history.
    history: usize,
    /// The most bytes beyond the history.
    pub(super) peak: usize,
    operations: usize,
    answer: &'static str,
    found: u64,
}

impl Staged {
    /// The fastest of several checks of a file, each from reading it to the verdict. The peak is that of any.
    pub(super) fn best(file: &Path, level: Level, options: &Options, runs: u32) -> Result<Staged> {
        let mut best = Staged::once(file, level, options)?;
        for _ in 1..runs {
            let next = Staged::once(file, level, options)?;
            let peak = best.peak.max(next.peak);
            if next.total() < best.total() {
                best = next;
            }
            best.peak = peak;
        }
        Ok(best)
    }

    fn once(file: &Path, level: Level, options: &Options) -> Result<Staged> {
        let before = counting::now();
        let begin = Instant::now();
        let format = Format::named("isolde").context("no such format")?;
        let history: History = format.load(&Source::open(file)?)?.finish();
        let load = begin.elapsed().as_secs_f64();
        let bytes = counting::now().saturating_sub(before);
        let decided = Staged::decided(&history, level, options);
        Ok(Staged { load, history: bytes, ..decided })
    }

    fn decided(history: &History, level: Level, options: &Options) -> Staged {
        let before = counting::now();
        counting::reset_peak();
        let begin = Instant::now();
        // Each stage ends where the next one begins.
        let begun: RefCell<Vec<(Stage, Instant)>> = RefCell::default();
        let promise = Promise::by_timestamps(level);
        let tell = |stage| begun.borrow_mut().push((stage, Instant::now()));
        let verdict = timestamps::decide(history, promise, options, &Limits::default(), &tell);
        let end = Instant::now();
        let peak = counting::peak().saturating_sub(before);
        let mut staged = Staged { peak, operations: history.op_count(), ..Staged::default() };
        staged.decide = (end - begin).as_secs_f64();
        let begun = begun.into_inner();
        let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([end]);
        for ((stage, from), to) in begun.iter().zip(ends) {
            *staged.of(*stage) += (to - *from).as_secs_f64();
        }
        staged.conclude(&verdict);
        staged
    }

    fn of(&mut self, stage: Stage) -> &mut f64 {
        match stage {
            Stage::Sort => &mut self.sort,
            Stage::Check => &mut self.check,
            Stage::Collect => &mut self.collect,
            Stage::Explain => &mut self.explain,
        }
    }

    fn conclude(&mut self, verdict: &Verdict) {
        self.found = verdict.counts.iter().map(|c| c.count).sum();
        self.answer = match verdict.holds() {
            Some(true) => "holds",
            Some(false) => "violated",
            None => "unknown",
        };
    }

    /// From the file to the verdict.
    pub(super) fn total(&self) -> f64 {
        self.load + self.decide
    }

    /// Writes what was measured into a line.
    pub(super) fn show(&self, line: &mut Value) {
        line["operations"] = json!(self.operations);
        line["answer"] = json!(self.answer);
        line["found"] = json!(self.found);
        line["load_seconds"] = json!(round(self.load));
        line["sort_seconds"] = json!(round(self.sort));
        line["check_seconds"] = json!(round(self.check));
        line["collect_seconds"] = json!(round(self.collect));
        line["explain_seconds"] = json!(round(self.explain));
        line["decide_seconds"] = json!(round(self.decide));
        line["total_seconds"] = json!(round(self.total()));
        line["history_bytes"] = json!(self.history);
        line["peak_bytes"] = json!(self.peak);
    }
}
