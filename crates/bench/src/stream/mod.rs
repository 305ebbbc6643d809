//! How fast an endless stream is judged, and with how much memory: the experiments of the paper on Aion.
//!
//! Transactions are simulated on a thread of their own while the stream judges them. The rate is that of the
//! processor time which judging takes, so that how fast they are made does not matter.

mod args;
mod arrival;
mod held;
mod offline;
mod one;
mod parts;
mod source;

use anyhow::Result;
use args::StreamPart;
use clap::ValueEnum;

pub(crate) use args::StreamArgs;

pub(crate) fn run(args: &StreamArgs) -> Result<()> {
    for part in StreamPart::value_variants() {
        // Without a wish, every part but the one that says nothing of its own.
        let wanted = match args.only.is_empty() {
            true => *part != StreamPart::One,
            false => args.only.contains(part),
        };
        if !wanted {
            continue;
        }
        match part {
            StreamPart::One => println!("{}", one::measured(&args.case)?),
            StreamPart::Rate => parts::rate(&args.case)?,
            StreamPart::Jsonl => parts::jsonl(&args.case)?,
            StreamPart::Keys => parts::keys(&args.case)?,
            StreamPart::Memory => parts::memory(&args.case)?,
            StreamPart::Collect => parts::collect(&args.case)?,
            StreamPart::Flips => parts::flips(&args.case)?,
            StreamPart::Violations => parts::violations(&args.case)?,
        }
    }
    Ok(())
}
