//! What goes wrong on purpose while a run goes on: servers that pause, die or are cut off, connections
//! that break or are slow.
//!
//! [`Fault`] is what the user asks for, `plan.rs` says when each happens (from a seed), `play.rs` does it
//! and undoes it. A fault changes nothing about how outcomes are judged: a client that got no final
//! answer to COMMIT does not know.

mod fault;
mod happened;
mod plan;
mod play;

pub use fault::{Fault, What, When, time};
pub use happened::Happened;
pub(crate) use play::{Mischief, check};
