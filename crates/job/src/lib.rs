//! The work behind the command: open a database, run on it, check what was recorded, repeat, keep what was
//! found. It is told as [`Event`]s, and ended by a [`Stop`]. Nothing here prints, nothing ends the process,
//! and two jobs in one process do not know of each other.
//!
//! [`test()`] does all of it; [`Stage`] is a database that is open, for single runs; [`Asking`] asks levels
//! about a history, wherever it came from.

mod about;
mod asking;
mod bounds;
mod chosen;
mod command_line;
mod event;
pub mod excerpts;
mod fitting;
mod folder;
pub mod found;
pub mod fuzz;
pub mod load;
mod mirrored;
mod notice;
mod one_run;
mod online;
pub mod output;
mod place;
mod plain;
mod plan;
pub mod ran;
pub mod reports;
mod shown;
mod stage;
mod stop;
mod test;
mod trial;
mod trial_outcome;
mod trials;

pub use about::about;
pub use asking::{Asking, levels};
pub use bounds::Bounds;
pub use command_line::{CommandLine, quoted};
pub use event::{Event, Watch};
pub use fitting::{Dropping, fitted};
pub use mirrored::{IntervalQuestion, USUAL_SHARE, profile};
pub use notice::Notice;
pub use online::{Agreement, OnlineOutcome};
pub use place::Place;
pub use plan::{
    Driving, Often, OnlinePlan, RunPlan, ServerPlan, TestPlan, WorkloadPlan, random_seed,
};
pub use shown::shown;
pub use stage::Stage;
pub use stop::{EndedBy, Stop};
pub use test::{test, test_on};
pub use trial::Trial;
pub use trial_outcome::TrialOutcome;
pub use trials::Trials;
