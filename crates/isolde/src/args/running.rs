//! What can be typed to run a workload on a database.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use isolde_spec::Anomaly;
use isolde_target::{OpenOptions, Path, Show};
use isolde_workload::{Distribution, Kind};

use super::asking::IntervalArgs;
use crate::typed;

/// Test a database: run a workload, record what the clients saw, check it
///
/// Give a name to have everything done: an embedded database (fjall, sqlite) needs
/// nothing else; postgres and mariadb start a throwaway server from the programs on this machine.
/// Give a URL to test a server of yours: tables with names of their own are made, and dropped at
/// the end. `isolde targets` lists them all, `isolde targets NAME` what one of them offers.
///
/// --level says what to check, in one language for all databases; the database's level that
/// promises it is chosen. --isolation names the database's own level instead, to see what it really
/// keeps: `--isolation repeatable-read --level ser`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 every level holds, 1 violated, 2 the database or the environment is \
                  at fault, 3 unknown; a run that a signal ended, and that found no \
                  violation: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP).\n\n\
                  Examples:\n  isolde test fjall\n  \
                  isolde test postgres --level ser --sessions 16 --commits 50k\n  \
                  isolde test postgres --isolation repeatable-read --level ser --favour WriteSkew\n  \
                  isolde test mariadb --isolation repeatable-read --level si --repeat 100 --budget 10m\n  \
                  isolde test postgres://me@localhost/db --workload append --duration 30s\n  \
                  isolde test etcd --online --stop --duration 10m\n  \
                  isolde test mariadb --isolation repeatable-read --level si --trials 50 --commits 3k"
)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// A level to check, such as si or snapshot-isolation; several with commas or one --level each.
    /// Without it: what the database's own level promises
    #[arg(long, short, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) level: Vec<String>,
    /// Run up to N times, with the next seed each, until a violation is found
    #[arg(long, value_name = "N", value_parser = typed::count)]
    pub(crate) repeat: Option<u64>,
    /// Run N trials, with one seed after another, and report how many found a violation and how
    /// long that took
    #[arg(long, value_name = "N", value_parser = typed::count, conflicts_with = "repeat")]
    pub(crate) trials: Option<u64>,
    /// Start no other run after this time; alone, run again until a violation is found
    #[arg(long, value_name = "TIME", value_parser = typed::duration)]
    pub(crate) budget: Option<Duration>,
    #[command(flatten)]
    pub(crate) intervals: IntervalArgs,
    /// Check each run while it goes on, and tell violations at once: by the timestamps of the database, for si and ser (etcd,
    /// faulty, drivers that tell timestamps), by its snapshots, for si (postgres with --evidence snapshots), or by the
    /// mechanisms of its server (--evidence intervals). At the end the record is checked as well, and has to say the same
    #[arg(long)]
    pub(crate) online: bool,
    /// End a run at the first violation that is found while it goes on
    #[arg(long, requires = "online")]
    pub(crate) stop: bool,
    /// How long the check of a run may take, such as 30s or 5m; what is not decided by then is unknown
    /// [default: never]
    #[arg(long, value_name = "TIME", value_parser = typed::duration)]
    pub(crate) check_timeout: Option<Duration>,
    /// How much memory the check of a run may take, such as 500M or 4G; what needs more is unknown
    /// [default: half of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = typed::bytes)]
    pub(crate) check_memory: Option<u64>,
    /// Write a report of all runs, of the kind that the name says: .html, .json, .xml (JUnit), .txt,
    /// .svg or .dot (the first witness); one --report each for several
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<PathBuf>,
    /// Overwrite the files of --report and --events if they exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Where to write history and reports of a run that found something
    #[arg(long, value_name = "FOLDER", default_value = "isolde-runs")]
    pub(crate) out: PathBuf,
    /// Keep the history of every run, not only of those that found something
    #[arg(long)]
    pub(crate) keep_history: bool,
    /// Show every witness that was kept, not only the first
    #[arg(long)]
    pub(crate) all: bool,
    /// Write events as they happen, one JSON object per line; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Print JSON; with --repeat, --trials or --budget one object a line, the last one for all runs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a workload on a database and record what the clients saw
///
/// As `isolde test` does, but without checking. The record is on disk while the run goes on: whatever
/// happens, the transactions recorded until then can be checked.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde record fjall history.isolde --txns 100k\n  \
                        isolde record postgres history.jsonl --duration 1m --sessions 32")]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Where to write the history: .isolde or .jsonl
    pub(crate) to: PathBuf,
    /// Overwrite the files if they exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Write events as they happen, one JSON object per line; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a server shows beside its answers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShowName {
    /// Which transactions each snapshot shows, and the transactions' identifiers (PostgreSQL)
    Snapshots,
    /// Every version of every row (MariaDB: tables are system-versioned, which changes how the server writes; etcd)
    Versions,
    /// Nothing more, but when clients sent each statement and had its answer is what the run is judged by: only what the
    /// mechanisms of the server can have made of that may be seen
    Intervals,
}

impl ShowName {
    /// What the server shows.
    pub(crate) fn shown(self) -> Option<Show> {
        match self {
            ShowName::Snapshots => Some(Show::Snapshots),
            ShowName::Versions => Some(Show::Versions),
            ShowName::Intervals => None,
        }
    }
}

/// What `test` and `record` have in common.
#[derive(clap::Args, Debug)]
pub(crate) struct RunArgs {
    /// The database: a name (see `isolde targets`) or a URL
    pub(crate) target: String,
    /// A file whose first line is the password for the server that the URL names. The URL itself, PGPASSWORD
    /// with .pgpass, and MYSQL_PWD are other ways; what other users of the machine can see is the URL
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// The database's own isolation level, such as repeatable-read (see `isolde targets NAME`)
    #[arg(long, value_name = "NAME")]
    pub(crate) isolation: Option<String>,
    /// Have the server show more than its answers, and record it: snapshots (PostgreSQL) or versions
    /// (MariaDB, etcd). Then runs with blind writes are decided, and lost commits are found. Or: intervals, to judge the
    /// run by nothing but when each statement was sent and answered and what it returned (test only)
    #[arg(long, value_enum, value_name = "EVIDENCE")]
    pub(crate) evidence: Option<ShowName>,
    /// Faults to inject; several with commas. Of servers: kill, pause, stop, isolate (a node of a
    /// cluster), drop (connections), latency; each with at=, every= or about= (at random), for=, node=, by=,
    /// as in kill:every=2s or pause:about=3s:for=1s. Of the engine that is faulty on purpose: the
    /// anomaly to plant, as in `isolde test faulty --fault lost-update`
    #[arg(long, value_name = "FAULT", value_delimiter = ',', value_parser = typed::fault)]
    pub(crate) fault: Vec<typed::Wrong>,
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    #[command(flatten)]
    pub(crate) driving: DrivingArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// What transactions do.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Workload")]
pub(crate) struct WorkloadArgs {
    /// What transactions do: mini (one or two reads, up to two writes), general (a mix of reads and
    /// blind writes), append (to lists), cas (compare-and-set and insert-if-absent), register (reads and blind
    /// writes), mix (the same, of one length and with --reads), twitter, rubis, tpcc (as these applications).
    /// What blind writes overwrite is often not known, so with all but mini, append and cas a level may end
    /// unknown (exit code 3)
    #[arg(long, short, default_value = "mini", value_parser = typed::kind)]
    pub(crate) workload: Kind,
    /// How many sessions run at the same time
    #[arg(long, short, value_name = "N", default_value_t = 8)]
    pub(crate) sessions: u32,
    /// How many rows there are; of twitter and rubis, how many users, of tpcc, how many warehouses
    /// [default: 50; append: 20; cas: 5; mix: 1000; twitter: 500; rubis: 200; tpcc: 1]
    #[arg(long, short, value_name = "N", value_parser = typed::small_count)]
    pub(crate) keys: Option<u32>,
    /// How often each row is touched: uniform, zipf:EXPONENT, hotspot:KEYS/OPERATIONS (percent),
    /// exponential [default: exponential; mix and twitter: zipf:1; tpcc has its own]
    #[arg(long, value_name = "DISTRIBUTION")]
    pub(crate) distribution: Option<Distribution>,
    /// How many operations a transaction has at most; those of general and mix have exactly this many,
    /// mini-transactions at most 4, and cas and applications have their own length
    /// [default: 4; general: 8; mix: 15]
    #[arg(long, value_name = "N")]
    pub(crate) max_txn_len: Option<u32>,
    /// Which share of the operations reads, from 0 to 1 (mix only) [default: 0.5]
    #[arg(long, value_name = "SHARE", value_parser = typed::share)]
    pub(crate) reads: Option<f64>,
    /// Favour the shapes and the contention that show this anomaly, such as WriteSkew (mini only)
    #[arg(long, value_name = "ANOMALY", value_parser = typed::anomaly)]
    pub(crate) favour: Option<Anomaly>,
    /// Which share of the transactions the client rolls back on purpose, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = typed::share)]
    pub(crate) rollbacks: f64,
    /// Continue in a fresh table after N transactions of a session; 0: never, or as it fits the
    /// workload
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) round: u32,
    /// Random seed [default: random]
    #[arg(long, value_name = "SEED", value_parser = typed::seed)]
    pub(crate) seed: Option<u64>,
}

/// How long, how fast, by which ways.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Run")]
pub(crate) struct DrivingArgs {
    /// Stop after N transactions [default: 20k, if nothing else limits the run]
    #[arg(long, short = 'n', value_name = "N", value_parser = typed::count)]
    pub(crate) txns: Option<u64>,
    /// Stop after N commits
    #[arg(long, value_name = "N", value_parser = typed::count)]
    pub(crate) commits: Option<u64>,
    /// Stop after this time, such as 30s or 10m
    #[arg(long, short, value_name = "TIME", value_parser = typed::duration)]
    pub(crate) duration: Option<Duration>,
    /// Start N transactions per second, over all sessions [default: as many as possible]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// Retry an aborted transaction up to N times; every attempt writes fresh values and is
    /// recorded
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// How long one statement of a server may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = typed::duration)]
    pub(crate) timeout: Duration,
    /// Use only these access paths, such as primary-key or for-update (see `isolde targets NAME`)
    /// [default: all that the database has, at random]
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = typed::path)]
    pub(crate) path: Vec<Path>,
    /// Record when transactions were sent and answered, but not each of their statements
    #[arg(long)]
    pub(crate) no_statement_times: bool,
}

/// Throwaway servers.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Throwaway server")]
pub(crate) struct ServerArgs {
    /// The folder of the server's programs, if not in the usual places
    #[arg(long, value_name = "FOLDER")]
    pub(crate) server_bin: Option<PathBuf>,
    /// The port on 127.0.0.1 [default: a free one]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// A setting of the server, in its own words, as in fsync=off; one --setting each for several
    #[arg(long, value_name = "NAME=VALUE", value_parser = typed::setting)]
    pub(crate) setting: Vec<(String, String)>,
    /// Leave the server running at the end, and say how to reach it
    #[arg(long)]
    pub(crate) keep: bool,
}

impl ServerArgs {
    /// How the target is opened, for commands that have no workload.
    pub(crate) fn opening(&self, password_file: Option<&PathBuf>) -> OpenOptions {
        OpenOptions {
            server_bin: self.server_bin.clone(),
            port: self.port,
            keep: self.keep,
            settings: self.setting.clone(),
            password_file: password_file.cloned(),
            ..OpenOptions::default()
        }
    }
}

/// List the databases that can be tested, or say what one of them offers
///
/// Without a name: all of this build. With a name or a URL: its levels, what each really promises, and
/// the ways in which rows are reached; a server is started or asked for it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde targets\n  isolde targets mariadb")]
pub(crate) struct TargetsArgs {
    /// The database: a name or a URL
    pub(crate) target: Option<String>,
    /// A file whose first line is the password for the server that the URL names. The URL itself, PGPASSWORD
    /// with .pgpass, and MYSQL_PWD are other ways; what other users of the machine can see is the URL
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
