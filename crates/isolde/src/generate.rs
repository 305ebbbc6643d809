//! `isolde generate`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use isolde_history::{Format, HistoryBuilder, JsonlWriter, NativeWriter, Sink, SinkError, info};
use isolde_spec::{Anomaly, Level};
use isolde_workload::simulate::{
    Database, Plan, Planted, SimulateError, Simulated, simulate_by_session, simulate_watched,
};
use isolde_workload::{Distribution, Kind, Settings};

use crate::output;
use crate::typed::{anomaly, count, kind, level, small_count};

/// Make a history without a database
///
/// Sessions of a workload run against a simulated database that keeps the level, and as much as it can
/// of what the level does not promise it breaks: at snapshot isolation there is write skew, at read
/// committed there are lost updates. Violations can be planted. The same seed gives the same file;
/// seed and parameters are part of the history, if the format is one of Isolde's own.
///
/// Numbers may end in k or m, as in 10k or 1m.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  isolde generate history.isolde --txns 1m --sessions 50 --keys 10k\n  \
                        isolde generate skewed.jsonl --level si --distribution zipf:1.0 --keys 100\n  \
                        isolde generate broken.isolde --plant LostUpdate:10,LongFork --seed 7\n  \
                        isolde generate lists.edn --workload append --read-out\n  \
                        isolde generate - --to jsonl --workload cas --concurrency 20 | isolde check -"
)]
pub(crate) struct GenerateArgs {
    /// Where to write, or - for standard output
    pub(crate) to: PathBuf,
    /// What transactions do: mini, general, append, cas, register
    #[arg(long, short, default_value = "mini", value_parser = kind)]
    pub(crate) workload: Kind,
    /// The level that the simulated database keeps; with a weaker name, the weakest database that
    /// does: read-committed, prefix, snapshot-isolation or strict-serializable
    #[arg(long, short, default_value = "strict-serializable", value_parser = level)]
    pub(crate) level: Level,
    /// How many transactions
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "10k", value_parser = count)]
    pub(crate) txns: u64,
    /// How many sessions run them
    #[arg(long, short, value_name = "COUNT", default_value = "10", value_parser = small_count)]
    pub(crate) sessions: u32,
    /// On how many keys; of lists and compare-and-set, how many at a time
    /// [default: 1000; append: 100; cas: 10]
    #[arg(long, short, value_name = "COUNT", value_parser = small_count)]
    pub(crate) keys: Option<u32>,
    /// How often each key is touched: uniform, zipf:EXPONENT, hotspot:KEYS/OPERATIONS (percent),
    /// exponential
    #[arg(long, short, default_value = "uniform")]
    pub(crate) distribution: Distribution,
    /// How many operations a transaction has at most; general: exactly
    /// [default: 4; general: 8; mini and cas have their own]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_txn_len: Option<u32>,
    /// How many of a hundred sessions run a transaction at the same time
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    pub(crate) concurrency: f64,
    /// Make an anomaly likely by the right shapes and contention (mini only). The database still
    /// keeps its level
    #[arg(long, value_name = "ANOMALY", value_parser = anomaly)]
    pub(crate) favour: Option<Anomaly>,
    /// Plant violations on keys of their own: an anomaly and how many, such as LostUpdate:10, or a
    /// number for various kinds; several with commas
    #[arg(long, value_name = "ANOMALY:COUNT", value_delimiter = ',')]
    pub(crate) plant: Vec<Planted>,
    /// Which share of the transactions their clients roll back, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) rollbacks: f64,
    /// Which share of the transactions that the database aborts is recorded, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) aborted: f64,
    /// After how many transactions a session goes on to fresh keys; 0: never, or as it suits append
    /// and cas
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) round: u32,
    /// Read every list once more when it has stopped growing, so that its whole order is known
    #[arg(long)]
    pub(crate) read_out: bool,
    /// Leave the clients' intervals out
    #[arg(long)]
    pub(crate) no_intervals: bool,
    /// In which order transactions come
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) order: Order,
    /// What all choices follow from
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The format, if the ending of the name does not say (.isolde, .jsonl, .edn, .bincode)
    #[arg(long = "to", short, value_name = "FORMAT")]
    pub(crate) to_format: Option<String>,
    /// Overwrite the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// In which order transactions come.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// As their answers arrive, as a recorder delivers them
    Completion,
    /// One session after another, as in logs of sessions; the whole history is held in memory
    Session,
}

pub(crate) fn run(args: &GenerateArgs) -> Result<()> {
    let plan = plan(args)?;
    let target = output::format(&args.to, args.to_format.as_deref())?;
    output::may_write(&args.to, args.force)?;
    let progress = indicatif::ProgressBar::new(args.txns);
    let style = "{spinner} generating {human_pos} of {human_len} {elapsed}";
    if let Ok(style) = indicatif::ProgressStyle::with_template(style) {
        progress.set_style(style);
    }
    let mut done = Simulated::default();
    output::write(&args.to, |out| {
        let watch = &mut |txns| progress.set_position(txns);
        done = generate(args, &plan, target, out, watch)?;
        Ok(())
    })?;
    progress.finish_and_clear();
    let Simulated { txns, committed, ops, planted } = done;
    let rolled_back = txns - committed;
    anstream::eprintln!(
        "{}: {txns} transactions ({rolled_back} rolled back), {ops} operations, {planted} planted, seed {}",
        args.to.display(),
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

/// An error of the output is reported by whoever owns the output.
fn fault(error: SimulateError) -> anyhow::Error {
    match error {
        SimulateError::Plan(why) => anyhow!(why),
        SimulateError::Sink(error) => anyhow::Error::new::<SinkError>(error),
    }
}
