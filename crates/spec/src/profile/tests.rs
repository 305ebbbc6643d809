//! What the built-in profiles say, what the parser makes of mistakes, and that the documentation is right.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod builtin;
mod mutations;
mod parse;
