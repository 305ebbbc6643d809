//! How much speed depends on the shape of the workload: the sweeps of the paper's figures 7 and 8.
//!
//! All points of a sweep are measured once, then all again, and the best of each counts: whatever
//! else the machine does hits all alike.

use anyhow::Result;
use clap::ValueEnum;
use isolde_spec::Level;
use isolde_workload::Distribution;
use isolde_workload::simulate::Database;
use serde_json::json;

use crate::measure::{self, Runs, round};
use crate::plan::{Order, Plan, name};

#[derive(clap::Args)]
pub(crate) struct SweepArgs {
    /// What all points have in common; each sweep changes one thing
    #[command(flatten)]
    plan: Plan,
    /// Only these sweeps
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Sweep>,
    /// The levels to decide, each on histories of a database that promises no more
    #[arg(long, value_delimiter = ',', default_value = "ser,si", value_parser = measure::level)]
    levels: Vec<Level>,
    /// How many rounds there are; the fastest counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Up to how many transactions the sizes go
    #[arg(long, value_name = "COUNT", default_value_t = 10_000_000)]
    max_txns: u64,
}

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Sweep {
    Distribution,
    Keys,
    Sessions,
    Order,
    Size,
}

const DISTRIBUTIONS: [Distribution; 4] = [
    Distribution::Uniform,
    Distribution::Zipf(1.0),
    Distribution::Hotspot { keys: 20.0, operations: 80.0 },
    Distribution::Exponential,
];
const KEYS: [u32; 7] = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
const SESSIONS: [u32; 6] = [5, 10, 20, 50, 100, 200];
const SIZES: [u64; 7] = [100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000];

/// One history, and what was measured on it.
struct Point {
    value: String,
    plan: Plan,
    operations: usize,
    transactions: usize,
    runs: Runs,
}

impl Point {
    fn micros_per_txn(&self) -> f64 {
        self.runs.best() * 1e6 / self.transactions as f64
    }
}

pub(crate) fn run(args: &SweepArgs) -> Result<()> {
    for sweep in Sweep::value_variants().iter().copied() {
        if !args.only.is_empty() && !args.only.contains(&sweep) {
            continue;
        }
        for &level in &args.levels {
            let mut points = points(args, sweep, level);
            if sweep == Sweep::Size {
                made_anew(&mut points, level, args.runs)?;
            } else {
                made_once(&mut points, level, args.runs)?;
            }
            print(sweep, level, &points);
        }
    }
    Ok(())
}

fn points(args: &SweepArgs, sweep: Sweep, level: Level) -> Vec<Point> {
    let serial = level.implies(Level::Serializable);
    let database = if serial { Database::Serializable } else { Database::Snapshot };
    let base = Plan { database, ..args.plan.clone() };
    let with = |value: String, plan: Plan| Point {
        value,
        plan,
        operations: 0,
        transactions: 0,
        runs: Runs::default(),
    };
    let base = || base.clone();
    match sweep {
        Sweep::Distribution => DISTRIBUTIONS
            .map(|distribution| with(distribution.to_string(), Plan { distribution, ..base() }))
            .into(),
        Sweep::Keys => KEYS.map(|keys| with(keys.to_string(), Plan { keys, ..base() })).into(),
        Sweep::Sessions => {
            SESSIONS.map(|sessions| with(sessions.to_string(), Plan { sessions, ..base() })).into()
        }
        Sweep::Order => [Order::Completion, Order::Session]
            .map(|order| with(name(&order), Plan { order, ..base() }))
            .into(),
        Sweep::Size => {
            let sizes = SIZES.into_iter().filter(|txns| *txns <= args.max_txns);
            sizes.map(|txns| with(txns.to_string(), Plan { txns, ..base() })).collect()
        }
    }
}

/// Histories of equal size are small enough to be kept for all rounds.
fn made_once(points: &mut [Point], level: Level, rounds: u32) -> Result<()> {
    let plans = points.iter().map(|point| measure::make(&point.plan));
    let made = plans.collect::<Result<Vec<_>>>()?;
    for _ in 0..rounds {
        for (point, made) in points.iter_mut().zip(&made) {
            point.take(&made.history, level);
        }
    }
    Ok(())
}

/// Large ones are made again in every round, so that only one of them is there at a time.
fn made_anew(points: &mut [Point], level: Level, rounds: u32) -> Result<()> {
    for _ in 0..rounds {
        for point in &mut *points {
            let made = measure::make(&point.plan)?;
            point.take(&made.history, level);
        }
    }
    Ok(())
}

impl Point {
    fn take(&mut self, history: &isolde_history::History, level: Level) {
        self.transactions = history.txn_count();
        self.operations = history.op_count();
        self.runs.run(history, level);
    }
}

fn print(sweep: Sweep, level: Level, points: &[Point]) {
    for point in points {
        let Point { plan, runs, .. } = point;
        let line = json!({
            "bench": "sweep",
            "sweep": name(&sweep),
            "value": point.value,
            "level": level.name(),
            "workload": plan.workload.name(),
            "distribution": plan.distribution.to_string(),
            "database": plan.database.name(),
            "sessions": plan.sessions,
            "keys": plan.keys,
            "order": name(&plan.order),
            "transactions": point.transactions,
            "operations": point.operations,
            "answer": runs.answer,
            "seconds": round(runs.best()),
            "seconds_median": round(runs.median()),
            "seconds_per_million": round(point.micros_per_txn()),
            "peak_bytes_per_operation": round(runs.peak as f64 / point.operations as f64),
        });
        println!("{line}");
    }
    let by_speed = |a: &&Point, b: &&Point| a.micros_per_txn().total_cmp(&b.micros_per_txn());
    let (fastest, slowest) = (points.iter().min_by(by_speed), points.iter().max_by(by_speed));
    if let (Some(fastest), Some(slowest)) = (fastest, slowest) {
        let line = json!({
            "bench": "sweep-summary",
            "sweep": name(&sweep),
            "level": level.name(),
            "fastest": fastest.value,
            "fastest_seconds_per_million": round(fastest.micros_per_txn()),
            "slowest": slowest.value,
            "slowest_seconds_per_million": round(slowest.micros_per_txn()),
            "ratio": round(slowest.micros_per_txn() / fastest.micros_per_txn()),
        });
        println!("{line}");
    }
}
