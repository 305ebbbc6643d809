//! What can be typed to watch a stream.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use isolde_spec::By;
use isolde_watch::WatchSource;

use crate::args::asking::IntervalArgs;
use crate::typed::{bytes, duration, fact};

/// Watch transactions as they come, and say at once when isolation is violated
///
/// SOURCE is where transactions come from:
///   -                standard input, lines of .jsonl
///   FILE             a file that grows, .jsonl or .isolde; it is read on as it is written
///   tcp:HOST:PORT    listen; each connection sends lines of .jsonl
///   unix:PATH        the same, on a socket in the file system
///   http:HOST:PORT   listen; POST /check with lines of .jsonl, or with TimeKiller's array
///
/// Transactions are judged by the timestamps that the database gave them, by its snapshots, or with
/// --evidence intervals by nothing but when each statement was sent and answered. They may come in
/// any order that keeps sessions: a verdict is final when the source promises that nothing older
/// comes (lines such as {"session":1,"watermark":70}; by intervals, heartbeats), or else after
/// --timeout. What does not fit into --memory goes to disk.
///
/// Ctrl-C is the ordinary end: every verdict becomes final, and a summary is printed. With --state,
/// verdicts that are open stay open, and the same command goes on with them.
#[derive(clap::Args, Debug)]
#[command(
    verbatim_doc_comment,
    after_help = "Exit codes: 0 nothing was found (by intervals, and enough was decided), 1 a violation stands, \
                  2 the source or the environment is at fault, 3 unknown; if several apply, 1 before 2 before 3.\n\n\
                  Examples:\n  recorder | isolde watch -\n  \
                  isolde watch history.jsonl --until-end\n  \
                  isolde watch run.isolde --events found.jsonl --report watch.html\n  \
                  isolde watch tcp:127.0.0.1:9000 --level si --metrics 127.0.0.1:9090\n  \
                  isolde watch unix:/tmp/isolde.sock --timeout 10s --memory 2G\n  \
                  isolde watch run.jsonl --state run.state --events found.jsonl\n  \
                  isolde watch trace.jsonl --evidence intervals --profile postgresql/repeatable-read\n  \
                  isolde watch http:127.0.0.1:23333 --level ser --fact commit-order=serial"
)]
pub(crate) struct WatchArgs {
    /// Where transactions come from: -, FILE, tcp:HOST:PORT, unix:PATH or http:HOST:PORT
    pub(crate) source: WatchSource,
    /// The level to hold them to: si or ser [default: what the header says, else si]; with --evidence intervals any that a
    /// profile of the server promises
    #[arg(long, short, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// What to judge by [default: timestamps; snapshots where the first transactions have those and no timestamps]
    #[arg(long, value_name = "EVIDENCE")]
    pub(crate) evidence: Option<StreamEvidence>,
    #[command(flatten)]
    pub(crate) intervals: IntervalArgs,
    /// A fact about the run where the source has no place for it: commit-order=serial says that the order
    /// of commit timestamps is a serial order, which --level ser needs; can be repeated
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact)]
    pub(crate) facts: Vec<(String, String)>,
    /// The value that every key has before the first transaction, such as 0 or absent
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) initial: Option<String>,
    /// How long to wait for transactions that come late, where the source promises nothing. What comes later
    /// still corrects a verdict, and the summary says how long would have been enough. By intervals it is only told, and
    /// leaves the end unknown unless a violation stands
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// How much memory to use, such as 500M or 4G; the rest goes to disk. By snapshots all stays in memory, by intervals what
    /// rows hold
    #[arg(long, value_name = "BYTES", default_value = "512MB", value_parser = bytes)]
    pub(crate) memory: u64,
    /// How much disk to use; beyond that the oldest is given up, and a transaction that needs it is unknown
    #[arg(long, value_name = "BYTES", default_value = "10GB", value_parser = bytes)]
    pub(crate) keep: u64,
    /// Keep the state in this folder, which is made if it is not there. A watch that is killed goes on with the same
    /// command where it was: no verdict is lost, and none comes twice in the file of --events. Files are read on behind
    /// the last line; POST /check is answered when what came is safe; sockets get lines "ack N": so many lines are safe.
    /// Verdicts that are open at Ctrl-C stay open. Standard input cannot be read again, and is refused
    #[arg(long, value_name = "FOLDER", conflicts_with = "spill")]
    pub(crate) state: Option<PathBuf>,
    /// On which disk: a folder in which a temporary one is made, and removed at the end
    /// [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) spill: Option<PathBuf>,
    /// End at the first line that cannot be read (exit code 2), instead of counting it and going on
    #[arg(long)]
    pub(crate) strict: bool,
    /// End at the first violation
    #[arg(long)]
    pub(crate) stop: bool,
    /// End at the end of the file instead of waiting for more. Standard input ends with its pipe anyway
    #[arg(long)]
    pub(crate) until_end: bool,
    /// Listen where other machines can connect. Every program that can connect can send transactions: there is no password
    #[arg(long)]
    pub(crate) listen_anywhere: bool,
    /// Write what is found as it is found, one JSON object per line; - for standard output, which then
    /// has nothing else (the summary goes to standard error, unless --json is given)
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Write a report at the end, of the kind that the name says: .html (figures, charts over time, the first hundred
    /// violations with their small histories), .json (docs/report.schema.json), .txt, .svg or .dot (the first
    /// violation); one --report each for several
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<PathBuf>,
    /// Overwrite the files of --events and --report if they exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Show how it is doing at http://HOST:PORT/metrics, for Prometheus
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// Print the summary as JSON, and violations only to --events
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a stream is judged by.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum StreamEvidence {
    /// When the server says that transactions started and committed
    Timestamps,
    /// Which transactions the server says that each snapshot shows (snapshot-isolation)
    Snapshots,
    /// When the client sent each statement and had its answer, held against the mechanisms of the server (docs/profiles.md)
    Intervals,
}

impl From<StreamEvidence> for By {
    fn from(evidence: StreamEvidence) -> By {
        match evidence {
            StreamEvidence::Timestamps => By::Timestamps,
            StreamEvidence::Snapshots => By::Snapshots,
            StreamEvidence::Intervals => By::Intervals,
        }
    }
}
