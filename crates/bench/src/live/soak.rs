//! A soak: every database at every level it offers, under every workload. A correct one gives no
//! alarm, ever.

use std::time::Instant;

use anyhow::{Result, bail};
use isolde_check::{Options as CheckOptions, check};
use isolde_history::{History, HistoryBuilder};
use isolde_run::{Limits, Options};
use isolde_spec::{Level, Promise, Verdict};
use isolde_target::{Offer, Show};
use isolde_workload::{Kind, Settings};
use serde_json::json;

use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct SoakArgs {
    /// The databases (see `isolde targets`); all of this build if not given
    #[arg(long, value_delimiter = ',')]
    targets: Vec<String>,
    /// The database's own levels; all that it offers if not given
    #[arg(long, value_delimiter = ',')]
    isolation: Vec<String>,
    /// The workloads
    #[arg(long, value_delimiter = ',', default_value = "mini,general,append,cas,register",
          value_parser = crate::plan::kind)]
    workloads: Vec<Kind>,
    /// How many commits each database makes at each level, over all workloads
    #[arg(long, default_value_t = 200_000)]
    commits: u64,
    /// How many sessions run at the same time
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// How many rows there are
    #[arg(long, default_value_t = 100)]
    keys: u32,
    /// What all choices follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &SoakArgs) -> Result<()> {
    // A driver is no database of the build: it needs a command.
    let kinds = isolde_target::KINDS.iter().filter(|kind| kind.name != "driver");
    let all: Vec<String> = kinds.map(|kind| kind.name.to_owned()).collect();
    let mut alarms = 0;
    for name in if args.targets.is_empty() { &all } else { &args.targets } {
        let mut ground = Ground::showing(name, show(name))?;
        for offer in ground.target.offers() {
            if !args.isolation.is_empty() && !args.isolation.iter().any(|i| i == offer.name) {
                continue;
            }
            for &kind in &args.workloads {
                alarms += u64::from(soak(args, name, &mut ground, offer, kind)?);
            }
        }
    }
    match alarms {
        0 => Ok(()),
        n => bail!("{n} runs broke what the database promises"),
    }
}

/// One database, level and workload. Whether there was an alarm.
fn soak(
    args: &SoakArgs,
    name: &str,
    ground: &mut Ground,
    offer: &Offer,
    kind: Kind,
) -> Result<bool> {
    let commits = args.commits.div_ceil(args.workloads.len() as u64);
    let limits = Limits { commits: Some(commits), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let (sessions, keys, seed) = (args.sessions, args.keys, args.seed);
    let settings = Settings { sessions, keys, seed, ..live::settings(kind) };
    let mut tape = HistoryBuilder::new();
    let ran = ground.run(offer, settings, &options, &mut tape)?;
    let history = tape.finish();
    let began = Instant::now();
    let verdict = check(&history, Promise::of(offer.promises), &CheckOptions::default());
    let shown = show(name).map(|_| by_snapshots(&history, offer));
    let anomalies: Vec<&str> = verdict.counts.iter().map(|c| c.anomaly.name()).collect();
    let strange: Vec<_> = ran.troubles.iter().filter(|t| !t.expected).collect();
    println!(
        "{}",
        json!({
            "bench": "soak",
            "target": name,
            "version": ground.target.version(),
            "isolation": offer.name,
            "promises": offer.promises.name(),
            "workload": kind.name(),
            "committed": ran.progress.committed,
            "aborted": ran.progress.aborted,
            "unknown": ran.progress.unknown,
            "answer": answer(&verdict),
            "by_snapshots": shown.as_ref().map(answer),
            "anomalies": anomalies,
            "strange_errors": strange.iter().map(|t| &t.message).collect::<Vec<_>>(),
            "sessions_given_up": ran.gave_up.len(),
            "seconds": round(ran.progress.elapsed.as_secs_f64()),
            "check_seconds": round(began.elapsed().as_secs_f64()),
            "seed": seed,
        })
    );
    Ok([Some(&verdict), shown.as_ref()].into_iter().flatten().any(|v| v.holds() == Some(false)))
}

/// With its snapshots, what PostgreSQL did is decided also where writes are blind.
fn show(name: &str) -> Option<Show> {
    (name == "postgres").then_some(Show::Snapshots)
}

fn by_snapshots(history: &History, offer: &Offer) -> Verdict {
    let level = match offer.promises {
        Level::ReadCommitted => Level::ReadCommitted,
        _ => Level::SnapshotIsolation,
    };
    check(history, Promise::by_snapshots(level), &CheckOptions::default())
}

fn answer(verdict: &Verdict) -> &'static str {
    match verdict.holds() {
        Some(true) => "holds",
        Some(false) => "violated",
        None => "unknown",
    }
}
