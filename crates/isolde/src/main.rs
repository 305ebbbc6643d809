//! The `isolde` command: parse, call, print, exit code.

mod address;
mod args;
mod bar;
mod check;
mod clean;
mod convert;
mod delay;
#[cfg(feature = "drivers")]
mod driver;
mod event_log;
mod exit;
mod explain;
mod formats;
mod fuzz;
mod generate;
mod interrupt;
#[cfg(feature = "manual")]
mod manual;
mod names;
mod plans;
mod probe;
mod progress;
mod reading;
mod record;
mod replay;
mod screen;
mod secrets;
mod stat;
mod targets;
mod terminal;
mod test;
mod typed;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;

use anyhow::{Context, Result};
use args::{Args, Command};
use clap::Parser;
use exit::{EXIT_FAULT, EXIT_OK, EXIT_PANIC, is_broken_pipe};
use interrupt::Interrupts;
use secrets::hidden;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The command runs on a thread of its own, so that only this function ends the process: when the command
/// is through, or when a signal says that the user does not want to wait for it.
fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refused(&error),
    };
    let (exit, ended) = channel();
    let interrupts = Interrupts::new(exit.clone());
    let command = move || {
        let code = catch_unwind(AssertUnwindSafe(|| done(run(&args, &interrupts))));
        // If it is not received, a signal was faster.
        let _ = exit.send(code.unwrap_or(EXIT_PANIC));
    };
    let started = thread::Builder::new().name("isolde".to_owned()).stack_size(STACK).spawn(command);
    match started.context("cannot start a thread") {
        Ok(_) => ExitCode::from(ended.recv().unwrap_or(EXIT_FAULT)),
        Err(error) => ExitCode::from(done(Err(error))),
    }
}

/// What clap says to what was typed: help, or what is wrong with it.
fn refused(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        anstream::eprint!("{}", hidden(&error.render().ansi().to_string()));
    } else {
        // A reader of the help that goes away loses nothing.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_FAULT))
}

/// As much as the first thread of a process has.
const STACK: usize = 8 << 20;

fn run(args: &Args, interrupts: &Interrupts) -> Result<u8> {
    match &args.command {
        Command::Test(args) => test::run(args, interrupts),
        Command::Record(args) => record::run(args, interrupts),
        Command::Probe(args) => probe::run(args, interrupts),
        Command::Fuzz(args) => fuzz::run(args, interrupts),
        Command::Clean(args) => clean::run(args, interrupts),
        Command::Targets(args) => targets::run(args, interrupts).map(|()| EXIT_OK),
        #[cfg(feature = "drivers")]
        Command::Driver(args) => driver::run(args, interrupts),
        Command::Check(args) => check::run(args, interrupts),
        Command::Watch(args) => watch::run(args, interrupts),
        Command::Explain(args) => explain::run(args, interrupts).map(|()| EXIT_OK),
        Command::Stat(args) => stat::run(args).map(|()| EXIT_OK),
        Command::Convert(args) => convert::run(args).map(|()| EXIT_OK),
        Command::Generate(args) => generate::run(args).map(|()| EXIT_OK),
        Command::Replay(args) => replay::run(args).map(|()| EXIT_OK),
        Command::Formats(args) => formats::run(args).map(|()| EXIT_OK),
        #[cfg(feature = "manual")]
        Command::Completions { shell } => manual::completions(*shell).map(|()| EXIT_OK),
        #[cfg(feature = "manual")]
        Command::Man => manual::man_page().map(|()| EXIT_OK),
    }
}

/// The exit code, and the error if there is one.
fn done(result: Result<u8>) -> u8 {
    match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => EXIT_OK,
        Err(error) => {
            terminal::error(&error);
            EXIT_FAULT
        }
    }
}
