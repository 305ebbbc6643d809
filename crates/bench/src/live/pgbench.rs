//! Isolde against PostgreSQL's own pgbench: the same mini-transactions, statement by statement, with
//! as many clients, on the same server, in turn.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::{NativeWriter, OpKind};
use isolde_run::{Limits, Options, PathChoice};
use isolde_workload::{Distribution, Kind, Settings, TxnPlan, Workload};
use serde_json::json;

use crate::live::recording::median;
use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct PgbenchArgs {
    /// PostgreSQL's own level
    #[arg(long, default_value = "repeatable-read")]
    isolation: String,
    /// How many sessions, or clients, run at the same time
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// How many rows there are
    #[arg(long, default_value_t = 10_000)]
    keys: u32,
    /// How long each run takes, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How often each is run
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// The folder of psql and pgbench
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin")]
    bin: PathBuf,
}

pub(crate) fn run(args: &PgbenchArgs) -> Result<()> {
    let mut ground = Ground::open("postgres")?;
    let facts = ground.target.facts();
    let url = facts.iter().find(|(name, _)| name == "url").map(|(_, url)| url.clone());
    let url = url.context("the server does not say where it is")?;
    let settings = Settings {
        keys: args.keys,
        sessions: args.sessions,
        distribution: Distribution::Uniform,
        ..live::settings(Kind::Mini)
    };
    let folder = std::env::temp_dir().join(format!("isolde-pgbench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let scripts = scripts(args, &settings, &folder)?;
    make_table(args, &url)?;
    let (mut isolde, mut pgbench) = (Vec::new(), Vec::new());
    for seed in 0..args.runs {
        let settings = Settings { seed: u64::from(seed), ..settings.clone() };
        isolde.push(run_isolde(args, &mut ground, settings, &folder)?);
        pgbench.push(run_pgbench(args, &url, &scripts)?);
    }
    std::fs::remove_dir_all(&folder)?;
    let (isolde, pgbench) = (median(&mut isolde), median(&mut pgbench));
    println!(
        "{}",
        json!({
            "bench": "pgbench",
            "version": ground.target.version(),
            "isolation": args.isolation,
            "sessions": args.sessions,
            "keys": args.keys,
            "scripts": scripts.len(),
            "isolde_commits_per_second": round(isolde),
            "pgbench_commits_per_second": round(pgbench),
            "ratio": round(isolde / pgbench),
        })
    );
    Ok(())
}

fn run_isolde(
    args: &PgbenchArgs,
    ground: &mut Ground,
    settings: Settings,
    folder: &Path,
) -> Result<f64> {
    let offer = live::offer(&*ground.target, &args.isolation)?;
    let duration = Some(Duration::from_secs(args.seconds));
    let options = Options {
        limits: Limits { duration, ..Limits::default() },
        paths: PathChoice::Only(vec![isolde_target::Path::PrimaryKey]),
        ..Options::default()
    };
    let mut tape = NativeWriter::new(File::create(folder.join("history.isolde"))?)?;
    let ran = ground.run(&offer, settings, &options, &mut tape)?;
    tape.finish()?;
    Ok(ran.progress.commits_per_second())
}

/// A script for each shape of mini-transaction, with how often it occurs in the workload.
fn scripts(args: &PgbenchArgs, settings: &Settings, folder: &Path) -> Result<Vec<String>> {
    let workload = Workload::new(settings.clone()).map_err(|problem| anyhow!(problem))?;
    let mut script = workload.script(0);
    let mut plan = TxnPlan::default();
    let mut shapes: BTreeMap<Vec<(bool, usize)>, u32> = BTreeMap::new();
    for _ in 0..20_000 {
        script.next(&mut plan);
        let mut rows: Vec<u32> = Vec::new();
        let shape = plan.steps.iter().map(|step| {
            let at = rows.iter().position(|row| *row == step.row).unwrap_or_else(|| {
                rows.push(step.row);
                rows.len() - 1
            });
            (step.kind == OpKind::Write, at)
        });
        *shapes.entry(shape.collect()).or_default() += 1;
    }
    let level = args.isolation.to_uppercase().replace('-', " ");
    let mut scripts = Vec::new();
    for (number, (shape, weight)) in shapes.iter().enumerate() {
        let path = folder.join(format!("{number}.sql"));
        std::fs::write(&path, script_text(shape, args.keys, &level)?)?;
        scripts.push(format!("{}@{weight}", path.display()));
    }
    Ok(scripts)
}

fn script_text(shape: &[(bool, usize)], keys: u32, level: &str) -> Result<String> {
    let mut text = String::new();
    for row in 0..=shape.iter().map(|(_, row)| *row).max().unwrap_or(0) {
        writeln!(text, "\\set k{row} random(0, {})", keys - 1)?;
    }
    writeln!(text, "\\set v random(1, 1000000000)\nBEGIN ISOLATION LEVEL {level};")?;
    for (writes, row) in shape {
        if *writes {
            writeln!(text, "UPDATE isolde_pgbench SET v = :v WHERE k = :k{row};")?;
        } else {
            writeln!(text, "SELECT v FROM isolde_pgbench WHERE k = :k{row};")?;
        }
    }
    writeln!(text, "COMMIT;")?;
    Ok(text)
}

/// The table that Isolde's own runs have.
fn make_table(args: &PgbenchArgs, url: &str) -> Result<()> {
    let sql = format!(
        "CREATE TABLE isolde_pgbench (k bigint PRIMARY KEY, s bigint, u bigint, v bigint); \
         INSERT INTO isolde_pgbench SELECT n, n, n, 0 FROM generate_series(0, {}) n; \
         CREATE INDEX ON isolde_pgbench (s);",
        args.keys - 1
    );
    output(Command::new(args.bin.join("psql")).args([url, "-q", "-c", &sql])).map(drop)
}

fn run_pgbench(args: &PgbenchArgs, url: &str, scripts: &[String]) -> Result<f64> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let mut command = Command::new(args.bin.join("pgbench"));
    command.args(["-n", "-M", "prepared", "-c", &args.sessions.to_string()]);
    command.args(["-j", &threads.min(args.sessions).to_string()]);
    command.args(["-T", &args.seconds.to_string()]);
    for script in scripts {
        command.args(["-f", script]);
    }
    let output = output(command.arg(url))?;
    let line = output.lines().find_map(|line| line.strip_prefix("tps = "));
    let tps = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    tps.with_context(|| format!("pgbench did not say how fast it was:\n{output}"))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
