//! SQL as it is typed: any statement, any answer, and who waits for whom.
//!
//! Workloads need none of this: their accesses are [`Request`](crate::Request)s. Schedules of exact
//! interleavings are written in SQL.

use crate::failure::Failure;
use crate::offer::Offer;

/// One value of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// Anything else, as the server writes it.
    Text(String),
}

/// What a statement brought.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Rows, of a query.
    Rows(Vec<Vec<Datum>>),
    /// How many rows were changed (found, if nothing changed about them), of INSERT, UPDATE, DELETE.
    Changed(u64),
    /// It was done, of everything else. COMMIT that ended in a rollback is a [`Failure`].
    Done,
}

/// A client that runs any statement.
pub trait Console: Send {
    /// Runs one statement and waits for its answer. `begin` starts a transaction at the console's
    /// level.
    fn run(&mut self, statement: &str) -> Result<Said, Failure>;

    /// The server's number of this client, for [`Waits`].
    fn number(&self) -> u64;
}

/// Tells who waits for a lock.
pub trait Waits: Send {
    /// Whether that client waits for a lock that another one holds.
    fn waits(&mut self, client: u64) -> Result<bool, Failure>;
}

/// A target that understands SQL.
pub trait Consoles: Send + Sync {
    /// A console whose transactions run at that offer.
    fn console(&self, offer: &Offer) -> Result<Box<dyn Console>, Failure>;

    /// Who tells who waits; `None` if this server cannot say, and only patience can tell.
    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure>;
}
