//! The `isolde` command: parse, call, print, exit code.

mod about;
mod args;
mod bounds;
mod check;
mod convert;
mod desk;
mod driver;
mod excerpts;
mod exit;
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
use exit::{EXIT_FAULT, EXIT_OK, is_broken_pipe};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
