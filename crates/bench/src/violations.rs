//! How much longer a history with many violations takes than a clean one.

use anyhow::Result;
use isolde_spec::Level;
use serde_json::json;

use crate::measure::{self, Runs, round};
use crate::plan::{Plan, name};

#[derive(clap::Args)]
pub(crate) struct ViolationsArgs {
    #[command(flatten)]
    plan: Plan,
    /// The levels to decide
    #[arg(long, value_delimiter = ',', default_value = "ser,si,sser", value_parser = measure::level)]
    levels: Vec<Level>,
    /// How often each level is decided on each history; the fastest counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

pub(crate) fn run(args: &ViolationsArgs) -> Result<()> {
    let plan = &args.plan;
    let clean = measure::make(&Plan { planted: 0, ..plan.clone() })?;
    let spoilt = measure::make(plan)?;
    let mut all = vec![[Runs::default(), Runs::default()]; args.levels.len()];
    // In turns, so that whatever else the machine does hits both alike.
    for _ in 0..args.runs {
        for (&level, runs) in args.levels.iter().zip(&mut all) {
            runs[0].run(&clean.history, level);
            runs[1].run(&spoilt.history, level);
        }
    }
    for (level, [without, with]) in args.levels.iter().zip(&all) {
        let line = json!({
            "bench": "violations",
            "level": level.name(),
            "workload": plan.workload.name(),
            "distribution": plan.distribution.to_string(),
            "database": plan.database.name(),
            "sessions": plan.sessions,
            "keys": plan.keys,
            "order": name(&plan.order),
            "transactions": spoilt.history.txn_count(),
            "operations": spoilt.history.op_count(),
            "planted": plan.planted,
            "clean_answer": without.answer,
            "answer": with.answer,
            "counted": with.counted,
            "clean_seconds": round(without.best()),
            "seconds": round(with.best()),
            "ratio": round(with.best() / without.best()),
            "clean_peak_bytes_per_operation":
                round(without.peak as f64 / clean.history.op_count() as f64),
            "peak_bytes_per_operation":
                round(with.peak as f64 / spoilt.history.op_count() as f64),
        });
        println!("{line}");
    }
    Ok(())
}
