//! Running: concurrent sessions against a database, every outcome exact, everything recorded.
//!
//! [`run`] gives each session of a workload a thread and a connection, lets them run until a limit,
//! a failure or the user ends it, and records every attempt on a [`Tape`] while it happens.

mod attempt;
mod client;
mod clock;
mod confirmed;
mod faults;
mod gate;
mod kept_versions;
mod note;
mod options;
mod paths;
mod recorder;
mod shared;
mod shown;
mod tables;
mod tally;
mod tape;
mod threads;
mod version_orders;
mod whole_run;
mod within;

pub use faults::{Fault, Happened, What, When, time};
pub use kept_versions::ShownVersions;
pub use options::{Limits, Options};
pub use paths::PathChoice;
pub use tally::{Progress, Trouble};
pub use tape::{Discard, Tape};
pub use threads::{TooManySessions, room_for};
pub use whole_run::{Controls, Hung, Ran, RunError, run};
pub use within::{Stuck, within};
