//! Speed and memory, one JSON object a line. Never part of the tests: run it on a quiet machine.
//!
//! ```text
//! cargo run --release -p isolde-bench -- read --txns 1000000
//! cargo run --release -p isolde-bench -- check --levels ser,si --distribution zipfian
//! ```

mod check;
mod command;
mod counting;
mod made;
mod measure;
mod read;

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
}

fn main() -> anyhow::Result<()> {
    match Args::parse().what {
        What::Read(args) => read::run(&args),
        What::Check(args) => check::run(&args),
    }
}
