//! All tests of workloads from outside, in one program: linked once, run on all
//! cores. A new file is named here; `tidy` looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod applications;
mod golden;
mod mixes;
mod page;
mod rules;
mod timestamps;
