//! Cases on real servers.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod busy;
mod common;
mod figures;
mod sound;
mod tampered;
