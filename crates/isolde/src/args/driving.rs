//! What can be typed about drivers.

use std::time::Duration;

use clap::Subcommand;

use crate::typed;

/// Help with drivers: any database as a process that speaks JSON
///
/// `isolde test driver:COMMAND` tests a database through a driver, a program that reads requests from its
/// standard input and answers on its standard output, one JSON object a line. docs/drivers.md describes
/// the protocol; examples/drivers/redis_driver.py is one.
#[derive(clap::Args, Debug)]
pub(crate) struct DriverArgs {
    #[command(subcommand)]
    pub(crate) command: DriverCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum DriverCommand {
    Check(DriverCheckArgs),
}

/// Check step by step whether a driver keeps to the protocol
///
/// One line a check: what was expected, and what was found if that is something else. It says nothing of
/// isolation: that is what `isolde test` is for.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 all is well, 1 a check failed.\n\n\
                        Examples:\n  \
                        isolde driver check 'python3 examples/drivers/redis_driver.py'\n  \
                        isolde driver check ./driver --timeout 2s --json")]
pub(crate) struct DriverCheckArgs {
    /// The command that starts the driver, as a shell takes it
    #[arg(value_name = "COMMAND")]
    pub(crate) driver: String,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = typed::duration)]
    pub(crate) timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
