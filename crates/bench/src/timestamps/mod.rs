//! How fast promises are decided by the server's timestamps: the experiments of the paper on Chronos.
//!
//! Whole commands are processes of their own that read an `.isolde` file. Everything else happens in this process, where
//! an allocator that counts knows the peak of one check.

mod commands;
mod file;
mod groups;
mod process;
mod staged;
mod stages;
mod sweeps;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use isolde_spec::Level;
use isolde_workload::simulate::{Database, TimestampStyle};
use isolde_workload::{Kind, Settings};
use serde_json::{Value, json};

use crate::command::CommandArgs;

#[derive(clap::Args)]
pub(crate) struct TimestampsArgs {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    command: CommandArgs,
    /// The size of what is measured at one size only; the large sizes grow with it
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    txns: u64,
    /// Whole commands with a hundred times as many transactions, too: half a gigabyte of file
    #[arg(long)]
    large: bool,
    /// Where the files go
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Whole commands, by size
    Commands,
    /// Loading, sorting, checking, collecting and explaining apart, by size
    Stages,
    /// The six parameters of table I
    Sweeps,
    /// In how many groups keys are looked at, and how much memory that takes
    Groups,
    /// Resident memory while a command runs
    Memory,
    /// Applications, lists, hybrid timestamps, commit order
    Workloads,
    /// Many faults against none
    Faults,
}

pub(crate) fn run(args: &TimestampsArgs) -> Result<()> {
    for part in Part::value_variants() {
        if !args.only.is_empty() && !args.only.contains(part) {
            continue;
        }
        match part {
            Part::Commands => commands::sizes(args)?,
            Part::Stages => stages::run(args)?,
            Part::Sweeps => sweeps::run(args)?,
            Part::Groups => groups::run(args)?,
            Part::Memory => commands::memory(args)?,
            Part::Workloads => commands::workloads(args)?,
            Part::Faults => commands::faults(args)?,
        }
    }
    Ok(())
}

impl TimestampsArgs {
    /// A history of the usual size: a database that keeps the level, 50 sessions, and what else is usual for the
    /// workload. Of `mix`, that is the paper's default.
    fn plan(&self, kind: Kind, level: Level) -> StampedPlan {
        let workload = Settings { sessions: 50, seed: self.seed, ..Settings::new(kind) };
        let database = Database::that_keeps(level);
        let style = TimestampStyle::Plain;
        StampedPlan { workload, database, level, txns: self.txns, style, faults: 0, drift: 0 }
    }
}

/// What a history with timestamps shall be like, and the level that it is asked about.
#[derive(Clone)]
struct StampedPlan {
    workload: Settings,
    database: Database,
    level: Level,
    txns: u64,
    style: TimestampStyle,
    /// How many faults of all kinds are planted.
    faults: u64,
    /// By how many ticks clocks are off. Already one spoils some reads of nearly every key.
    drift: u32,
}

impl StampedPlan {
    /// A line with what was asked for.
    fn line(&self, part: &str) -> Value {
        let reads = (self.workload.kind == Kind::Mix).then(|| self.workload.reads.unwrap_or(0.5));
        json!({
            "bench": "timestamps",
            "part": part,
            "workload": self.workload.kind.name(),
            "level": self.level.name(),
            "timestamps": self.style.name(),
            "transactions": self.txns,
            "sessions": self.workload.sessions,
            "operations_a_transaction": self.workload.max_txn_len,
            "reads": reads,
            "keys": self.workload.keys,
            "distribution": self.workload.distribution.to_string(),
            "faults": self.faults,
            "clock_drift": self.drift,
            "seed": self.workload.seed,
        })
    }
}
