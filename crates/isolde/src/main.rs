//! The `isolde` command: parse, call, print, exit code.

mod about;
mod args;
mod check;
mod convert;
mod desk;
mod driver;
mod excerpts;
mod explain;
mod formats;
mod generate;
mod interrupt;
mod load;
mod manual;
mod output;
mod plain;
mod probe;
mod ran;
mod record;
mod reports;
mod running;
mod shell;
mod stat;
mod targets;
mod terminal;
mod test;
mod trials;
mod typed;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The level holds, or there was nothing to decide.
const EXIT_OK: u8 = 0;
/// A level is violated.
const EXIT_VIOLATED: u8 = 1;
/// The input or the environment is at fault.
const EXIT_FAULT: u8 = 2;
/// It cannot be decided.
const EXIT_UNKNOWN: u8 = 3;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Command::Test(args) => test::run(args),
        Command::Record(args) => record::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Targets(args) => targets::run(args).map(|()| EXIT_OK),
        Command::Driver(args) => driver::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args).map(|()| EXIT_OK),
        Command::Stat(args) => stat::run(args).map(|()| EXIT_OK),
        Command::Convert(args) => convert::run(args).map(|()| EXIT_OK),
        Command::Generate(args) => generate::run(args).map(|()| EXIT_OK),
        Command::Formats(args) => formats::run(args).map(|()| EXIT_OK),
        Command::Completions { shell } => manual::completions(*shell).map(|()| EXIT_OK),
        Command::Man => manual::man_page().map(|()| EXIT_OK),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(EXIT_OK),
        Err(error) => {
            anstream::eprintln!("{}: {error:#}", load::ERROR.label("error"));
            ExitCode::from(EXIT_FAULT)
        }
    }
}

/// `isolde ... | head` ends early, and is no error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|e| e.downcast_ref::<std::io::Error>());
    io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
