//! The whole command as a process of its own: time on the wall, time of processors, memory.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::command::{finish, high_water_mb, resident_mb};
use crate::limits::cpu_seconds_of_children;
use crate::measure::round;

/// How often resident memory is looked at.
const SAMPLE: Duration = Duration::from_millis(20);
/// How often the high-water mark is.
const LOOK: Duration = Duration::from_millis(2);

/// A check of a file, by timestamps alone.
pub(super) struct TimedCommand<'a> {
    pub(super) isolde: &'a Path,
    pub(super) file: &'a Path,
    pub(super) level: Level,
}

/// What it took; of several runs, the one that took the least time on the wall.
pub(super) struct ProcessTook {
    pub(super) seconds: f64,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) peak_mb: Option<f64>,
    answer: &'static str,
    /// Resident megabytes, every 20 milliseconds.
    pub(super) resident_mb: Vec<f64>,
}

impl ProcessTook {
    /// Writes what was measured into a line.
    pub(super) fn show(&self, line: &mut Value) {
        line["answer"] = json!(self.answer);
        line["seconds"] = json!(round(self.seconds));
        line["cpu_seconds"] = json!(self.cpu_seconds.map(round));
        line["peak_mb"] = json!(self.peak_mb.map(round));
    }
}

impl TimedCommand<'_> {
    /// Runs it once to look at its memory, which disturbs it and brings the file into the page cache, and then so many
    /// times undisturbed.
    pub(super) fn measure(&self, runs: u32) -> Result<ProcessTook> {
        let mut took = self.watched()?;
        for _ in 0..runs {
            let (seconds, cpu_seconds) = self.timed()?;
            if seconds < took.seconds {
                (took.seconds, took.cpu_seconds) = (seconds, cpu_seconds);
            }
        }
        Ok(took)
    }

    fn timed(&self) -> Result<(f64, Option<f64>)> {
        let before = children();
        let begin = Instant::now();
        let mut child = self.start()?;
        finish(&mut child)?;
        let seconds = begin.elapsed().as_secs_f64();
        // The kernel counts a child once it was waited for.
        let cpu_seconds = children().zip(before).map(|(after, before)| after - before);
        Ok((seconds, cpu_seconds))
    }

    fn watched(&self) -> Result<ProcessTook> {
        let mut child = self.start()?;
        let status = format!("/proc/{}/status", child.id());
        let (mut peak_mb, mut resident) = (None, Vec::new());
        let begin = Instant::now();
        while child.try_wait()?.is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            peak_mb = high_water_mb(&text).or(peak_mb);
            if begin.elapsed() >= SAMPLE * resident.len() as u32 {
                resident.extend(resident_mb(&text).map(round));
            }
            std::thread::sleep(LOOK);
        }
        let answer = finish(&mut child)?;
        // The least of the undisturbed runs is less than this.
        let seconds = f64::INFINITY;
        Ok(ProcessTook { seconds, cpu_seconds: None, peak_mb, answer, resident_mb: resident })
    }

    fn start(&self) -> Result<Child> {
        let mut command = Command::new(self.isolde);
        command.args(["check", "--evidence", "timestamps", "--level", self.level.name()]);
        command.arg(self.file).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().with_context(|| format!("cannot run {}", self.isolde.display()))
    }
}

/// User and system seconds of all children that ended.
fn children() -> Option<f64> {
    cpu_seconds_of_children(&std::fs::read_to_string("/proc/self/stat").ok()?)
}
