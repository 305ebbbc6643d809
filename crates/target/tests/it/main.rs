//! All tests of targets from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod addresses;
mod clusters;
mod common;
mod console_rows;
mod drivers;
mod embedded;
mod hermitage;
mod mishaps;
mod outcomes;
mod paths;
mod promises;
mod servers;
mod snapshots;
mod sqlite_console;
mod verdicts;
mod versions;
