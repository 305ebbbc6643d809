//! Histories without a database: the scripts of a workload, run by a simulated one.
//!
//! Every session runs one transaction after another. A transaction begins, which is its snapshot;
//! some time later the database commits or aborts it; some time later again the answer arrives. At
//! each tick of the clock one of the transactions under way, whichever, goes on by one step. So
//! transactions overlap, and their answers arrive in another order than that in which they took
//! effect.
//!
//! Transactions are pushed into a [`Sink`] as their answers arrive. Only the
//! current state of the tables is kept, so memory does not grow with the history.
//!
//! ```
//! use isolde_history::HistoryBuilder;
//! use isolde_workload::simulate::{Plan, simulate};
//! let mut builder = HistoryBuilder::new();
//! simulate(&Plan { txns: 100, ..Plan::default() }, &mut builder)?;
//! assert_eq!(builder.finish().txn_count(), 100);
//! # Ok::<(), isolde_workload::simulate::SimulateError>(())
//! ```

mod cells;
mod plan;
mod plant;
mod recipes;
mod recorder;
mod run;
mod running;
mod slots;
mod span;
mod stamper;
mod store;
mod tables;
#[cfg(test)]
mod tests;
mod timestamp_faults;
mod timestamps;

use isolde_history::{HistoryBuilder, Sink, SinkError};

pub use plan::{Database, Plan, Planted};
pub use recipes::plantable;
pub use recorder::Simulated;
pub use timestamp_faults::TimestampFault;
pub use timestamps::{PlantedFault, TimestampStyle, Timestamps};

use cells::{Lists, Registers};
use recorder::Recorder;
use run::Simulation;

/// Why there is no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The plan asks for what cannot be.
    #[error("{0}")]
    Plan(String),
    /// The history has nowhere to go.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Simulates, and pushes each transaction as its answer arrives.
pub fn simulate<S: Sink>(plan: &Plan, sink: &mut S) -> Result<Simulated, SimulateError> {
    simulate_watched(plan, sink, &mut |_| {})
}

/// The same, and says now and then how many transactions there are.
pub fn simulate_watched<S: Sink>(
    plan: &Plan,
    sink: &mut S,
    watch: &mut dyn FnMut(u64),
) -> Result<Simulated, SimulateError> {
    run(plan, std::slice::from_mut(sink), watch)
}

/// Simulates, and puts one session after another, as in logs of sessions. The whole history is held.
pub fn simulate_by_session(plan: &Plan) -> Result<(HistoryBuilder, Simulated), SimulateError> {
    let mut parts: Vec<HistoryBuilder> =
        (0..plan.workload.sessions).map(|_| HistoryBuilder::new()).collect();
    let done = run(plan, &mut parts, &mut |_| {})?;
    let mut parts = parts.into_iter();
    let mut whole = parts.next().unwrap_or_default();
    for part in parts {
        whole.append(part)?;
    }
    Ok((whole, done))
}

/// Into one sink, or into one for each session.
fn run<S: Sink>(
    plan: &Plan,
    sinks: &mut [S],
    watch: &mut dyn FnMut(u64),
) -> Result<Simulated, SimulateError> {
    let workload = plan.validate().map_err(SimulateError::Plan)?;
    let recorder = Recorder::new(plan, &workload, sinks);
    let done = if workload.has_lists() {
        Simulation::new(plan, &workload, Lists, recorder).run(watch)
    } else {
        Simulation::new(plan, &workload, Registers::default(), recorder).run(watch)
    };
    Ok(done?)
}
