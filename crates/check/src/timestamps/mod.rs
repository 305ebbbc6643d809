//! Promises by the server's own timestamps (Chronos).
//!
//! A server that says when each transaction started and committed says what it saw. So there is nothing to
//! infer: versions are in the order of their commits, each transaction sees what had been committed by its
//! place, and every operation either fits or is wrong. Sorted once, each key is decided on its own.
//!
//! [`rules`] has the rules as functions of timestamps, for streams too.

pub(crate) mod case;
mod explain;
pub mod facts;
pub(crate) mod finding;
pub(crate) mod gaps;
mod judged_key;
mod lists;
pub(crate) mod procedure;
pub mod rules;
mod sessions;
pub(crate) mod supply;
mod sweep;
pub(crate) mod ticks;
mod timeline;
mod unknown;
mod written;
mod wrong_read;

pub use procedure::{Stage, decide};
pub use supply::Supply;
