//! `isolde generate`.

use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use isolde_history::{
    Format, HistoryBuilder, HistoryPart, JsonlWriter, NativeWriter, Sink, SinkError, info,
};
use isolde_job::output::Shape;
use isolde_job::{Dropping, Notice, fitted, output, shown};
use isolde_spec::Level;
use isolde_workload::simulate::{
    Database, Plan, SimulateError, Simulated, simulate_by_session, simulate_watched,
};
use isolde_workload::{Kind, Settings};

use crate::args::{GenerateArgs, Order};
use crate::progress::Progress;
use crate::terminal;

pub(crate) fn run(args: &GenerateArgs) -> Result<()> {
    let target = output::format(&args.to, args.to_format.as_deref())?;
    let plan = plan(args, target)?;
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
    if plan.only_committed && rolled_back > 0 {
        let note = format!("left out of {}: {rolled_back} rolled back transactions", target.name);
        terminal::notice(&Notice::Note(note));
    }
    anstream::eprintln!(
        "{}: {txns} transactions ({rolled_back} rolled back), {ops} operations, {planted} planted, seed {}",
        shown(&args.to),
        args.seed
    );
    Ok(())
}

fn plan(args: &GenerateArgs, target: &Format) -> Result<Plan> {
    let usual = Settings::new(args.workload);
    let workload = Settings {
        keys: args.keys.unwrap_or(usual.keys),
        distribution: args.distribution.unwrap_or(usual.distribution),
        max_txn_len: args.max_txn_len.unwrap_or(usual.max_txn_len),
        reads: args.reads,
        sessions: args.sessions.unwrap_or(usual.sessions),
        favour: args.favour,
        rollbacks: args.rollbacks,
        round: args.round,
        seed: args.seed,
        ..usual
    };
    let own_length = args.workload.own_length().is_some();
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
    let mut timestamps = args.stamps.timestamps();
    let of_timestamps = is_timekiller(target);
    match &mut timestamps {
        Some(timestamps) => timestamps.readers_commit = of_timestamps,
        None if of_timestamps => bail!("timekiller is about timestamps\n  hint: --timestamps"),
        None => {}
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
        timestamps,
        only_committed: of_timestamps,
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

fn is_timekiller(target: &Format) -> bool {
    target.name == "timekiller"
}

fn write_whole(mut builder: HistoryBuilder, target: &Format, out: &mut dyn Write) -> Result<()> {
    let write = target.write.context("the format is not written")?;
    if is_timekiller(target) {
        let parts = vec![HistoryPart::Intervals, HistoryPart::Meta];
        let dropping = Dropping { parts, rest: true };
        let (history, left_out) = fitted(builder.finish(), (target, Shape::File), &dropping)?;
        left_out.iter().for_each(terminal::notice);
        return Ok(write(&history, out)?);
    }
    if !matches!(target.name, "isolde" | "jsonl") {
        // Formats of other tools have no place for how a history was made.
        builder.meta().info.clear();
    }
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
