//! The six parameters of the paper's table I, one changed at a time.

use anyhow::Result;
use isolde_check::Options;
use isolde_spec::Level;
use isolde_workload::{Distribution, Kind, Settings};
use serde_json::json;

use super::args::TimestampsArgs;
use super::file::StampedFile;
use super::staged::Staged;
use super::stamped_plan::StampedPlan;

const SESSIONS: [u32; 5] = [10, 20, 50, 100, 200];
const OPERATIONS: [u32; 5] = [5, 15, 30, 50, 100];
const READS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
const KEYS: [u32; 5] = [200, 500, 1_000, 2_000, 5_000];
const DISTRIBUTIONS: [Distribution; 3] = [
    Distribution::Uniform,
    Distribution::Zipf(1.0),
    Distribution::Hotspot { keys: 20.0, operations: 80.0 },
];

/// A parameter, its value and the history that it gives.
struct SweptPoint {
    parameter: &'static str,
    value: String,
    plan: StampedPlan,
}

pub(super) fn run(args: &TimestampsArgs) -> Result<()> {
    for point in points(args) {
        let file = StampedFile::new(&args.folder, &point.plan)?;
        let level = point.plan.level;
        let best = Staged::best(&file.path, level, &Options::default(), args.command.runs)?;
        let mut line = point.plan.line("sweeps");
        line["parameter"] = json!(point.parameter);
        line["value"] = json!(point.value);
        best.show(&mut line);
        println!("{line}");
    }
    Ok(())
}

fn points(args: &TimestampsArgs) -> Vec<SweptPoint> {
    let base = args.plan(Kind::Mix, Level::SnapshotIsolation);
    let usual = || base.workload.clone();
    let with = |parameter, value: String, workload: Settings| {
        let plan = StampedPlan { workload, ..base.clone() };
        SweptPoint { parameter, value, plan }
    };
    let mut all = Vec::new();
    for sessions in SESSIONS {
        all.push(with("sessions", sessions.to_string(), Settings { sessions, ..usual() }));
    }
    // From 5,000 to a million, at the usual size.
    for percent in [5, 20, 100, 200, 500, 1_000] {
        let txns = args.txns * percent / 100;
        let plan = StampedPlan { txns, ..base.clone() };
        all.push(SweptPoint { parameter: "transactions", value: txns.to_string(), plan });
    }
    for max_txn_len in OPERATIONS {
        let workload = Settings { max_txn_len, ..usual() };
        all.push(with("operations", max_txn_len.to_string(), workload));
    }
    for reads in READS {
        all.push(with("reads", reads.to_string(), Settings { reads: Some(reads), ..usual() }));
    }
    for keys in KEYS {
        all.push(with("keys", keys.to_string(), Settings { keys, ..usual() }));
    }
    for distribution in DISTRIBUTIONS {
        let workload = Settings { distribution, ..usual() };
        all.push(with("distribution", distribution.to_string(), workload));
    }
    all
}
