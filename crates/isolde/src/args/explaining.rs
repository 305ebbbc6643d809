//! What can be typed after `isolde explain`.

use std::path::PathBuf;

use super::AskArgs;

/// Explain a witness of a history, or an anomaly, or a level
///
/// With a history: its witnesses, one line each; with a history and a witness: the witness in full,
/// with its story, its time line and its transactions, or written as a picture or as a small history
/// that another checker can be asked about. With the name of an anomaly or a level: what the handbook
/// says of it, with the smallest history that shows it, the databases that do by design, and how to
/// make it happen. Without anything: the list of anomalies and levels.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  isolde explain\n  isolde explain LostUpdate\n  \
                        isolde explain snapshot-isolation\n  isolde explain history.edn\n  \
                        isolde explain history.edn snapshot-isolation-1\n  \
                        isolde explain history.edn si-1 --write witness.svg --write witness.edn\n  \
                        isolde explain history.edn LostUpdate --write witness.txt --to plume\n  \
                        isolde explain WriteSkew --history | isolde check -")]
pub(crate) struct ExplainArgs {
    /// A history, an anomaly such as LostUpdate, or a level such as snapshot-isolation
    #[arg(value_name = "FILE|ANOMALY|LEVEL")]
    pub(crate) what: Option<PathBuf>,
    /// Which witness of the history: LEVEL-NUMBER as reports say, such as si-1; a number, of the weakest
    /// violated level; or an anomaly, for the first of its kind
    pub(crate) witness: Option<String>,
    /// Write the witness into a file, of the kind that the name says: .svg, .dot, or a history: .txt
    /// (notation), .isolde, .jsonl, .edn, .bincode; one --write each for several
    #[arg(long, short, value_name = "FILE", requires = "witness")]
    pub(crate) write: Vec<PathBuf>,
    /// What to write, if the name does not say: a format (see `isolde formats`), svg or dot
    #[arg(long = "to", short, value_name = "FORMAT", requires = "write")]
    pub(crate) to_format: Option<String>,
    /// Overwrite files that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the smallest history that shows the anomaly, or that the level forbids, and nothing else
    #[arg(long, conflicts_with_all = ["witness", "json"])]
    pub(crate) history: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
