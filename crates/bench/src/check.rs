//! How fast levels are decided.

use std::time::Instant;

use anyhow::Result;
use isolde_check::{Options, check};
use isolde_spec::{Level, Promise};
use serde_json::json;

use crate::counting;
use crate::made;

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// How many committed mini-transactions
    #[arg(long, default_value_t = 1_000_000)]
    txns: u64,
    /// How many sessions ran them
    #[arg(long, default_value_t = 50)]
    sessions: u64,
    /// On how many keys
    #[arg(long, default_value_t = 10_000)]
    keys: u64,
    /// How often each level is decided; the fastest counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

pub(crate) fn run(args: &CheckArgs) -> Result<()> {
    let history = made::concurrent(args.txns, args.sessions, args.keys)?;
    for level in [Level::Serializable, Level::SnapshotIsolation, Level::StrictSerializable] {
        let mut best = f64::MAX;
        let (mut peak, mut answer) = (0, String::new());
        for _ in 0..args.runs {
            let before = counting::now();
            counting::reset_peak();
            let begin = Instant::now();
            let verdict = check(&history, Promise::of(level), &Options::default());
            best = best.min(begin.elapsed().as_secs_f64());
            peak = counting::peak() - before;
            answer = format!("{:?}", verdict.holds());
        }
        let line = json!({
            "bench": "check",
            "level": level.name(),
            "transactions": history.txn_count(),
            "operations": history.op_count(),
            "holds": answer,
            "seconds": (best * 1000.0).round() / 1000.0,
            "transactions_per_s": (history.txn_count() as f64 / best) as u64,
            "peak_bytes_per_operation": peak as f64 / history.op_count() as f64,
        });
        println!("{line}");
    }
    Ok(())
}
