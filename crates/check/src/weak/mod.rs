//! The levels below snapshot isolation whose axioms do not speak of the commit order: read
//! uncommitted, `pl-2`, read committed, read atomic, causal.
//!
//! What such a level makes binding for a read depends on reads and sessions only. So every edge of
//! the commit order that it forces can be told in one pass, and the level holds if they have no
//! cycle: any order that the graph allows explains the history.

mod axioms;
mod base;
mod causal;
mod chains;
mod explain;
mod forced;
mod forcing;
mod path;
mod question;
mod reads;

pub(crate) use axioms::{by_causality, causal_steps, decide, doubts};
pub(crate) use base::Base;
