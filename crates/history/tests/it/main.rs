//! The crate as others use it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod following;
mod sinks;
mod traces_page;
