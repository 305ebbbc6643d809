//! What can be typed to clean up.

use std::path::PathBuf;

/// List, and remove, what runs that were killed left in a database of yours
///
/// A run drops its tables (isolde_...) when it ends; one that was killed cannot. Only tables, schemas and
/// databases with names that Isolde makes are listed. Nothing is removed without --force, and nothing that a
/// transaction is using. Do not use --force while a run on the same database is going on: its tables may not be in
/// use at that moment.
#[derive(clap::Args, Debug)]
#[command(after_help = "Exit codes: 0 done, 2 something could not be removed.\n\n\
                        Examples:\n  isolde clean postgres://me@localhost/db\n  \
                        isolde clean mysql://me@localhost/db --force\n  isolde clean sqlite:my.db")]
pub(crate) struct CleanArgs {
    /// The database, by a URL or as sqlite:PATH
    pub(crate) target: String,
    /// Remove what is listed
    #[arg(long, visible_alias = "yes")]
    pub(crate) force: bool,
    /// A file whose first line is the password for the server that the URL names
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
