//! Linearizability of compare-and-set, from a file to an exit code: figure 9 of paper 000.
//!
//! Its generator has "concurrent sessions (the percentage of sessions issuing transactions
//! concurrently)". So has the simulator: of so many sessions, that share has an operation under way
//! at every moment.

use std::path::PathBuf;

use anyhow::Result;
use isolde_history::{History, HistoryBuilder};
use isolde_spec::Level;
use isolde_workload::simulate::{Database, Plan, simulate};
use isolde_workload::{Kind, Settings};
use serde_json::json;

use crate::command::{Command, CommandArgs};
use crate::measure;

#[derive(clap::Args)]
pub(crate) struct CasArgs {
    /// How many operations, each a transaction
    #[arg(long, default_value_t = 1_000_000)]
    ops: u64,
    /// How many sessions run them
    #[arg(long, default_value_t = 50)]
    sessions: u32,
    /// On how many keys
    #[arg(long, default_value_t = 1_000)]
    keys: u32,
    /// How many of a hundred sessions run an operation at the same time
    #[arg(long, value_delimiter = ',', default_value = "10,25,50,100")]
    concurrency: Vec<f64>,
    /// The format of the file: isolde, jsonl
    #[arg(long, default_value = "isolde")]
    format: String,
    /// The level to decide
    #[arg(long, default_value = "linearizable", value_parser = measure::level)]
    level: Level,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Where the file goes
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
    #[command(flatten)]
    command: CommandArgs,
}

pub(crate) fn run(args: &CasArgs) -> Result<()> {
    let isolde = args.command.isolde()?;
    for &concurrency in &args.concurrency {
        let history = history(args, concurrency)?;
        let command = Command::new(&isolde, &args.folder, &history, &args.format)?;
        let mut line = json!({
            "bench": "cas",
            "level": args.level.name(),
            "format": args.format,
            "concurrency": concurrency,
            "sessions": args.sessions,
            "keys": history.key_count(),
            "operations": history.op_count(),
            "bytes": command.file_bytes(),
        });
        // It takes memory that the command may want.
        drop(history);
        let read = command.read_seconds(&args.format, args.command.runs)?;
        line["read_seconds"] = json!(measure::round(read));
        command.check(args.level, args.command.runs)?.show(&mut line);
        println!("{line}");
    }
    Ok(())
}

fn history(args: &CasArgs, concurrency: f64) -> Result<History> {
    // One table for the whole run, so that there are as many keys as were asked for.
    let workload = Settings {
        keys: args.keys,
        sessions: args.sessions,
        round: u32::MAX,
        seed: args.seed,
        ..Settings::new(Kind::Cas)
    };
    let database = Database::Serializable;
    let plan = Plan { workload, database, txns: args.ops, concurrency, ..Plan::default() };
    let mut builder = HistoryBuilder::new();
    simulate(&plan, &mut builder)?;
    Ok(builder.finish())
}
