//! Histories that are hard to check, from a file to an answer: does the command keep its limits?
//!
//! Each file is checked twice: as it is, and with `--timeout` and `--memory`. What takes longer than
//! the cap is stopped and counts as such. `--plain` leaves the two options out, for commands that do
//! not know them yet.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use isolde_spec::Level;
use isolde_workload::strain::{Hot, Ring, Strain};
use serde_json::{Value, json};

use crate::command::{high_water_mb, write_history};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct LimitsArgs {
    /// The isolde command; the one beside this program if there is no other wish
    #[arg(long, value_name = "ISOLDE")]
    command: Option<PathBuf>,
    /// Only files whose name begins with one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Leave --timeout and --memory out
    #[arg(long)]
    plain: bool,
    /// What --timeout gets
    #[arg(long, default_value = "2s")]
    timeout: String,
    /// What --memory gets
    #[arg(long, default_value = "500M")]
    memory: String,
    /// After how many seconds a command is stopped
    #[arg(long, default_value_t = 60)]
    cap: u64,
    /// How many megabytes of addresses a command may have
    #[arg(long, value_name = "MB", default_value_t = 8192)]
    addresses: u64,
    /// Every size divided by this, for a quick look
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    divide: u32,
    /// Where the files go
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
}

/// A history and the levels that it is hard for; no level at all is the question for the strongest.
struct Case {
    strain: Strain,
    levels: &'static [&'static [Level]],
}

const SER: &[Level] = &[Level::Serializable];
const SI: &[Level] = &[Level::SnapshotIsolation];
const CC: &[Level] = &[Level::Causal];
const SSER: &[Level] = &[Level::StrictSerializable];
const LIN: &[Level] = &[Level::Linearizable];
const ALL: &[Level] = &[];

fn cases(divide: u32) -> Vec<Case> {
    let size = |n: u32| (n / divide).max(10);
    // Time grows with the power of the depth, not with the number of transactions.
    let nested = |width, depth| match divide {
        1 => Strain::NestedGuesses { width, depth },
        _ => Strain::NestedGuesses { width: 4, depth: 3 },
    };
    let few = |ops| Strain::FewValues { ops, values: 5 };
    let hot = |how| Strain::HotKey { writers: size(5_000), how };
    let sessions = |violating| Strain::Sessions { sessions: size(200_000), violating };
    let ring = |by| Strain::Ring { txns: size(100_000), by };
    let blind = |txns, seed| Strain::BlindWrites { txns: size(txns), seed };
    let cases: [(Strain, &[&[Level]]); 24] = [
        (nested(16, 5), &[SER, CC, ALL]),
        (nested(64, 8), &[SER, CC, ALL]),
        (few(size(100_000)), &[SER, LIN]),
        (few(size(400_000)), &[SER, SI, LIN, ALL]),
        (Strain::OneValue { writes: size(50_000) }, &[SER, SI, CC, ALL]),
        (hot(Hot::Serial), &[SER, SI, ALL]),
        (hot(Hot::Concurrent), &[SER, SI, ALL]),
        (hot(Hot::Violating), &[SER, SI, ALL]),
        (Strain::EqualElements { appends: size(20_000) }, &[SER, ALL]),
        (Strain::OwnEqualElements { appends: size(2_000) }, &[SER]),
        (Strain::OwnEqualElements { appends: size(20_000) }, &[SER, ALL]),
        (sessions(false), &[CC, SER, SSER, ALL]),
        (sessions(true), &[CC, SER, ALL]),
        (ring(Ring::Antidependencies), &[SER, SI, CC, ALL]),
        (ring(Ring::Reads), &[SER, SI, CC, ALL]),
        (ring(Ring::Updates), &[SER, SI, CC, ALL]),
        (ring(Ring::Mixed), &[SER, SI, CC, ALL]),
        (Strain::SameValue { writers: 50 }, &[SER, SI, CC, ALL]),
        (Strain::SameValue { writers: 70 }, &[SER, ALL]),
        (blind(4_000, 1), &[SI, SER, SSER, ALL]),
        (blind(20_000, 1), &[SI, SER, SSER, ALL]),
        (blind(20_000, 2), &[SI, SER]),
        (blind(20_000, 3), &[SI, SER]),
        (blind(20_000, 4), &[SI, SER]),
    ];
    cases.into_iter().map(|(strain, levels)| Case { strain, levels }).collect()
}

pub(crate) fn run(args: &LimitsArgs) -> Result<()> {
    let isolde = match &args.command {
        Some(command) => command.clone(),
        None => std::env::current_exe()?.with_file_name("isolde"),
    };
    let wanted = |case: &Case| {
        args.only.is_empty() || args.only.iter().any(|name| case.strain.name().starts_with(name))
    };
    for case in cases(args.divide).into_iter().filter(wanted) {
        let file = MadeFile::new(&args.folder, case.strain)?;
        for levels in case.levels {
            for limited in [false, true].into_iter().filter(|limited| !limited || !args.plain) {
                let mut line = file.about.clone();
                let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
                line["level"] =
                    json!(if names.is_empty() { "all".to_owned() } else { names.join(",") });
                line["limited"] = json!(limited);
                LimitedRun { args, isolde: &isolde, file: &file.path, names, limited }
                    .measure(&mut line)?;
                println!("{line}");
            }
        }
    }
    Ok(())
}

/// A file that goes when this goes.
struct MadeFile {
    path: PathBuf,
    about: Value,
}

impl MadeFile {
    fn new(folder: &Path, strain: Strain) -> Result<MadeFile> {
        let history = strain.history()?;
        let (name, size) = (strain.name(), strain.size());
        let path = folder.join(format!("isolde-limits-{}-{name}.jsonl", std::process::id()));
        write_history(&history, &path, "jsonl")?;
        let about = json!({
            "bench": "limits",
            "file": name,
            "size": size,
            "transactions": history.txn_count(),
            "operations": history.op_count(),
        });
        Ok(MadeFile { path, about })
    }
}

impl Drop for MadeFile {
    fn drop(&mut self) {
        // A file that stays behind is a pity, not a fault of the measurement.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One call of the command.
struct LimitedRun<'a> {
    args: &'a LimitsArgs,
    isolde: &'a Path,
    file: &'a Path,
    names: Vec<&'a str>,
    limited: bool,
}

impl LimitedRun<'_> {
    fn measure(&self, line: &mut Value) -> Result<()> {
        let said = self.file.with_extension("said");
        let begin = Instant::now();
        let mut child = self.start(&said)?;
        let seen = self.watch(&mut child, begin)?;
        line["seconds"] = json!(round(begin.elapsed().as_secs_f64()));
        line["cpu_seconds"] = json!(seen.cpu_seconds);
        line["peak_mb"] = json!(seen.peak_mb.map(round));
        let status = child.wait()?;
        line["exit"] = json!(status.code());
        line["answer"] = json!(match status.code() {
            Some(0) => "holds",
            Some(1) => "violated",
            Some(2) => "fault",
            Some(3) => "unknown",
            // Stopped by the cap, or ended for want of memory.
            _ => "none",
        });
        line["answers"] = answers(&said);
        // What was said is of no use any more, whether it could be removed or not.
        let _ = std::fs::remove_file(&said);
        Ok(())
    }

    /// A shell sets the limit of addresses, which a Rust program cannot do without unsafe code.
    fn start(&self, said: &Path) -> Result<Child> {
        let mut command = std::process::Command::new("sh");
        let limit = format!("ulimit -v {} && exec \"$0\" \"$@\"", self.args.addresses * 1024);
        command.arg("-c").arg(limit).arg(self.isolde).arg("check");
        for name in &self.names {
            command.args(["--level", name]);
        }
        if self.limited {
            command.args(["--timeout", &self.args.timeout, "--memory", &self.args.memory]);
        }
        command.arg(self.file).stdin(Stdio::null()).stdout(File::create(said)?);
        command.spawn().with_context(|| format!("cannot run {}", self.isolde.display()))
    }

    /// Waits for the end, or brings it about. The kernel adds up what is looked at, so only what
    /// happens after the last look is missed.
    fn watch(&self, child: &mut Child, begin: Instant) -> Result<Seen> {
        let folder = PathBuf::from(format!("/proc/{}", child.id()));
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let mut seen = Seen { peak_mb: None, cpu_seconds: None };
        while child.try_wait()?.is_none() {
            seen.peak_mb = high_water_mb(&text("status")).or(seen.peak_mb);
            seen.cpu_seconds = cpu_seconds(&text("stat")).or(seen.cpu_seconds);
            if begin.elapsed() > Duration::from_secs(self.args.cap) {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(seen)
    }
}

/// What was seen of a process; `None` where `/proc` does not tell.
struct Seen {
    peak_mb: Option<f64>,
    /// On a busy machine this says more than the clock on the wall.
    cpu_seconds: Option<f64>,
}

/// User and system seconds of a process, from its `/proc/PID/stat`: the 14th and 15th fields.
fn cpu_seconds(stat: &str) -> Option<f64> {
    ticks_from(stat, 14)
}

/// The same of its children that ended and were waited for: the 16th and 17th fields.
pub(crate) fn cpu_seconds_of_children(stat: &str) -> Option<f64> {
    ticks_from(stat, 16)
}

/// Two fields in hundredths of a second; the second field of all, the name in brackets, may hold anything.
fn ticks_from(stat: &str, field: usize) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(field - 3);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(f64::from(ticks()? + ticks()?) / 100.0)
}

/// What was said of the levels, and why where one is unknown: a few lines of the text, since the JSON of
/// a cycle of a hundred thousand transactions is longer than all else takes.
fn answers(said: &Path) -> Value {
    let text = std::fs::read_to_string(said).unwrap_or_default();
    let says = |line: &&str| {
        let answers = [": holds", ": violated", ": unknown", "strongest level", "unknown: "];
        answers.iter().any(|answer| line.contains(answer))
            || line.trim_start().starts_with("reason")
    };
    json!(text.lines().filter(says).take(20).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_time_of_both_kinds_is_added_up() {
        let stat = "7 (a )b) R 1 7 7 0 -1 4194560 100 0 0 0 150 25 30 5 20 0 1 0 5 6 7";
        assert_eq!(cpu_seconds(stat), Some(1.75));
        assert_eq!(cpu_seconds_of_children(stat), Some(0.35));
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn every_case_can_be_made_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for case in cases(1_000) {
            assert!(case.strain.history().unwrap().txn_count() > 2, "{}", case.strain.name());
            names.insert(case.strain.name());
        }
        assert_eq!(names.len(), 16);
    }
}
