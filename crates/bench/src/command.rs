//! The whole command, from a file to an exit code, as a process of its own.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use isolde_history::{Format, History};
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::measure::{self, round};
use crate::read;

/// Which command is measured, and how often.
#[derive(clap::Args)]
pub(crate) struct CommandArgs {
    /// The isolde command; the one beside this program if there is no other wish
    #[arg(long, value_name = "ISOLDE")]
    pub(crate) command: Option<PathBuf>,
    /// How often the command runs; the fastest and the median count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

impl CommandArgs {
    pub(crate) fn isolde(&self) -> Result<PathBuf> {
        match &self.command {
            Some(command) => Ok(command.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("isolde")),
        }
    }
}

/// The command and the files that it checks.
pub(crate) struct Command {
    isolde: PathBuf,
    files: Vec<PathBuf>,
    /// Whether they were made for this, and go when this goes.
    own: bool,
}

/// What the whole command took.
pub(crate) struct Took {
    pub(crate) seconds: f64,
    seconds_median: f64,
    /// The most memory that it held; `None` where `/proc` does not tell.
    pub(crate) peak_mb: Option<f64>,
    answer: &'static str,
}

impl Took {
    /// Writes what was measured into a line.
    pub(crate) fn show(&self, line: &mut Value) {
        line["answer"] = json!(self.answer);
        line["seconds"] = json!(round(self.seconds));
        line["seconds_median"] = json!(round(self.seconds_median));
        line["peak_mb"] = json!(self.peak_mb.map(round));
    }
}

impl Command {
    /// Writes the history to a file of that folder.
    pub(crate) fn new(
        isolde: &Path,
        folder: &Path,
        history: &History,
        format: &str,
    ) -> Result<Command> {
        let file = folder.join(format!("isolde-bench-{}.{format}", std::process::id()));
        let command = Command { isolde: isolde.to_owned(), files: vec![file.clone()], own: true };
        write_history(history, &file, format)?;
        Ok(command)
    }

    /// For files that are there already.
    pub(crate) fn on(isolde: &Path, files: Vec<PathBuf>) -> Command {
        Command { isolde: isolde.to_owned(), files, own: false }
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        let bytes = |file: &PathBuf| std::fs::metadata(file).map_or(0, |m| m.len());
        self.files.iter().map(bytes).sum()
    }

    /// How long reading alone takes, in this process; the fastest counts.
    pub(crate) fn read_seconds(&self, format: &str, runs: u32) -> Result<f64> {
        let format = Format::named(format).context("no such format")?;
        let mut seconds = f64::INFINITY;
        for _ in 0..runs {
            let reads = self.files.iter().map(|file| read::read(file, format));
            let all: f64 = reads.map(|run| Ok(run?.seconds)).sum::<Result<f64>>()?;
            seconds = seconds.min(all);
        }
        Ok(seconds)
    }

    /// Checks the files again and again.
    pub(crate) fn check(&self, level: Level, runs: u32) -> Result<Took> {
        // Looking at its memory disturbs the command, so that gets a run of its own, which also
        // brings the files into the page cache.
        let mut child = self.start(level)?;
        let peak_mb = watch(&mut child)?;
        let answer = finish(&mut child)?;
        let mut seconds = Vec::new();
        for _ in 0..runs {
            let begin = Instant::now();
            let mut child = self.start(level)?;
            finish(&mut child)?;
            seconds.push(begin.elapsed().as_secs_f64());
        }
        let (best, median) = (measure::best(&seconds), measure::median(&seconds));
        Ok(Took { seconds: best, seconds_median: median, peak_mb, answer })
    }

    fn start(&self, level: Level) -> Result<Child> {
        let mut command = std::process::Command::new(&self.isolde);
        command.args(["check", "--level", level.name()]).args(&self.files);
        // The witnesses of ten thousand violations are not what is measured here.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().with_context(|| format!("cannot run {}", self.isolde.display()))
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        for file in self.files.iter().filter(|_| self.own) {
            // A file that stays behind is a pity, not a fault of the measurement.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Writes a history to a file, in the format of that name.
pub(crate) fn write_history(history: &History, file: &Path, format: &str) -> Result<()> {
    let write = Format::named(format).and_then(|f| f.write).context("no such format")?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    write(history, &mut out)?;
    out.flush()?;
    Ok(())
}

/// Holds, violated and unknown are answers; everything else is a fault.
pub(crate) fn finish(child: &mut Child) -> Result<&'static str> {
    let status = child.wait()?;
    match status.code() {
        Some(0) => Ok("holds"),
        Some(1) => Ok("violated"),
        Some(3) => Ok("unknown"),
        _ => bail!("the command failed: {status}"),
    }
}

/// The high-water mark of a process, looked at until it ends. The kernel keeps the mark, so only
/// what happens after the last look is missed.
fn watch(child: &mut Child) -> Result<Option<f64>> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    while child.try_wait()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = high_water_mb(&text).or(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(peak)
}

/// The most memory that a process held, from its `/proc/PID/status`.
pub(crate) fn high_water_mb(status: &str) -> Option<f64> {
    megabytes(status, "VmHWM:")
}

/// What it holds now.
pub(crate) fn resident_mb(status: &str) -> Option<f64> {
    megabytes(status, "VmRSS:")
}

/// A line of it.
pub(crate) fn megabytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_in_megabytes() {
        let status = "Name:\tisolde\nVmPeak:\t  9999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 512 kB\n";
        assert_eq!(high_water_mb(status), Some(2.0));
        assert_eq!(resident_mb(status), Some(0.5));
        assert_eq!(high_water_mb("State:\tZ (zombie)\n"), None);
    }
}
