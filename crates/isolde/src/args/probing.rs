//! What can be typed to probe a database.

use std::path::PathBuf;

use super::running::ServerArgs;

/// Run exact interleavings of statements on a database, at every level
///
/// Each case is a few sessions whose statements are sent one by one, in an order that would show an
/// anomaly. The table says what each level makes of each: whether the anomaly was seen, or what
/// prevented it. A level that lets through what it promises to forbid is a finding. A probe shows
/// violations; it never proves a level.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 every level keeps its promise as far as the cases tell (with --replay: \
                        everything came out as recorded), 1 a finding, 2 the input or the environment is at \
                        fault, 3 some case did not run to its end.\n\n\
                        Examples:\n  isolde probe postgres\n  isolde probe mariadb --group all --report probe.html\n  \
                        isolde probe postgres --isolation serializable --only G2,WriteSkew --json\n  \
                        isolde probe mariadb --cases mine.case --only mine\n  \
                        isolde probe postgres --record before.jsonl\n  \
                        isolde probe postgres://user:password@host/database --replay before.jsonl"
)]
pub(crate) struct ProbeArgs {
    /// The database: a name (see `isolde targets`) or a URL. PostgreSQL, MariaDB, MySQL and TiDB run every case;
    /// SQLite, the embedded engines, etcd and drivers are reached by reads and writes of single rows, and run
    /// the cases that need no more
    pub(crate) target: String,
    /// A file whose first line is the password for the server that the URL names. The URL itself, PGPASSWORD
    /// with .pgpass, and MYSQL_PWD are other ways; what other users of the machine can see is the URL
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Only these of the database's own isolation levels, such as repeatable-read
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) isolation: Vec<String>,
    /// More cases: a file, or a folder of files that end in .case (docs/probing.md says how to write them)
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) cases: Vec<PathBuf>,
    /// Only the cases of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Which of the cases that come with Isolde: hermitage, anomalies, more, or all
    #[arg(
        long,
        value_name = "GROUP",
        value_delimiter = ',',
        default_value = "hermitage,anomalies"
    )]
    pub(crate) group: Vec<String>,
    /// Replay the recorded runs of a file that fit this database, and compare them event by event
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "only", "isolation"])]
    pub(crate) replay: Option<PathBuf>,
    /// Write what was observed, one run a line, so that it can be replayed
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Write each run as a trace with the intervals of the client, NAME.LEVEL.jsonl, into this folder, for isolde check
    /// --evidence intervals. Runs with statements of which it is not known what they do to rows are left out
    #[arg(long, value_name = "FOLDER", conflicts_with = "replay")]
    pub(crate) traces: Option<PathBuf>,
    /// Write a page with the table and, behind each cell, what happened
    #[arg(long, value_name = "FILE.html", conflicts_with = "replay")]
    pub(crate) report: Option<PathBuf>,
    /// Overwrite the files if they exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON: all that the text says, and every event
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
