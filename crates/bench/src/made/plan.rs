//! What a simulated history shall be like.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::pick::Distribution;

/// What transactions do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Workload {
    /// Mini-transactions: one or two reads, up to two writes, each after a read of its key
    Mini,
    /// List-append: up to four appends and reads of lists
    List,
}

/// What the simulated database promises, and keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Database {
    /// Whoever writes commits only if what it read is still there
    Serializable,
    /// Reads are of one snapshot, and the first of two writers of a key wins
    Snapshot,
}

/// In which order transactions come in the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Order {
    /// As their answers arrive, as a recorder delivers them
    Completion,
    /// One session after another, as in logs of sessions
    Session,
}

/// What a simulated history shall be like.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Plan {
    /// How many transactions
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) txns: u64,
    /// How many sessions run them
    #[arg(long, default_value_t = 50)]
    pub(crate) sessions: u32,
    /// On how many keys; of lists, on how many at a time
    #[arg(long, default_value_t = 10_000)]
    pub(crate) keys: u32,
    /// How often each key is touched
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    pub(crate) distribution: Distribution,
    /// How steep the zipfian distribution is
    #[arg(long, default_value_t = 1.0)]
    pub(crate) exponent: f64,
    /// What transactions do
    #[arg(long, value_enum, default_value_t = Workload::Mini)]
    pub(crate) workload: Workload,
    /// What the simulated database promises, and keeps
    #[arg(long, value_enum, default_value_t = Database::Serializable)]
    pub(crate) database: Database,
    /// In which order transactions come in the history
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) order: Order,
    /// Leave the intervals out (strict levels are then unknown)
    #[arg(long)]
    pub(crate) no_intervals: bool,
    /// Which share of the aborted transactions stays in the history, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) aborted: f64,
    /// How many violations of various kinds to plant
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) planted: u64,
    /// After how many elements a list makes room for a new one
    #[arg(long, value_name = "ELEMENTS", default_value_t = 64)]
    pub(crate) list_length: usize,
    /// Read every list once more when it has stopped growing, so that the order of all elements is
    /// known; otherwise, as in Jepsen's histories, the last ones may never be read
    #[arg(long)]
    pub(crate) read_out: bool,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
}

impl Plan {
    /// Refuses what no simulation could do.
    pub(crate) fn validate(&self) -> Result<()> {
        ensure!(self.sessions > 0, "at least one session has to run the transactions");
        ensure!(self.keys > 1, "a transaction may touch two keys, so there have to be two");
        ensure!(self.list_length > 0, "a list has to take at least one element");
        ensure!((0.0..=1.0).contains(&self.aborted), "a share lies between 0 and 1");
        // The largest kind of violation takes four transactions; the rest has to stay the rule.
        ensure!(self.planted <= self.txns / 8, "too few transactions for so many violations");
        Ok(())
    }
}

/// The name of a choice, as on the command line.
pub(crate) fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
}
