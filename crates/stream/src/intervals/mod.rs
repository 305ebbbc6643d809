//! Transactions held to the mechanisms of their server, by nothing but when each statement was sent and answered and what
//! it returned (Leopard; the rules are those of the specification, C.1 to C.6, with their corrections).
//!
//! Transactions are *entered*, in any order, and *decided* one after another, in the order in which they ended. A
//! transaction may be decided once everything has been entered that began before it ended: nothing else can have to do
//! with it. All that a decision looks at was known by then, whatever else has come, so neither the order of arrival nor
//! what was forgotten meanwhile changes what is found.
//!
//! Only certain orders are used. What is not certain loses detections, and never makes a violation up.

mod breach;
mod checker;
mod conflicts;
mod consistent_read;
mod content;
mod edges;
mod entering;
mod exclusion;
mod first_updater;
mod flow;
mod given_up;
mod held;
mod lock_modes;
mod low_water;
mod mirror;
mod missing_rows;
mod offline;
mod predicates;
mod range_exclusion;
mod ranges;
mod reading;
mod row;
mod small;
mod sources;
mod span;
mod ssi;
mod suspects;
mod times;
mod told;
mod topology;
mod trace;
mod tracer;
mod version_orders;
mod witness;

pub(crate) use checker::{IntervalChecker, SaidOfSession};
pub use flow::IntervalFlow;
pub use offline::decide;
pub use version_orders::version_orders;
