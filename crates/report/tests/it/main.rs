//! All tests of reports from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod drawn;
mod everything;
mod gallery;
mod handbook;
mod html;
mod junit;
mod mirrored;
mod operations;
mod pictures;
mod schema;
mod shown;
mod stories;
mod summaries;
mod timed;
mod timed_reports;
mod verdicts;
mod watched;
mod weak;
