//! How many transactions a server aborts: mini-transactions against general ones of twenty
//! operations, by sessions and by transactions on each row (figure 11 of the paper).

use anyhow::Result;
use isolde_run::{Discard, Limits, Options, PathChoice};
use isolde_target::Path;
use isolde_workload::{Distribution, Kind, Settings};
use serde_json::json;

use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct AbortsArgs {
    /// The database
    #[arg(long, default_value = "postgres")]
    target: String,
    /// Its own levels
    #[arg(long, value_delimiter = ',', default_value = "serializable,repeatable-read")]
    isolation: Vec<String>,
    /// How many transactions a run has
    #[arg(long, default_value_t = 2000)]
    txns: u64,
    /// How many operations the general transactions have
    #[arg(long, default_value_t = 20)]
    operations: u32,
    /// The numbers of sessions
    #[arg(long, value_delimiter = ',', default_value = "2,4,8,16,32")]
    sessions: Vec<u32>,
    /// How many transactions there are for each row
    #[arg(long, value_delimiter = ',', default_value = "1,2,5,10,20,50")]
    per_key: Vec<u64>,
}

pub(crate) fn run(args: &AbortsArgs) -> Result<()> {
    let mut ground = Ground::open(&args.target)?;
    for isolation in &args.isolation {
        for kind in [Kind::Mini, Kind::General] {
            for &sessions in &args.sessions {
                one(args, &mut ground, isolation, kind, (sessions, 10))?;
            }
            for &per_key in &args.per_key {
                one(args, &mut ground, isolation, kind, (10, per_key))?;
            }
        }
    }
    Ok(())
}

/// One run, with so many sessions and so many transactions for each row.
fn one(
    args: &AbortsArgs,
    ground: &mut Ground,
    isolation: &str,
    kind: Kind,
    (sessions, per_key): (u32, u64),
) -> Result<()> {
    let offer = live::offer(&*ground.target, isolation)?;
    let keys = (args.txns / per_key).max(2) as u32;
    let settings = Settings {
        keys,
        sessions,
        distribution: Distribution::Uniform,
        max_txn_len: if kind == Kind::General { args.operations } else { 4 },
        ..live::settings(kind)
    };
    let limits = Limits { txns: Some(args.txns), ..Limits::default() };
    // One way to reach a row, as in the paper: what is compared are the workloads.
    let paths = PathChoice::Only(vec![Path::PrimaryKey]);
    let options = Options { limits, paths, ..Options::default() };
    let ran = ground.run(&offer, settings, &options, &mut Discard::default())?;
    println!(
        "{}",
        json!({
            "bench": "aborts",
            "target": args.target,
            "isolation": isolation,
            "workload": live::name(kind),
            "sessions": sessions,
            "txns_per_key": per_key,
            "keys": keys,
            "transactions": ran.progress.txns,
            "abort_rate": round(ran.progress.abort_rate()),
            "commits_per_second": round(ran.progress.commits_per_second()),
        })
    );
    Ok(())
}
