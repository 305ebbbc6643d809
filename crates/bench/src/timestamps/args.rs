//! What is measured, as it is typed.

use std::path::PathBuf;

use clap::ValueEnum;
use isolde_spec::Level;
use isolde_workload::simulate::{Database, TimestampStyle};
use isolde_workload::{Kind, Settings};

use super::stamped_plan::StampedPlan;
use crate::command::CommandArgs;

#[derive(clap::Args)]
pub(crate) struct TimestampsArgs {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(super) only: Vec<Part>,
    #[command(flatten)]
    pub(super) command: CommandArgs,
    /// The size of what is measured at one size only; the large sizes grow with it
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(super) txns: u64,
    /// Whole commands with a hundred times as many transactions, too: half a gigabyte of file
    #[arg(long)]
    pub(super) large: bool,
    /// Where the files go
    #[arg(long, default_value = "/tmp")]
    pub(super) folder: PathBuf,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    pub(super) seed: u64,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Part {
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

impl TimestampsArgs {
    /// A history of the usual size: a database that keeps the level, 50 sessions, and what else is usual for the
    /// workload. Of `mix`, that is the paper's default.
    pub(super) fn plan(&self, kind: Kind, level: Level) -> StampedPlan {
        let workload = Settings { sessions: 50, seed: self.seed, ..Settings::new(kind) };
        let database = Database::that_keeps(level);
        let style = TimestampStyle::Plain;
        StampedPlan { workload, database, level, txns: self.txns, style, faults: 0, drift: 0 }
    }
}
