//! How fast files are read, and how much memory a history takes.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use isolde_history::{Format, History, Source};
use serde_json::json;

use crate::counting;
use crate::measure::round;
use crate::serial::{self, Shape};

#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// How many transactions of four operations
    #[arg(long, default_value_t = 1_000_000)]
    txns: u64,
    /// On how many keys
    #[arg(long, default_value_t = 100_000)]
    keys: u64,
    /// How often each file is read; the fastest and the median count
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only these formats
    #[arg(long, value_delimiter = ',')]
    formats: Vec<String>,
    /// Where the files go while they are measured
    #[arg(long, default_value = "/tmp")]
    folder: PathBuf,
}

/// What is measured: a format, and a history that it can hold.
const CASES: [(&str, Shape); 9] = [
    ("isolde", Shape::Values),
    ("isolde", Shape::Intervals),
    ("isolde", Shape::Lists),
    ("jsonl", Shape::Values),
    ("plume", Shape::Values),
    ("jepsen-edn", Shape::Events),
    ("jepsen-edn", Shape::Lists),
    ("dbcop-bincode", Shape::Values),
    ("timekiller", Shape::Timestamps),
];

pub(crate) fn run(args: &ReadArgs) -> Result<()> {
    let wanted = |name: &str| args.formats.is_empty() || args.formats.iter().any(|f| f == name);
    for (name, shape) in CASES.into_iter().filter(|(name, _)| wanted(name)) {
        measure(args, name, shape)?;
    }
    Ok(())
}

fn measure(args: &ReadArgs, name: &str, shape: Shape) -> Result<()> {
    let format = Format::named(name).context("no such format")?;
    let path = args.folder.join(format!("isolde-bench-{}.{name}", std::process::id()));
    let write_seconds = write(format, &path, shape, args)?;
    let done = (0..args.runs).map(|_| read(&path, format)).collect::<Result<Vec<_>>>();
    let size = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;
    let mut runs = done?;
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (best, median) = (&runs[0], &runs[runs.len() / 2]);
    let ops = best.ops as f64;
    let line = json!({
        "bench": "read",
        "format": name,
        "shape": format!("{shape:?}").to_lowercase(),
        "transactions": args.txns,
        "keys": args.keys,
        "operations": best.ops,
        "bytes": size,
        "write_seconds": round(write_seconds),
        "seconds": round(best.seconds),
        "seconds_median": round(median.seconds),
        "mb_per_s": round(size as f64 / 1e6 / best.seconds),
        "transactions_per_s": (args.txns as f64 / best.seconds) as u64,
        "transactions_per_s_median": (args.txns as f64 / median.seconds) as u64,
        "history_bytes_per_operation": round(best.heap as f64 / ops),
        "list_elements": best.elements,
        "peak_bytes_per_operation": round(best.peak as f64 / ops),
    });
    println!("{line}");
    Ok(())
}

fn write(format: &Format, path: &Path, shape: Shape, args: &ReadArgs) -> Result<f64> {
    let history = serial::history(shape, args.txns, args.keys.max(2))?;
    let write = format.write.context("the format is not written")?;
    let begin = Instant::now();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    write(&history, &mut out)?;
    std::io::Write::flush(&mut out)?;
    Ok(begin.elapsed().as_secs_f64())
}

pub(crate) struct Run {
    pub(crate) seconds: f64,
    ops: usize,
    elements: usize,
    heap: usize,
    peak: usize,
}

/// From the path to the finished history; the file is in the page cache after the first run.
pub(crate) fn read(path: &Path, format: &Format) -> Result<Run> {
    let before = counting::now();
    counting::reset_peak();
    let begin = Instant::now();
    let source = Source::open(path)?;
    let history: History = format.load(&source)?.finish();
    let seconds = begin.elapsed().as_secs_f64();
    drop(source);
    // Counted by the allocator, not by the history's own arithmetic.
    let heap = counting::now() - before;
    let peak = counting::peak() - before;
    Ok(Run { seconds, ops: history.op_count(), elements: history.element_count(), heap, peak })
}
