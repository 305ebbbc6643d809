//! All tests of random SQL from outside, in one program: linked once, run on all cores. A new file is named here; `tidy`
//! looks whether it is.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod busy;
mod common;
mod figures;
mod generate;
mod generate_on_servers;
mod hostile;
mod sound;
mod tampered;
mod twin;
