//! How fast an endless stream is judged, and with how much memory: the experiments of the paper on Aion.
//!
//! Transactions are simulated on a thread of their own while the stream judges them. The rate is that of the
//! processor time which judging takes, so that how fast they are made does not matter.

mod args;
mod arrival;
mod gauge;
mod held;
mod offline;
mod one;
mod parts;
mod source;

use anyhow::Result;
use args::Part;
use clap::ValueEnum;

pub(crate) use args::StreamArgs;

pub(crate) fn run(args: &StreamArgs) -> Result<()> {
    for part in Part::value_variants() {
        // Without a wish, every part but the one that says nothing of its own.
        let wanted = match args.only.is_empty() {
            true => *part != Part::One,
            false => args.only.contains(part),
        };
        if !wanted {
            continue;
        }
        match part {
            Part::One => println!("{}", one::measured(&args.case)?),
            Part::Rate => parts::rate(&args.case)?,
            Part::Jsonl => parts::jsonl(&args.case)?,
            Part::Keys => parts::keys(&args.case)?,
            Part::Memory => parts::memory(&args.case)?,
            Part::Collect => parts::collect(&args.case)?,
            Part::Flips => parts::flips(&args.case)?,
            Part::Violations => parts::violations(&args.case)?,
        }
    }
    Ok(())
}
