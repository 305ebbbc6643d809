//! The timestamps of a history without a database.

use isolde_workload::simulate::{PlantedFault, TimestampStyle, Timestamps};

use crate::typed::{small_count, style};

/// Timestamps of the simulated database.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Timestamps")]
pub(crate) struct StampArgs {
    /// Record when the database started and committed each transaction: plain (one number) or hybrid
    /// (coarse time and a counter) [default: plain]. Some transactions that only read have no commit
    /// timestamp, or that of their start. At serializable levels the history says that the commit
    /// timestamps are a serial order
    #[arg(
        long,
        value_name = "STYLE",
        num_args = 0..=1,
        default_missing_value = "plain",
        value_parser = style
    )]
    pub(crate) timestamps: Option<TimestampStyle>,
    /// Let the clock of each session be off by up to N ticks. The timestamps then contradict what the
    /// transactions saw: the history violates its level by timestamps, though not by values
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = small_count)]
    #[arg(requires = "timestamps")]
    pub(crate) clock_drift: u32,
    /// Plant timestamps that break a rule, where the values show nothing: a fault and how many, such as
    /// swapped:10, or a number for all faults in turn; several with commas. Faults: start-early,
    /// start-late, commit-early, commit-late, swapped, duplicated, stale-read, early-read,
    /// overlapping-writers, session-overlap
    #[arg(long, value_name = "FAULT:COUNT", value_delimiter = ',', requires = "timestamps")]
    pub(crate) plant_timestamps: Vec<PlantedFault>,
}

impl StampArgs {
    /// What is asked for, if timestamps are.
    pub(crate) fn timestamps(&self) -> Option<Timestamps> {
        Some(Timestamps {
            style: self.timestamps?,
            drift: self.clock_drift,
            readers_commit: false,
            planted: self.plant_timestamps.clone(),
        })
    }
}
