//! All tests of the command from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod command;
mod common;
mod driver;
mod events;
mod excerpts;
mod faults;
mod faulty;
mod generate;
mod limits;
mod live;
mod lost_connections;
mod own_histories;
mod probe;
mod readme;
mod reports;
mod same_bytes;
mod shared_histories;
mod tidy;
mod trouble;
mod wording;
