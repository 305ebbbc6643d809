//! Which streams each part measures. Each is a process of its own, so that no line has memory of another one.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use isolde_spec::Level;
use isolde_workload::simulate::Database;
use isolde_workload::{Kind, Settings};
use serde_json::{Value, json};

use super::args::{ArrivalOrder, FedAs, StreamCase, YesNo};
use super::offline;
use crate::measure::round;

const SI: Level = Level::SnapshotIsolation;
const SER: Level = Level::Serializable;

/// The delays of most experiments.
const DELAYED: ArrivalOrder = ArrivalOrder::Delayed { mean: 100, deviation: 10 };

/// In order and delayed, with promises and without.
pub(super) fn rate(base: &StreamCase) -> Result<()> {
    for promises in [YesNo::Yes, YesNo::No] {
        for order in [ArrivalOrder::InOrder, DELAYED] {
            told("rate", &StreamCase { order, promises, ..base.clone() })?;
        }
    }
    Ok(())
}

/// From lines of JSON.
pub(super) fn jsonl(base: &StreamCase) -> Result<()> {
    for order in [ArrivalOrder::InOrder, DELAYED] {
        told("jsonl", &StreamCase { order, from: FedAs::Jsonl, ..base.clone() })?;
    }
    Ok(())
}

/// More warehouses of TPC-C than the usual one, for a large key space.
const WAREHOUSES: u32 = 100;

/// Key spaces. New rows of TPC-C and Twitter take the places of the oldest, so that the number of keys is bounded.
pub(super) fn keys(base: &StreamCase) -> Result<()> {
    let many = base.keys.or(Some(WAREHOUSES));
    let spaces =
        [(Kind::Mix, base.keys), (Kind::Tpcc, None), (Kind::Tpcc, many), (Kind::Twitter, None)];
    for (workload, keys) in spaces {
        for order in [ArrivalOrder::InOrder, DELAYED] {
            told("keys", &StreamCase { workload, keys, order, ..base.clone() })?;
        }
    }
    Ok(())
}

/// By how much memory there is.
pub(super) fn memory(base: &StreamCase) -> Result<()> {
    for promises in [YesNo::Yes, YesNo::No] {
        for memory in [64, 128, 256, 512] {
            told("memory", &StreamCase { memory, promises, order: DELAYED, ..base.clone() })?;
        }
    }
    Ok(())
}

/// More memory than any stream here takes.
const NO_LIMIT: u64 = 64 << 10;
/// So little that something has to leave after every few batches.
const NO_ROOM: u64 = 8;
/// How many transactions the paper's streams have that measure throughput.
const PAPER_TXNS: u64 = 500_000;

/// The share of reads of the paper's serializable histories.
const MANY_READS: Option<f64> = Some(0.9);

/// The paper's three policies: nothing is collected, what is final is collected, there is never room.
pub(super) fn collect(base: &StreamCase) -> Result<()> {
    let usual = StreamCase { txns: PAPER_TXNS.min(base.txns), ..base.clone() };
    let workloads = [(Kind::Mix, SI), (Kind::Mix, SER), (Kind::Twitter, SI), (Kind::Rubis, SI)];
    for (workload, level) in workloads {
        let reads = MANY_READS.filter(|_| workload == Kind::Mix && level == SER);
        let case = StreamCase { workload, level, reads, database: None, ..usual.clone() };
        let policies = [
            ("none", YesNo::No, NO_LIMIT),
            ("final", YesNo::Yes, base.memory),
            ("no room", YesNo::No, NO_ROOM),
        ];
        for (policy, promises, memory) in policies {
            let mut line = measured(&StreamCase { promises, memory, ..case.clone() })?;
            line["policy"] = json!(policy);
            print("collect", line);
        }
    }
    Ok(())
}

/// Flips of the paper's default workload, each transaction on its own as its delay says. How many there are depends on
/// how many transactions there are within a delay, so on the rate.
pub(super) fn flips(base: &StreamCase) -> Result<()> {
    let settings = Settings::new(Kind::Mix);
    let usual = StreamCase {
        txns: 10_000,
        sessions: 50,
        ops: settings.max_txn_len,
        workload: Kind::Mix,
        keys: None,
        batch: 1,
        promises: YesNo::No,
        ..base.clone()
    };
    let means = [50, 100, 150, 200].map(|mean| (mean, 10));
    let deviations = [1, 5, 20, 30, 40, 50].map(|deviation| (100, deviation));
    for rate in [400, 10_000] {
        for (mean, deviation) in means.into_iter().chain(deviations) {
            let order = ArrivalOrder::Delayed { mean, deviation };
            told("flips", &StreamCase { rate, order, ..usual.clone() })?;
        }
    }
    Ok(())
}

/// The usual share of violations.
const WRONG: f64 = 0.02;

/// Many violations against none, and snapshots held to serializability: as many online as offline.
pub(super) fn violations(base: &StreamCase) -> Result<()> {
    for order in [ArrivalOrder::InOrder, DELAYED] {
        let clean = told("violations", &StreamCase { order, violations: 0.0, ..base.clone() })?;
        let share = if base.violations > 0.0 { base.violations } else { WRONG };
        let mut wrong = measured(&StreamCase { order, violations: share, ..base.clone() })?;
        let rate = |line: &Value| line["rate"].as_f64().unwrap_or(0.0);
        wrong["of_clean"] = json!(round(rate(&wrong) / rate(&clean).max(1.0)));
        print("violations", wrong);
    }
    let (txns, database) = (PAPER_TXNS.min(base.txns), Some(Database::Snapshot));
    let reads = MANY_READS.filter(|_| base.workload == Kind::Mix);
    let case = StreamCase { txns, level: SER, database, reads, violations: 0.0, ..base.clone() };
    for order in [ArrivalOrder::InOrder, DELAYED] {
        let case = StreamCase { order, ..case.clone() };
        let mut line = measured(&case)?;
        offline::compare(&case, &mut line)?;
        print("violations", line);
    }
    Ok(())
}

/// Measures a stream in a process of its own, and prints its line.
fn told(part: &str, case: &StreamCase) -> Result<Value> {
    let line = measured(case)?;
    print(part, line.clone());
    Ok(line)
}

fn print(part: &str, mut line: Value) {
    line["part"] = json!(part);
    println!("{line}");
}

fn measured(case: &StreamCase) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["stream", "--only=one"]).args(case.typed()).stderr(Stdio::inherit());
    let output = command.output().context("cannot start a process for a stream")?;
    ensure!(output.status.success(), "a stream failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("a stream told something else than a line")
}
