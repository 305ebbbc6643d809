//! What a history to measure with shall be like, as it is typed.

use anyhow::{Result, ensure};
use clap::ValueEnum;
use isolde_history::{History, HistoryBuilder};
use isolde_workload::simulate::{self, Database, Planted, simulate, simulate_by_session};
use isolde_workload::{Distribution, Kind, Settings};

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
    /// How many of a hundred sessions run a transaction at the same time
    #[arg(long, default_value_t = 100.0)]
    pub(crate) concurrency: f64,
    /// On how many keys; of lists and compare-and-set, on how many at a time
    #[arg(long, default_value_t = 10_000)]
    pub(crate) keys: u32,
    /// How often each key is touched: uniform, zipf:EXPONENT, hotspot:KEYS/OPERATIONS, exponential
    #[arg(long, default_value = "uniform")]
    pub(crate) distribution: Distribution,
    /// What transactions do: mini, general, append, cas, register
    #[arg(long, default_value = "mini", value_parser = kind)]
    pub(crate) workload: Kind,
    /// How many operations a transaction has at most; general: exactly
    #[arg(long)]
    pub(crate) max_txn_len: Option<u32>,
    /// What the simulated database keeps: read-committed, prefix, snapshot, serializable
    #[arg(long, default_value = "serializable", value_parser = database)]
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
    /// After how many elements a list makes room for a new one, roughly
    #[arg(long, value_name = "ELEMENTS", default_value_t = 64)]
    pub(crate) list_length: u32,
    /// Read every list once more when it has stopped growing, so that the order of all elements is
    /// known; otherwise, as in Jepsen's histories, the last ones may never be read
    #[arg(long)]
    pub(crate) read_out: bool,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    pub(crate) seed: u64,
}

impl Plan {
    /// Makes the history.
    pub(crate) fn make(&self) -> Result<History> {
        let plan = self.simulated()?;
        if self.order == Order::Session {
            return Ok(simulate_by_session(&plan)?.0.finish());
        }
        let mut builder = HistoryBuilder::new();
        simulate(&plan, &mut builder)?;
        Ok(builder.finish())
    }

    fn simulated(&self) -> Result<simulate::Plan> {
        ensure!(self.list_length > 0, "a list has to take at least one element");
        let usual = Settings::new(self.workload);
        let mut workload = Settings {
            keys: self.keys,
            distribution: self.distribution,
            max_txn_len: self.max_txn_len.unwrap_or(usual.max_txn_len),
            sessions: self.sessions,
            seed: self.seed,
            ..usual
        };
        if self.workload == Kind::Append && self.keys > 1 && self.sessions > 0 {
            workload.round = workload.round_for_lists(self.list_length);
        }
        Ok(simulate::Plan {
            workload,
            database: self.database,
            txns: self.txns,
            concurrency: self.concurrency,
            planted: vec![Planted { anomaly: None, count: self.planted }],
            aborted: self.aborted,
            intervals: !self.no_intervals,
            read_out: self.read_out,
            ..simulate::Plan::default()
        })
    }
}

/// A kind of workload by its name.
pub(crate) fn kind(name: &str) -> Result<Kind, String> {
    let kind = Kind::named(name);
    kind.ok_or_else(|| format!("workloads are {}", Kind::ALL.map(Kind::name).join(", ")))
}

/// A simulated database by its name.
pub(crate) fn database(name: &str) -> Result<Database, String> {
    let database = Database::named(name);
    database
        .ok_or_else(|| format!("databases are {}", Database::ALL.map(Database::name).join(", ")))
}

/// The name of a choice, as on the command line.
pub(crate) fn name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
}
