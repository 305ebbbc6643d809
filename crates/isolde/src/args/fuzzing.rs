//! What can be typed to try random SQL transactions.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::running::ServerArgs;
use crate::typed;

/// Try random SQL transactions on a database, and compare them with a serial case
///
/// Small databases and a few transactions with joins, subqueries, aggregates, savepoints and locks are made from a seed and
/// run in one interleaving, with reads in between that show what each statement saw. From these follow the dependencies of
/// the statements. In any order that keeps them, one by one and without transactions, the statements have to give the same
/// results and leave the same rows; one condition has to find the same rows in SELECT, UPDATE and DELETE; and the level has
/// to hold. Whatever differs goes to a folder of its own, with a script to follow by hand.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 nothing was found, 1 a finding (with --replay: it shows again), 2 the input or the \
                        environment is at fault, 3 no case reached an oracle.\n\n\
                        Examples:\n  isolde fuzz postgres --budget 10m\n  \
                        isolde fuzz mariadb --isolation repeatable-read-snapshot --cases 1000 --out findings\n  \
                        isolde fuzz sqlite --oracle serial --seed 7 --cases 100\n  \
                        isolde fuzz mariadb --replay findings/finding-1-case-42"
)]
pub(crate) struct FuzzArgs {
    /// The database: postgres, mariadb, sqlite, or a URL of a server. Its own tables are not touched: every worker has a
    /// schema of its own, which goes away at the end
    pub(crate) target: String,
    /// A file whose first line is the password for the server that the URL names
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// The database's own isolation level, such as repeatable-read [default: the strongest]
    #[arg(long, value_name = "NAME")]
    pub(crate) isolation: Option<String>,
    /// Which oracles are asked [default: all]
    #[arg(long, value_name = "ORACLE", value_delimiter = ',')]
    pub(crate) oracle: Vec<OracleName>,
    /// How long to go on, such as 1h [default: 1 minute, if --cases is not given]
    #[arg(long, value_name = "DURATION", value_parser = typed::duration)]
    pub(crate) budget: Option<Duration>,
    /// How many cases to run
    #[arg(long, value_name = "COUNT", value_parser = typed::count)]
    pub(crate) cases: Option<u64>,
    /// What all choices follow from: the same seed gives the same cases [default: a random one]
    #[arg(long, value_parser = typed::seed)]
    pub(crate) seed: Option<u64>,
    /// The number of the first case, to go on where another run ended
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) first: u64,
    /// How many cases run at the same time, each in a schema of its own [default: 4]
    #[arg(long, value_name = "COUNT", value_parser = typed::some)]
    pub(crate) parallel: Option<u32>,
    /// How many serial orders each case is compared with
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = typed::some)]
    pub(crate) orders: u32,
    /// Larger cases: more tables, rows, transactions and statements
    #[arg(long)]
    pub(crate) large: bool,
    /// Where findings go, a folder for each; it must not be there yet
    #[arg(long, value_name = "FOLDER", default_value = "isolde-fuzz")]
    pub(crate) out: PathBuf,
    /// Run a finding once more, and say whether it still shows
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["budget", "cases", "oracle", "large"])]
    pub(crate) replay: Option<PathBuf>,
    /// Print JSON: all that the text says
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// An oracle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OracleName {
    /// The statements one by one, without transactions, give the same results
    Serial,
    /// One condition finds the same rows in SELECT, UPDATE and DELETE
    Predicate,
    /// The level holds, by the versions of rows that were seen
    Isolation,
}
