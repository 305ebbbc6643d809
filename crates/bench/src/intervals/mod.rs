//! How fast transactions are held to the mechanisms of their server, by client intervals.

mod smallbank;

use std::time::Instant;

use anyhow::{Context, Result};
use isolde_spec::Profile;
use isolde_stream::Arrivals;
use isolde_stream::intervals::IntervalFlow;
use serde_json::{Value, json};

use self::smallbank::SmallBank;
use crate::gauge::{Resident, thread_seconds};
use crate::measure::round;

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct IntervalsArgs {
    /// How many transactions
    #[arg(long, default_value = "2000000", value_parser = crate::intervals::count)]
    txns: u64,
    /// How many accounts, each with savings and checking
    #[arg(long, default_value = "1000")]
    accounts: u32,
    /// How many sessions
    #[arg(long, default_value = "24")]
    sessions: u32,
    /// How many transactions come at a time
    #[arg(long, default_value = "500")]
    batch: u32,
    /// By which profile; several with commas
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "postgresql/read-committed,postgresql/repeatable-read,postgresql/serializable,mariadb/serializable"
    )]
    profiles: Vec<String>,
    /// What all choices follow from
    #[arg(long, default_value = "7")]
    seed: u64,
}

/// A count with a suffix, as in 10m.
fn count(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'm') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    number.parse::<u64>().map(|n| n * factor).map_err(|e| e.to_string())
}

pub(crate) fn run(args: &IntervalsArgs) -> Result<()> {
    println!("{}", ordering(args));
    for name in &args.profiles {
        let profile = Profile::named(name).with_context(|| name.clone())?;
        println!("{}", mirrored(args, profile));
    }
    Ok(())
}

/// Into how many slices a run is cut, to see whether it gets slower or larger.
const SLICES: u64 = 20;

/// Transactions that come in the order of their ends, batch after batch.
fn mirrored(args: &IntervalsArgs, profile: &Profile) -> Value {
    let mut bank = SmallBank::new(args.accounts, args.sessions, args.seed);
    let mut flow = IntervalFlow::new(profile.clone());
    let (mut cpu, mut slices, mut made) = (0.0, Vec::new(), 0);
    let slice = (args.txns / SLICES).max(1);
    while made < args.txns {
        let (batch, began) = bank.batch(args.batch);
        let before = thread_seconds();
        flow.push(&batch);
        flow.all_began_before(began);
        cpu += thread_seconds() - before;
        made += batch.txn_count() as u64;
        if made / slice > slices.len() as u64 {
            let [waiting, rows, versions, edges] = flow.kept();
            slices.push(json!([
                round(cpu),
                round(Resident::now().now_mb),
                waiting,
                rows,
                versions,
                edges
            ]));
        }
    }
    let before = thread_seconds();
    flow.finish();
    cpu += thread_seconds() - before;
    let (decided, of) = flow.decided();
    json!({
        "bench": "intervals", "part": "mirror", "profile": profile.name(), "workload": "smallbank",
        "transactions": flow.decided_txns(), "violations": flow.violations(), "decided": decided, "of": of,
        "cpu_seconds": round(cpu), "rate": (flow.decided_txns() as f64 / cpu.max(1e-9)).round(),
        "resident_peak_mb": round(Resident::now().peak_mb),
        "slices": slices,
        "slice": "processor seconds, resident MB, waiting transactions, rows, versions, dependencies",
    })
}

/// The order of arrival alone: transactions of all sessions, put into the order of their beginnings.
fn ordering(args: &IntervalsArgs) -> Value {
    let sessions = args.sessions as usize;
    let mut arrivals: Arrivals<i64, u64> = Arrivals::new(1 << 14);
    let sources: Vec<_> = (0..sessions).map(|_| arrivals.open()).collect();
    let mut clocks = vec![0_i64; sessions];
    let (mut state, mut pushed, mut popped, mut cpu) = (args.seed, 0_u64, 0_u64, 0.0);
    let began = Instant::now();
    while pushed < args.txns {
        let mut batches: Vec<Vec<(i64, u64)>> = vec![Vec::new(); sessions];
        for number in 0..u64::from(args.batch) * sessions as u64 {
            let source = number as usize % sessions;
            clocks[source] += 1 + smallbank::random(&mut state, 1_000) as i64;
            batches[source].push((clocks[source], number));
        }
        pushed += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        let before = thread_seconds();
        for (source, batch) in sources.iter().zip(batches) {
            arrivals.push(*source, batch);
        }
        popped += drained(&mut arrivals);
        cpu += thread_seconds() - before;
    }
    let before = thread_seconds();
    sources.iter().for_each(|source| arrivals.end(*source));
    popped += drained(&mut arrivals);
    cpu += thread_seconds() - before;
    json!({
        "bench": "intervals", "part": "ordering", "transactions": popped, "cpu_seconds": round(cpu),
        "rate": (popped as f64 / cpu.max(1e-9)).round(), "seconds": round(began.elapsed().as_secs_f64()),
    })
}

fn drained(arrivals: &mut Arrivals<i64, u64>) -> u64 {
    let mut popped = 0;
    loop {
        let run = arrivals.pop();
        if run.is_empty() {
            return popped;
        }
        popped += run.len() as u64;
    }
}
