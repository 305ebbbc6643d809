//! What can be typed. Help, man page and completions all come from here.

mod asking;
mod cleaning;
#[cfg(feature = "drivers")]
mod driving;
mod explaining;
mod fuzzing;
mod probing;
mod reading;
mod replaying;
mod running;
mod stamping;
mod watching;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use isolde_spec::{Anomaly, Level};
use isolde_workload::simulate::Planted;
use isolde_workload::{Distribution, Kind};

use crate::typed::{Dropped, anomaly, count, dropped, kind, level, small_count};

pub(crate) use asking::AskArgs;
pub(crate) use cleaning::CleanArgs;
#[cfg(feature = "drivers")]
pub(crate) use driving::{DriverArgs, DriverCheckArgs, DriverCommand};
pub(crate) use explaining::ExplainArgs;
pub(crate) use fuzzing::{FuzzArgs, OracleName};
pub(crate) use probing::ProbeArgs;
pub(crate) use reading::ReadArgs;
pub(crate) use replaying::ReplayArgs;
pub(crate) use running::{RecordArgs, RunArgs, ShowName, TargetsArgs, TestArgs};
pub(crate) use stamping::StampArgs;
pub(crate) use watching::WatchArgs;

/// Does this database really deliver the isolation it promises?
///
/// Isolde runs concurrent transactions on a database, or reads what others recorded, and decides
/// which isolation levels the clients' observations satisfy.
#[derive(Parser, Debug)]
#[command(
    name = "isolde",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 the level holds (or nothing was asked), 1 it is violated, \
                  2 the input or the environment is at fault, 3 unknown."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Test(TestArgs),
    Record(RecordArgs),
    Probe(ProbeArgs),
    Fuzz(FuzzArgs),
    Targets(TargetsArgs),
    Clean(CleanArgs),
    #[cfg(feature = "drivers")]
    Driver(DriverArgs),
    Check(CheckArgs),
    Watch(WatchArgs),
    Explain(ExplainArgs),
    Stat(StatArgs),
    Convert(ConvertArgs),
    Generate(GenerateArgs),
    Replay(ReplayArgs),
    Formats(FormatsArgs),
    #[cfg(feature = "manual")]
    /// Print the completion script for a shell
    ///
    /// For example: isolde completions bash > ~/.local/share/bash-completion/completions/isolde
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    #[cfg(feature = "manual")]
    /// Print the manual page
    ///
    /// For example: isolde man | man -l -
    Man,
}

/// Decide which isolation levels explain a history
///
/// Without --level: the strongest level that holds and, for each stronger one, what forbids it. With
/// --level: each of the named levels, with a piece of the history that shows why it is violated.
///
/// Decided from the values that were read and written, and from real time where the clients' intervals
/// are known. Without --level every level is asked that does not follow from one that holds, sequential
/// and linearizable only where every transaction is one operation. The output says which method
/// decided, on which evidence, and why.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Levels, with their short names: read-uncommitted (ru), pl-2, read-committed (rc), \
                        cursor-stability (cs), read-atomic (ra), causal (cc), prefix (pc), \
                        repeatable-read (rr), snapshot-isolation (si), strong-snapshot-isolation \
                        (strong-si), serializable (ser), strict-serializable (sser), sequential (sc), \
                        linearizable (lin). docs/checking.md says what they mean.\n\n\
                        Exit codes: 0 every named level holds (without --level: some level holds), \
                        1 violated, 2 the input or the environment is at fault, 3 unknown; of \
                        several files, the worst: violated, at fault, unknown.\n\n\
                        Examples:\n  isolde check history.edn\n  \
                        isolde check --level si --level ser history.isolde\n  \
                        isolde check --level si history.edn --report si.html --report si.xml\n  \
                        isolde check --level linearizable --timeout 30s register.edn\n  \
                        isolde check --level sser --clock-skew 2000000 history.jsonl --json"
)]
pub(crate) struct CheckArgs {
    /// The histories: files, folders of logs, or - for standard input
    #[arg(required = true)]
    pub(crate) histories: Vec<PathBuf>,
    /// A level to decide, such as si or snapshot-isolation; several with commas or one --level each.
    /// All of them must hold
    #[arg(long, short, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) level: Vec<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Show every witness that was kept, not only the first (with --level)
    #[arg(long, requires = "level")]
    pub(crate) all: bool,
    /// Write a report, of the kind that the name says: .html (for people: pictures, time lines,
    /// filters), .json (docs/report.schema.json), .xml (JUnit, with --level), .txt, .svg or .dot (the
    /// first witness); one --report each for several
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<PathBuf>,
    /// Overwrite reports that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Write the transactions of every witness into this folder, each as a small history of its own
    /// that shows the same anomaly: for a bug report, or for another checker
    #[arg(long, value_name = "FOLDER")]
    pub(crate) excerpts: Option<PathBuf>,
    /// As what to write them: any format that is written (see `isolde formats`), svg or dot
    /// [default: notation]
    #[arg(long, value_name = "FORMAT", requires = "excerpts")]
    pub(crate) excerpts_as: Option<String>,
    /// Print JSON: all that the text says, and every witness that was kept; one object a file
    #[arg(long)]
    pub(crate) json: bool,
}

/// Summarize a history
///
/// Sessions, transactions by outcome, operations by kind, keys, the evidence beside the values,
/// whether every write reads first, duplicate values, the time span.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde stat history.edn\n  \
                        isolde stat cobra-logs/ --json\n  \
                        zcat history.gz | isolde stat -")]
pub(crate) struct StatArgs {
    /// The history: a file, a folder of logs, or - for standard input; gzip and zstd are unpacked
    pub(crate) history: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Convert a history from one format to another
///
/// What the target's format cannot hold is refused by name, all of it at once, unless --drop leaves it out.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde convert history.edn history.isolde\n  \
                        isolde convert cobra-logs/ history.jsonl\n  \
                        isolde convert history.isolde - --to plume --drop all")]
pub(crate) struct ConvertArgs {
    /// The history: a file, a folder of logs, or - for standard input
    pub(crate) from: PathBuf,
    /// Where to write, or - for standard output
    pub(crate) to: PathBuf,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// The target's format, if the ending of its name does not say (.isolde, .jsonl, .edn, .bincode)
    #[arg(long = "to", short, value_name = "FORMAT")]
    pub(crate) to_format: Option<String>,
    /// Leave these parts out, or with `all` every part that the target's format cannot hold: intervals,
    /// timestamps, meta, events, orders, attributes, statements, names, initial, incomplete; several with
    /// commas
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = dropped)]
    pub(crate) drop: Vec<Dropped>,
    /// Overwrite the target if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

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
                        isolde generate stamped.isolde --level si --workload twitter --timestamps\n  \
                        isolde generate t.json --to timekiller --level si --timestamps hybrid\n  \
                        isolde generate lies.isolde --level si --timestamps --plant-timestamps 10\n  \
                        isolde generate - --to jsonl --workload cas --concurrency 20 | isolde check -"
)]
pub(crate) struct GenerateArgs {
    /// Where to write, or - for standard output
    pub(crate) to: PathBuf,
    /// What transactions do: mini, general, append, cas, register, mix, twitter, rubis, tpcc
    #[arg(long, short, default_value = "mini", value_parser = kind)]
    pub(crate) workload: Kind,
    /// The level that the simulated database keeps; with a weaker name, the weakest database that
    /// does: read-committed, prefix, snapshot-isolation or strict-serializable
    #[arg(long, short, default_value = "strict-serializable", value_parser = level)]
    pub(crate) level: Level,
    /// How many transactions
    #[arg(long, short = 'n', value_name = "COUNT", default_value = "10k", value_parser = count)]
    pub(crate) txns: u64,
    /// How many sessions run them [default: 10; mix: 50]
    #[arg(long, short, value_name = "COUNT", value_parser = small_count)]
    pub(crate) sessions: Option<u32>,
    /// On how many keys; of lists and compare-and-set, how many at a time; of twitter and rubis, how many
    /// users, of tpcc, how many warehouses
    /// [default: 1000; append: 100; cas: 10; twitter: 500; rubis: 200; tpcc: 1]
    #[arg(long, short, value_name = "COUNT", value_parser = small_count)]
    pub(crate) keys: Option<u32>,
    /// How often each key is touched: uniform, zipf:EXPONENT, hotspot:KEYS/OPERATIONS (percent),
    /// exponential [default: uniform; mix and twitter: zipf:1; tpcc has its own]
    #[arg(long, short)]
    pub(crate) distribution: Option<Distribution>,
    /// How many operations a transaction has at most; general and mix: exactly
    /// [default: 4; general: 8; mix: 15; mini, cas and applications have their own]
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_txn_len: Option<u32>,
    /// Which share of the operations reads, from 0 to 1 (mix only) [default: 0.5]
    #[arg(long, value_name = "SHARE")]
    pub(crate) reads: Option<f64>,
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
    #[command(flatten)]
    pub(crate) stamps: StampArgs,
    /// In which order transactions come
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) order: Order,
    /// Random seed
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

/// List the formats that are read and written
#[derive(clap::Args, Debug)]
pub(crate) struct FormatsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
