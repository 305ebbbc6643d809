//! Promises by the server's own snapshots.
//!
//! A server that says which transactions each snapshot shows says what each transaction saw. Snapshots of one
//! server stand in a row (`chain`), so the rules of timestamps hold for them word for word; what is added is
//! that a snapshot may not be old (`fresh`), and that a row which was deleted may be inserted again. Where each
//! statement has a snapshot of its own (read committed), reads are held to those (`statements`).

mod chain;
mod fresh;
mod procedure;
mod statements;
mod supply;

pub use procedure::decide;
pub use supply::SnapshotSupply;
