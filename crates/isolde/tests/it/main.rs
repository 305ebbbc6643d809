//! All tests of the command from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod command;
mod common;
mod convert;
mod driver;
mod events;
mod excerpts;
mod faults;
mod faulty;
mod fuzz;
mod generate;
mod inputs;
mod lawful;
mod leftovers;
mod limits;
mod live;
mod lost_connections;
mod mirrored;
mod online;
mod online_intervals;
mod outputs;
mod own_histories;
mod planted;
mod printed_commands;
mod probe;
mod readme;
mod replay;
mod reports;
mod same_bytes;
mod secrets;
mod shared_histories;
mod shown;
mod signals;
mod statement_snapshots;
mod throwaway;
mod tidy;
mod timestamps;
mod traced;
mod trouble;
mod watch;
mod watch_intervals;
mod watch_refused;
mod watch_state;
mod watch_whole;
mod wording;
