//! `isolde generate`.

use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::{Format, HistoryBuilder, JsonlWriter, NativeWriter, Sink, SinkError, info};
use isolde_job::{output, shown};
use isolde_spec::Level;
use isolde_workload::simulate::{
    Database, Plan, SimulateError, Simulated, simulate_by_session, simulate_watched,
};
use isolde_workload::{Kind, Settings};

use crate::args::{GenerateArgs, Order};
use crate::progress::Progress;

pub(crate) fn run(args: &GenerateArgs) -> Result<()> {
    let plan = plan(args)?;
    let target = output::format(&args.to, args.to_format.as_deref())?;
    output::may_write(&args.to, args.force)?;
    let style = "{spinner} generating {human_pos} of {human_len} {elapsed}";
    let progress = Progress::bar(args.txns, style);
    let mut done = Simulated::default();
    output::write(&args.to, args.force, |out| {
        let watch = &mut |txns| progress.reach(txns);
        done = generate(args, &plan, target, out, watch)?;
        Ok(())
    })?;
    progress.clear();
    let Simulated { txns, committed, ops, planted } = done;
    let rolled_back = txns - committed;
    anstream::eprintln!(
        "{}: {txns} transactions ({rolled_back} rolled back), {ops} operations, {planted} planted, seed {}",
        shown(&args.to),
        args.seed
    );
    Ok(())
}

fn plan(args: &GenerateArgs) -> Result<Plan> {
    let usual = Settings::new(args.workload);
    let workload = Settings {
        keys: args.keys.unwrap_or(usual.keys),
        distribution: args.distribution,
        max_txn_len: args.max_txn_len.unwrap_or(usual.max_txn_len),
        sessions: args.sessions,
        favour: args.favour,
        rollbacks: args.rollbacks,
        round: args.round,
        seed: args.seed,
        ..usual
    };
    let own_length = matches!(args.workload, Kind::Mini | Kind::Cas);
    if own_length && args.max_txn_len.is_some_and(|len| len != usual.max_txn_len) {
        bail!("transactions of the workload {} have their own length", args.workload.name());
    }
    if args.read_out && args.workload != Kind::Append {
        bail!("--read-out is about lists: it needs --workload append");
    }
    if args.level == Level::Linearizable && workload.max_txn_len > 1 {
        bail!(
            "linearizability is about single operations\n  \
             hint: --workload cas has them, or --level strict-serializable"
        );
    }
    Ok(Plan {
        workload,
        database: Database::that_keeps(args.level),
        txns: args.txns,
        concurrency: args.concurrency,
        planted: args.plant.clone(),
        aborted: args.aborted,
        intervals: !args.no_intervals,
        read_out: args.read_out,
        ..Plan::default()
    })
}

/// Our own formats take transactions as they come; for the others the whole history is made first.
fn generate(
    args: &GenerateArgs,
    plan: &Plan,
    target: &Format,
    mut out: &mut dyn Write,
    watch: &mut dyn FnMut(u64),
) -> Result<Simulated> {
    if args.order == Order::Session {
        return by_session(args, plan, target, out);
    }
    match target.name {
        "isolde" => {
            let mut writer = NativeWriter::new(&mut out)?;
            say_level(args, &mut writer);
            let done = simulate_watched(plan, &mut writer, watch).map_err(fault)?;
            writer.finish()?;
            Ok(done)
        }
        "jsonl" => {
            let mut writer = JsonlWriter::new(&mut out);
            say_level(args, &mut writer);
            let done = simulate_watched(plan, &mut writer, watch).map_err(fault)?;
            writer.finish()?;
            Ok(done)
        }
        _ => {
            let mut builder = HistoryBuilder::new();
            let done = simulate_watched(plan, &mut builder, watch).map_err(fault)?;
            write_whole(builder, target, out)?;
            Ok(done)
        }
    }
}

fn by_session(
    args: &GenerateArgs,
    plan: &Plan,
    target: &Format,
    out: &mut dyn Write,
) -> Result<Simulated> {
    let (mut builder, done) = simulate_by_session(plan).map_err(fault)?;
    say_level(args, &mut builder);
    write_whole(builder, target, out)?;
    Ok(done)
}

fn write_whole(mut builder: HistoryBuilder, target: &Format, out: &mut dyn Write) -> Result<()> {
    if !matches!(target.name, "isolde" | "jsonl") {
        // Formats of other tools have no place for how a history was made.
        builder.meta().info.clear();
    }
    let write = target.write.context("the format is not written")?;
    Ok(write(&builder.finish(), out)?)
}

/// Says in the history what the simulated database was asked for.
fn say_level(args: &GenerateArgs, sink: &mut impl Sink) {
    let pool = sink.pool();
    let (name, level) = (pool.text(info::LEVEL), pool.text(args.level.name()));
    sink.meta().set(name, level);
}

/// An error of the output is reported by the owner of the output.
fn fault(error: SimulateError) -> anyhow::Error {
    match error {
        SimulateError::Plan(why) => anyhow!(why),
        SimulateError::Sink(error) => anyhow::Error::new::<SinkError>(error),
    }
}
