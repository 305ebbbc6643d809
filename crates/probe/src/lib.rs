//! Exact interleavings of statements, and what a database makes of them.
//!
//! A [`Schedule`] is statements of several sessions in one order. A [`Player`] sends them one by one and
//! notices which session waits for which; what it observes is the same every time. Schedules are
//! written in SQL and know nothing of workloads and histories.

mod actor;
pub mod case;
pub mod compare;
pub mod condition;
pub mod html;
pub mod json;
pub mod matrix;
mod outcome;
mod player;
mod portable;
pub mod recorded;
pub mod replay;
mod room;
mod schedule;
mod simple;
mod statement;
pub mod text;
mod traced;

pub use outcome::Outcome;
pub use player::{Cast, Player};
pub use portable::Portable;
pub use room::{Background, Room};
pub use schedule::{Event, Happened, MOST_SESSIONS, MOST_STEPS, Played, Schedule, Step, StepTimes};
pub use traced::trace;
