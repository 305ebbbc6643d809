//! What evidence costs: the same run on one PostgreSQL server with and without its snapshots, in turn.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use isolde_history::NativeWriter;
use isolde_run::{Limits, Options};
use isolde_target::{OpenOptions, Show};
use isolde_workload::{Distribution, Kind, Settings};
use serde_json::json;

use crate::live::recording::median;
use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct EvidenceArgs {
    /// The workloads
    #[arg(long, value_delimiter = ',', default_value = "mini,general")]
    workloads: Vec<String>,
    /// The database's own levels
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "read-committed,repeatable-read,serializable"
    )]
    levels: Vec<String>,
    /// How many seconds a run takes
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// How often each is run
    #[arg(long, default_value_t = 5)]
    pairs: u32,
    /// How many sessions run at the same time
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// Where the record goes
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
}

/// What one run came to.
struct Measured {
    commits_per_second: f64,
    /// Of this process and of the server's sessions: it says what a commit costs also if the machine is busy with
    /// other things.
    cpu_us_per_commit: f64,
    abort_rate: f64,
    bytes_per_txn: f64,
}

pub(crate) fn run(args: &EvidenceArgs) -> Result<()> {
    // Both on one server: two would differ by more than what is measured.
    let mut without = Ground::open("postgres")?;
    let server = without.target.throwaway().context("no throwaway server")?;
    let options = OpenOptions { show: Some(Show::Snapshots), ..OpenOptions::default() };
    let mut with = Ground::on(isolde_target::open(&server.url, &options)?);
    for workload in &args.workloads {
        let kind = Kind::named(workload);
        let kind = kind.with_context(|| format!("no workload {workload}"))?;
        for level in &args.levels {
            compare(args, (kind, level, server.pid), [&mut without, &mut with])?;
        }
    }
    Ok(())
}

/// The workload, the level, and the server's process.
type Setting<'w> = (Kind, &'w str, Option<u32>);

fn compare(args: &EvidenceArgs, what: Setting<'_>, grounds: [&mut Ground; 2]) -> Result<()> {
    let (mut pairs, mut ratios, mut cpu_ratios) = (Vec::new(), Vec::new(), Vec::new());
    let [without, with] = grounds;
    for seed in 0..args.pairs {
        let seed = u64::from(seed);
        // Which of the two comes first changes: a server gets slower or faster as it fills.
        let pair = if seed % 2 == 0 {
            let plain = measure(args, what, seed, without)?;
            [plain, measure(args, what, seed, with)?]
        } else {
            let shown = measure(args, what, seed, with)?;
            [measure(args, what, seed, without)?, shown]
        };
        ratios.push(pair[1].commits_per_second / pair[0].commits_per_second);
        cpu_ratios.push(pair[0].cpu_us_per_commit / pair[1].cpu_us_per_commit);
        pairs.push(pair);
    }
    let middle = |which: usize, of: fn(&Measured) -> f64| {
        round(median(&mut pairs.iter().map(|pair| of(&pair[which])).collect::<Vec<_>>()))
    };
    println!(
        "{}",
        json!({
            "bench": "evidence",
            "evidence": "snapshots",
            "workload": what.0.name(),
            "isolation": what.1,
            "sessions": args.sessions,
            "commits_per_second": middle(1, |m| m.commits_per_second),
            "without_commits_per_second": middle(0, |m| m.commits_per_second),
            "ratio": round(median(&mut ratios)),
            "cpu_us_per_commit": middle(1, |m| m.cpu_us_per_commit),
            "without_cpu_us_per_commit": middle(0, |m| m.cpu_us_per_commit),
            "cpu_ratio": round(median(&mut cpu_ratios)),
            "abort_rate": middle(1, |m| m.abort_rate),
            "without_abort_rate": middle(0, |m| m.abort_rate),
            "bytes_per_txn": middle(1, |m| m.bytes_per_txn),
            "without_bytes_per_txn": middle(0, |m| m.bytes_per_txn),
        })
    );
    Ok(())
}

fn measure(
    args: &EvidenceArgs,
    (kind, level, server): Setting<'_>,
    seed: u64,
    ground: &mut Ground,
) -> Result<Measured> {
    let (sessions, distribution) = (args.sessions, Distribution::Uniform);
    let settings = Settings { keys: 10_000, distribution, sessions, seed, ..live::settings(kind) };
    let duration = Some(Duration::from_secs_f64(args.seconds));
    let limits = Limits { duration, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let offer = live::offer(&*ground.target, level)?;
    let file = args.folder.join(format!("isolde-evidence-{}.isolde", std::process::id()));
    let mut tape = NativeWriter::new(File::create(&file)?)?;
    let before = cpu_us(server);
    let ran = ground.run(&offer, settings, &options, &mut tape)?;
    tape.finish()?;
    // The time of the server's sessions is told when they are gone.
    std::thread::sleep(Duration::from_millis(300));
    let cpu_us = cpu_us(server) - before;
    let bytes = std::fs::metadata(&file)?.len();
    std::fs::remove_file(&file)?;
    let progress = ran.progress;
    Ok(Measured {
        commits_per_second: progress.commits_per_second(),
        cpu_us_per_commit: cpu_us / progress.committed.max(1) as f64,
        abort_rate: progress.abort_rate(),
        bytes_per_txn: bytes as f64 / progress.txns.max(1) as f64,
    })
}

/// The processor time of this process, and of those that the server has ended; Linux tells it, in hundredths
/// of a second.
fn cpu_us(server: Option<u32>) -> f64 {
    let ticks = |path: String, fields: std::ops::Range<usize>| {
        let stat = std::fs::read_to_string(path).unwrap_or_default();
        let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let numbers = numbers.map(|n| n.parse().unwrap_or(0.0));
        numbers.skip(fields.start).take(fields.len()).sum::<f64>()
    };
    // Behind the name of the program: its own time, and that of its children.
    let own = ticks("/proc/self/stat".to_owned(), 11..13);
    let sessions = server.map_or(0.0, |pid| ticks(format!("/proc/{pid}/stat"), 11..15));
    (own + sessions) * 10_000.0
}
