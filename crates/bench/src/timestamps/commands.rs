//! What is measured with whole commands.

use anyhow::Result;
use isolde_spec::Level;
use isolde_workload::Kind;
use isolde_workload::simulate::TimestampStyle;
use serde_json::json;

use super::args::TimestampsArgs;
use super::file::StampedFile;
use super::process::{ProcessTook, TimedCommand};
use super::stamped_plan::StampedPlan;
use crate::measure::round;

const SI: Level = Level::SnapshotIsolation;
const SER: Level = Level::Serializable;

/// The paper's default workload, by size.
pub(super) fn sizes(args: &TimestampsArgs) -> Result<()> {
    let times: &[u64] = if args.large { &[1, 10, 20, 50, 100] } else { &[1, 10, 20] };
    for times in times {
        let plan = args.plan(Kind::Mix, SI);
        let plan = StampedPlan { txns: args.txns * times, ..plan };
        told(args, &plan, "commands")?;
    }
    Ok(())
}

/// Memory over time, of a history that one sweep clears and of lists, which are looked at one by one.
pub(super) fn memory(args: &TimestampsArgs) -> Result<()> {
    for kind in [Kind::Mix, Kind::Append] {
        let plan = StampedPlan { txns: args.txns * 10, ..args.plan(kind, SI) };
        let (_, took) = measured(args, &plan)?;
        let mut line = plan.line("memory");
        took.show(&mut line);
        line["sample_ms"] = json!(20);
        line["resident_mb"] = json!(took.resident_mb);
        println!("{line}");
    }
    Ok(())
}

/// Other workloads, other timestamps, and the order of commits.
pub(super) fn workloads(args: &TimestampsArgs) -> Result<()> {
    let hybrid = |plan| StampedPlan { style: TimestampStyle::Hybrid, ..plan };
    let plans = [
        args.plan(Kind::Twitter, SI),
        args.plan(Kind::Twitter, SER),
        args.plan(Kind::Rubis, SI),
        args.plan(Kind::Rubis, SER),
        args.plan(Kind::Tpcc, SI),
        args.plan(Kind::Tpcc, SER),
        args.plan(Kind::Append, SI),
        args.plan(Kind::Append, SER),
        hybrid(args.plan(Kind::Mix, SI)),
        args.plan(Kind::Mix, SER),
    ];
    for plan in plans {
        for times in [1, 10] {
            told(args, &StampedPlan { txns: plan.txns * times, ..plan.clone() }, "workloads")?;
        }
    }
    Ok(())
}

/// How much longer a history with a tenth as many faults as the small size has transactions takes than a clean one.
pub(super) fn faults(args: &TimestampsArgs) -> Result<()> {
    for kind in [Kind::Mix, Kind::Mini, Kind::Append] {
        for times in [1, 10] {
            let clean = StampedPlan { txns: args.txns * times, ..args.plan(kind, SI) };
            let (_, without) = measured(args, &clean)?;
            let faulty = StampedPlan { faults: args.txns / 10, ..clean };
            let (_, with) = measured(args, &faulty)?;
            let mut line = faulty.line("faults");
            with.show(&mut line);
            line["clean_seconds"] = json!(round(without.seconds));
            line["clean_cpu_seconds"] = json!(without.cpu_seconds.map(round));
            line["clean_peak_mb"] = json!(without.peak_mb.map(round));
            line["ratio"] = json!(round(with.seconds / without.seconds));
            println!("{line}");
        }
    }
    Ok(())
}

fn measured(args: &TimestampsArgs, plan: &StampedPlan) -> Result<(StampedFile, ProcessTook)> {
    let file = StampedFile::new(&args.folder, plan)?;
    let isolde = args.command.isolde()?;
    let command = TimedCommand { isolde: &isolde, file: &file.path, level: plan.level };
    let took = command.measure(args.command.runs)?;
    Ok((file, took))
}

fn told(args: &TimestampsArgs, plan: &StampedPlan, part: &str) -> Result<()> {
    let (file, took) = measured(args, plan)?;
    let mut line = plan.line(part);
    took.show(&mut line);
    line["file_bytes"] = json!(file.bytes);
    line["make_seconds"] = json!(round(file.seconds));
    println!("{line}");
    Ok(())
}
