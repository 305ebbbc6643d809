//! What recording costs: the same run with a tape on disk and with one that forgets, in turn.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Result;
use isolde_history::NativeWriter;
use isolde_run::{Discard, Limits, Options};
use isolde_workload::{Distribution, Kind, Settings};
use serde_json::json;

use crate::live::{self, Ground};
use crate::measure::round;

#[derive(clap::Args)]
pub(crate) struct RecordingArgs {
    /// The database
    #[arg(long, default_value = "postgres")]
    target: String,
    /// Its own level; its strongest if not given
    #[arg(long)]
    isolation: Option<String>,
    /// How many transactions a run has
    #[arg(long, default_value_t = 30_000)]
    txns: u64,
    /// How many sessions run at the same time
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// How often each is run
    #[arg(long, default_value_t = 6)]
    runs: u32,
    /// Where the record goes
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
}

pub(crate) fn run(args: &RecordingArgs) -> Result<()> {
    let mut ground = Ground::open(&args.target)?;
    let offers = ground.target.offers();
    let name = args.isolation.clone().or(offers.last().map(|o| o.name.to_owned()));
    let offer = live::offer(&*ground.target, &name.unwrap_or_default())?;
    let limits = Limits { txns: Some(args.txns), ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let file = args.folder.join(format!("isolde-recording-{}.isolde", std::process::id()));
    let (mut with, mut without, mut bytes) = (Vec::new(), Vec::new(), 0);
    for seed in 0..args.runs {
        let settings = Settings {
            keys: 10_000,
            distribution: Distribution::Uniform,
            sessions: args.sessions,
            seed: u64::from(seed),
            ..live::settings(Kind::Mini)
        };
        // In turn, and which of the two comes first too: a database gets slower or faster as it
        // fills.
        for recorded in [seed % 2 == 0, seed % 2 == 1] {
            if recorded {
                let mut tape = NativeWriter::new(File::create(&file)?)?;
                let ran = ground.run(&offer, settings.clone(), &options, &mut tape)?;
                tape.finish()?;
                bytes = std::fs::metadata(&file)?.len();
                with.push(ran.progress.commits_per_second());
            } else {
                let tape = &mut Discard::default();
                let ran = ground.run(&offer, settings.clone(), &options, tape)?;
                without.push(ran.progress.commits_per_second());
            }
        }
    }
    std::fs::remove_file(&file)?;
    let (with, without) = (median(&mut with), median(&mut without));
    println!(
        "{}",
        json!({
            "bench": "recording",
            "target": args.target,
            "isolation": offer.name,
            "transactions": args.txns,
            "sessions": args.sessions,
            "recorded_commits_per_second": round(with),
            "unrecorded_commits_per_second": round(without),
            "ratio": round(with / without),
            "file_bytes": bytes,
        })
    );
    Ok(())
}

/// The middle one: a single slow run on a busy machine says nothing.
pub(crate) fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
