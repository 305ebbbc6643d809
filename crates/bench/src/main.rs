//! Speed and memory, one JSON object a line. Never part of the tests: run it on a quiet machine.
//!
//! ```text
//! cargo run --release -p isolde-bench -- read --txns 1000000
//! cargo run --release -p isolde-bench -- check --levels ser,si --distribution zipf:1.0
//! cargo run --release -p isolde-bench -- sweep --only keys,size --max-txns 2000000
//! cargo run --release -p isolde-bench -- violations
//! cargo run --release -p isolde-bench -- report --violations 1,10000
//! cargo run --release -p isolde-bench -- timestamps --only commands,stages --large
//! cargo run --release -p isolde-bench -- stream --only rate --txns 2000000
//! cargo run --release -p isolde-bench -- intervals --txns 10m
//! cargo run --release -p isolde-bench -- weak --levels causal --keys 100,1000,10000
//! cargo run --release -p isolde-bench -- cas --concurrency 10,100 --format jsonl
//! cargo run --release -p isolde-bench -- limits --only nested,ring --cap 60
//! cargo run --release -p isolde-bench -- logs --folder /work/shared/histories/porcupine/etcd
//! cargo run --release -p isolde-bench -- soak --targets postgres,fjall --commits 200000
//! cargo run --release -p isolde-bench -- faults
//! cargo run --release -p isolde-bench -- pgbench
//! ```

mod cas;
mod check;
mod command;
mod counting;
mod gauge;
mod intervals;
mod limits;
mod live;
mod logs;
mod measure;
mod plan;
mod read;
mod report;
mod serial;
mod stream;
mod sweep;
mod timestamps;
mod violations;
mod weak;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Measure Isolde
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// How fast files are read, and how much memory a history takes
    Read(read::ReadArgs),
    /// How fast levels are decided
    Check(check::CheckArgs),
    /// How much speed depends on distribution, keys, sessions, order and size
    // Which database it is follows from the level.
    #[command(mut_arg("txns", |arg| arg.default_value("200000")))]
    #[command(mut_arg("database", |arg| arg.hide(true)))]
    Sweep(sweep::SweepArgs),
    /// How much longer a history with many violations takes than a clean one
    #[command(mut_arg("planted", |arg| arg.default_value("10000")))]
    Violations(violations::ViolationsArgs),
    /// How large reports are, and how long it takes to make them, by how many violations there are
    #[command(mut_arg("txns", |arg| arg.default_value("200000")))]
    #[command(mut_arg("planted", |arg| arg.hide(true)))]
    Report(report::ReportArgs),
    /// How fast promises are decided by the server's timestamps (the experiments on Chronos)
    #[command(mut_arg("runs", |arg| arg.default_value("3")))]
    Timestamps(timestamps::TimestampsArgs),
    /// How fast an endless stream is judged, and with how much memory (the experiments on Aion)
    Stream(stream::StreamArgs),
    /// How fast transactions are held to the mechanisms of their server, by client intervals (the experiments on Leopard)
    Intervals(intervals::IntervalsArgs),
    /// How long the whole command takes for weak levels of a file of reads and writes
    Weak(weak::WeakArgs),
    /// How long the whole command takes for linearizability of a file of compare-and-set, by how many
    /// sessions run at the same time (figure 9)
    Cas(cas::CasArgs),
    /// How long the whole command takes for histories that are hard to check, and whether it keeps
    /// its limits
    Limits(limits::LimitsArgs),
    /// How long one command takes for all files of a folder
    Logs(logs::LogsArgs),
    /// Run every database at every level under every workload: a correct one gives no alarm
    Soak(live::soak::SoakArgs),
    /// How soon each anomaly is found that the faulty engine has on purpose
    Faults(live::faults::FaultsArgs),
    /// How fast transactions run, against PostgreSQL's own pgbench
    Pgbench(live::pgbench::PgbenchArgs),
    /// How many transactions a server aborts, by sessions and by transactions on each row
    Aborts(live::aborts::AbortsArgs),
    /// What recording costs
    Recording(live::recording::RecordingArgs),
    /// What it costs that a server shows its snapshots
    Evidence(live::evidence::EvidenceArgs),
    /// What it costs MariaDB to keep all versions of its rows
    Versions(live::versions::VersionsArgs),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().what {
        What::Read(args) => read::run(&args),
        What::Check(args) => check::run(&args),
        What::Sweep(args) => sweep::run(&args),
        What::Violations(args) => violations::run(&args),
        What::Report(args) => report::run(&args),
        What::Timestamps(args) => timestamps::run(&args),
        What::Stream(args) => stream::run(&args),
        What::Intervals(args) => intervals::run(&args),
        What::Weak(args) => weak::run(&args),
        What::Cas(args) => cas::run(&args),
        What::Limits(args) => limits::run(&args),
        What::Logs(args) => logs::run(&args),
        What::Soak(args) => live::soak::run(&args),
        What::Faults(args) => live::faults::run(&args),
        What::Pgbench(args) => live::pgbench::run(&args),
        What::Aborts(args) => live::aborts::run(&args),
        What::Recording(args) => live::recording::run(&args),
        What::Evidence(args) => live::evidence::run(&args),
        What::Versions(args) => live::versions::run(&args),
    }
}
