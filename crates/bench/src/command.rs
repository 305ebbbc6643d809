//! The whole command, from a file to an exit code, as a process of its own.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use isolde_history::{Format, History};
use isolde_spec::Level;

/// The command and the file that it checks, which goes when this goes.
pub(crate) struct Command {
    isolde: PathBuf,
    file: PathBuf,
}

/// What the whole command took.
pub(crate) struct Took {
    pub(crate) seconds: f64,
    /// The most memory that it held; `None` where `/proc` does not tell.
    pub(crate) peak_mb: Option<f64>,
}

impl Command {
    /// Writes the history to a file of that folder.
    pub(crate) fn new(isolde: &Path, folder: &Path, history: &History) -> Result<Command> {
        let file = folder.join(format!("isolde-bench-{}.isolde", std::process::id()));
        let write = Format::named("isolde").and_then(|f| f.write).context("no such format")?;
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&file)?);
        let command = Command { isolde: isolde.to_owned(), file };
        write(history, &mut out)?;
        out.flush()?;
        Ok(command)
    }

    pub(crate) fn file_bytes(&self) -> Option<u64> {
        std::fs::metadata(&self.file).ok().map(|m| m.len())
    }

    /// Checks the file again and again; the fastest counts.
    pub(crate) fn check(&self, level: Level, runs: u32) -> Result<Took> {
        // Looking at its memory disturbs the command, so that gets a run of its own, which also
        // brings the file into the page cache.
        let mut child = self.start(level)?;
        let peak_mb = watch(&mut child)?;
        finish(&mut child)?;
        let mut seconds = f64::INFINITY;
        for _ in 0..runs {
            let begin = Instant::now();
            let mut child = self.start(level)?;
            finish(&mut child)?;
            seconds = seconds.min(begin.elapsed().as_secs_f64());
        }
        Ok(Took { seconds, peak_mb })
    }

    fn start(&self, level: Level) -> Result<Child> {
        let mut command = std::process::Command::new(&self.isolde);
        command.args(["check", "--level", level.name()]).arg(&self.file);
        // The witnesses of ten thousand violations are not what is measured here.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().with_context(|| format!("cannot run {}", self.isolde.display()))
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // A file that stays behind is a pity, not a fault of the measurement.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Holds, violated and unknown are answers; everything else is a fault.
fn finish(child: &mut Child) -> Result<()> {
    let status = child.wait()?;
    match status.code() {
        Some(0 | 1 | 3) => Ok(()),
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

fn high_water_mb(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_in_megabytes() {
        let status = "Name:\tisolde\nVmPeak:\t  9999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(high_water_mb(status), Some(2.0));
        assert_eq!(high_water_mb("State:\tZ (zombie)\n"), None);
    }
}
