//! What is measured, as it is typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use isolde_spec::Level;
use isolde_workload::simulate::Database;
use isolde_workload::{Kind, Settings};

use crate::plan;

#[derive(clap::Args)]
pub(crate) struct StreamArgs {
    /// Only these parts; `one` is the stream that the other options say, in this process
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(super) only: Vec<StreamPart>,
    #[command(flatten)]
    pub(super) case: StreamCase,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum StreamPart {
    /// One stream, as the other options say
    One,
    /// In order and delayed, with promises and without
    Rate,
    /// From lines of JSON instead of decoded batches
    Jsonl,
    /// Key spaces: a thousand keys, TPC-C, Twitter
    Keys,
    /// By how much memory there is (figure 16)
    Memory,
    /// Collection policies, SI and SER (figure 12)
    Collect,
    /// How often verdicts flip, by the mean and the deviation of delays (figures 13, 14, 17 and 18)
    Flips,
    /// Many violations against none; snapshots held to serializability, online and offline (figure 25)
    Violations,
}

/// One stream, and what it is held to.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct StreamCase {
    /// How many transactions
    #[arg(long, default_value_t = 20_000_000)]
    pub(super) txns: u64,
    /// How many sessions run them
    #[arg(long, default_value_t = 24)]
    pub(super) sessions: u32,
    /// How many operations a transaction has, where the workload leaves that open
    #[arg(long, default_value_t = 8)]
    pub(super) ops: u32,
    /// How many transactions a batch has
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) batch: u32,
    /// What transactions do: mix, tpcc, twitter, rubis, general
    #[arg(long, default_value = "mix", value_parser = plan::kind)]
    pub(super) workload: Kind,
    /// How many keys, users or warehouses there are; what is usual for the workload if nothing is said
    #[arg(long)]
    pub(super) keys: Option<u32>,
    /// Which share of the operations reads, from 0 to 1 (mix only)
    #[arg(long, value_name = "SHARE")]
    pub(super) reads: Option<f64>,
    /// What the stream is fed: decoded batches, or lines that are decoded while the clock runs
    #[arg(long, value_enum, default_value_t = FedAs::Batches)]
    pub(super) from: FedAs,
    /// How many megabytes the stream may hold in memory
    #[arg(long, value_name = "MB", default_value_t = 512)]
    pub(super) memory: u64,
    /// How transactions arrive: in-order, or normal:100ms,10ms
    #[arg(long, default_value = "in-order")]
    pub(super) order: ArrivalOrder,
    /// How many transactions a second there are by the clock that the stream is told
    #[arg(long, default_value_t = 400_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rate: u64,
    /// Whether sessions promise what is still to come
    #[arg(long, value_enum, default_value_t = YesNo::Yes)]
    pub(super) promises: YesNo,
    /// After how many milliseconds a verdict is final without promises
    #[arg(long, value_name = "MS", default_value_t = 5_000)]
    pub(super) timeout: i64,
    /// Which share of the transactions reads something wrong, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(super) violations: f64,
    /// What the stream is held to: si or ser
    #[arg(long, default_value = "si", value_parser = level)]
    pub(super) level: Level,
    /// What the simulated database keeps; the level if nothing is said
    #[arg(long, value_parser = plan::database)]
    pub(super) database: Option<Database>,
    /// Where what does not fit into memory goes
    #[arg(long, default_value = "/tmp")]
    pub(super) folder: PathBuf,
    /// What all choices follow from
    #[arg(long, default_value_t = 7)]
    pub(super) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum YesNo {
    Yes,
    No,
}

/// What the stream is fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum FedAs {
    Batches,
    Jsonl,
}

impl StreamCase {
    /// What the sessions do.
    pub(super) fn settings(&self) -> Settings {
        let usual = Settings::new(self.workload);
        let keys = self.keys.unwrap_or(usual.keys);
        let (max_txn_len, sessions, seed) = (self.ops, self.sessions, self.seed);
        Settings { keys, max_txn_len, reads: self.reads, sessions, seed, ..usual }
    }

    pub(super) fn database(&self) -> Database {
        self.database.unwrap_or_else(|| Database::that_keeps(self.level))
    }

    /// As it would be typed, for a process of its own.
    pub(super) fn typed(&self) -> Vec<String> {
        let mut typed = vec![
            format!("--txns={}", self.txns),
            format!("--sessions={}", self.sessions),
            format!("--ops={}", self.ops),
            format!("--batch={}", self.batch),
            format!("--workload={}", self.workload.name()),
            format!("--from={}", plan::name(&self.from)),
            format!("--memory={}", self.memory),
            format!("--order={}", self.order),
            format!("--rate={}", self.rate),
            format!("--promises={}", plan::name(&self.promises)),
            format!("--timeout={}", self.timeout),
            format!("--violations={}", self.violations),
            format!("--level={}", self.level.name()),
            format!("--database={}", self.database().name()),
            format!("--folder={}", self.folder.display()),
            format!("--seed={}", self.seed),
        ];
        typed.extend(self.reads.map(|reads| format!("--reads={reads}")));
        typed.extend(self.keys.map(|keys| format!("--keys={keys}")));
        typed
    }
}

fn level(name: &str) -> Result<Level, String> {
    let level = Level::named(name);
    level.ok_or_else(|| "levels with rules by timestamps are si and ser".to_owned())
}

/// How transactions arrive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ArrivalOrder {
    /// As they committed.
    InOrder,
    /// Each later by a normal variate, in milliseconds; those of a session keep their order.
    Delayed { mean: u32, deviation: u32 },
}

impl fmt::Display for ArrivalOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalOrder::InOrder => f.write_str("in-order"),
            ArrivalOrder::Delayed { mean, deviation } => write!(f, "normal:{mean}ms,{deviation}ms"),
        }
    }
}

impl FromStr for ArrivalOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<ArrivalOrder, String> {
        if text == "in-order" {
            return Ok(ArrivalOrder::InOrder);
        }
        let times = text.strip_prefix("normal:").and_then(|times| times.split_once(','));
        let ms = |text: &str| text.strip_suffix("ms")?.parse().ok();
        let delayed = times.and_then(|(mean, deviation)| {
            Some(ArrivalOrder::Delayed { mean: ms(mean)?, deviation: ms(deviation)? })
        });
        delayed.ok_or_else(|| "expected in-order, or delays such as normal:100ms,10ms".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_written_as_they_are_read() {
        for text in ["in-order", "normal:100ms,10ms"] {
            assert_eq!(text.parse::<ArrivalOrder>().unwrap().to_string(), text);
        }
        for wrong in ["", "normal", "normal:1s,1s", "normal:100ms"] {
            assert!(wrong.parse::<ArrivalOrder>().is_err(), "{wrong}");
        }
    }
}
