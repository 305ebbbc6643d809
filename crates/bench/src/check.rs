//! How fast levels are decided.

use std::path::PathBuf;

use anyhow::Result;
use isolde_spec::Level;
use serde_json::{Value, json};

use crate::command::Command;
use crate::measure::{self, Made, Runs, round};
use crate::plan::{Plan, name};

#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    plan: Plan,
    /// The levels to decide
    #[arg(long, value_delimiter = ',', default_value = "ser,si,sser", value_parser = measure::level)]
    levels: Vec<Level>,
    /// How often each level is decided; the fastest and the median count
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The isolde command, to measure a whole `isolde check` of a file as well
    #[arg(long, value_name = "ISOLDE")]
    command: Option<PathBuf>,
    /// Where that file goes
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
}

pub(crate) fn run(args: &CheckArgs) -> Result<()> {
    let made = measure::make(&args.plan)?;
    let command = match &args.command {
        Some(path) => Some(Command::new(path, &args.folder, &made.history, "isolde")?),
        None => None,
    };
    for &level in &args.levels {
        let mut runs = Runs::default();
        for _ in 0..args.runs {
            runs.run(&made.history, level);
        }
        let mut line = line(&args.plan, &made, level, &runs);
        if let Some(command) = &command {
            let took = command.check(level, args.runs)?;
            line["command_seconds"] = json!(round(took.seconds));
            line["command_peak_mb"] = json!(took.peak_mb.map(round));
            line["file_bytes"] = json!(command.file_bytes());
        }
        println!("{line}");
    }
    Ok(())
}

fn line(plan: &Plan, made: &Made, level: Level, runs: &Runs) -> Value {
    let (txns, ops) = (made.history.txn_count() as f64, made.history.op_count() as f64);
    json!({
        "bench": "check",
        "level": level.name(),
        "workload": plan.workload.name(),
        "distribution": plan.distribution.to_string(),
        "database": plan.database.name(),
        "sessions": plan.sessions,
        "keys": plan.keys,
        "order": name(&plan.order),
        "seed": plan.seed,
        "transactions": made.history.txn_count(),
        "operations": made.history.op_count(),
        "list_elements": made.history.element_count(),
        "planted": plan.planted,
        "answer": runs.answer,
        "counted": runs.counted,
        "make_seconds": round(made.seconds),
        "seconds": round(runs.best()),
        "seconds_median": round(runs.median()),
        "transactions_per_s": (txns / runs.best()) as u64,
        "history_bytes_per_operation": round(made.bytes as f64 / ops),
        "peak_bytes_per_operation": round(runs.peak as f64 / ops),
    })
}
