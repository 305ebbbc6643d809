//! What it costs MariaDB to keep all versions of its rows: the same run on a server that does and on one that does
//! not, in turn.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use isolde_run::{Discard, Limits, Options};
use isolde_target::{OpenOptions, Show};
use isolde_workload::{Kind, Settings};
use serde_json::json;

use crate::live::recording::median;
use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct VersionsArgs {
    /// How often each is run
    #[arg(long, default_value_t = 5)]
    pairs: u32,
    /// How many seconds a run takes
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

pub(crate) fn run(args: &VersionsArgs) -> Result<()> {
    let mut grounds = [open(None)?, open(Some(Show::Versions))?];
    for kind in [Kind::Mini, Kind::General] {
        for isolation in ["repeatable-read-snapshot", "serializable"] {
            one(args, &mut grounds, kind, isolation)?;
        }
    }
    Ok(())
}

fn open(show: Option<Show>) -> Result<Ground> {
    let options = OpenOptions { show, ..OpenOptions::default() };
    let target = isolde_target::open("mariadb", &options)?;
    Ok(Ground { target: Arc::from(target), next_table: 0 })
}

/// Pairs of runs; the ratio is that of each pair, since a busy machine is busy for both.
fn one(args: &VersionsArgs, grounds: &mut [Ground; 2], kind: Kind, isolation: &str) -> Result<()> {
    let duration = Some(Duration::from_secs_f64(args.seconds));
    let limits = Limits { duration, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let (mut plain, mut kept, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut aborted, mut read, mut rows) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    for seed in 0..args.pairs {
        let settings = Settings { seed: u64::from(seed), ..live::settings(kind) };
        let mut speed = [0.0; 2];
        for which in [seed as usize % 2, (seed as usize + 1) % 2] {
            let ground = &mut grounds[which];
            let offer = live::offer(&*ground.target, isolation)?;
            let ran = ground.run(&offer, settings.clone(), &options, &mut Discard::default())?;
            speed[which] = ran.progress.commits_per_second();
            aborted[which].push(ran.progress.abort_rate());
            if let Some(shown) = ran.versions {
                read.push(shown.took.as_secs_f64());
                rows.push(shown.versions as f64);
            }
        }
        plain.push(speed[0]);
        kept.push(speed[1]);
        ratios.push(speed[1] / speed[0]);
    }
    let [aborted, aborted_with] = &mut aborted;
    println!(
        "{}",
        json!({
            "bench": "versions",
            "target": "mariadb",
            "workload": kind.name(),
            "isolation": isolation,
            "pairs": args.pairs,
            "commits_per_second": round(median(&mut plain)),
            "commits_per_second_with_versions": round(median(&mut kept)),
            "ratio": round(median(&mut ratios)),
            "abort_rate": round(median(aborted)),
            "abort_rate_with_versions": round(median(aborted_with)),
            "versions": median(&mut rows) as u64,
            "read_seconds": round(median(&mut read)),
        })
    );
    Ok(())
}
