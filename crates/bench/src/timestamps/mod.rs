//! How fast promises are decided by the server's timestamps: the experiments of the paper on Chronos.
//!
//! Whole commands are processes of their own that read an `.isolde` file. Everything else happens in this process, where
//! an allocator that counts knows the peak of one check.

mod args;
mod commands;
mod file;
mod groups;
mod process;
mod staged;
mod stages;
mod stamped_plan;
mod sweeps;

use anyhow::Result;
use args::Part;
use clap::ValueEnum;

pub(crate) use args::TimestampsArgs;

pub(crate) fn run(args: &TimestampsArgs) -> Result<()> {
    for part in Part::value_variants() {
        if !args.only.is_empty() && !args.only.contains(part) {
            continue;
        }
        match part {
            Part::Commands => commands::sizes(args)?,
            Part::Stages => stages::run(args)?,
            Part::Sweeps => sweeps::run(args)?,
            Part::Groups => groups::run(args)?,
            Part::Memory => commands::memory(args)?,
            Part::Workloads => commands::workloads(args)?,
            Part::Faults => commands::faults(args)?,
        }
    }
    Ok(())
}
