//! The stream against the check of whole histories.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod any_order;
mod as_offline;
mod asked;
mod autocommit;
mod by_intervals;
mod by_snapshots;
mod ends;
mod examples;
mod fed;
mod folder;
mod interval_cases;
mod killed;
mod limits;
mod locked_ranges;
mod lost;
mod made;
mod many_rows;
mod mirrored;
mod missing_rows;
mod own_traces;
mod repeats;
mod seen_on_servers;
mod server;
mod snapshot_examples;
mod statement_snapshots;
mod traces;
