//! SQL as it is typed: any statement, any answer, and which client waits for which.
//!
//! Workloads need none of this: their accesses are [`Request`](crate::Request)s. Schedules of exact
//! interleavings are written in SQL.

use crate::failure::Failure;
use crate::offer::Offer;
use crate::rows::ResultSet;

/// What a statement brought.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Rows, of a query.
    Rows(ResultSet),
    /// How many rows were changed, of INSERT, UPDATE, DELETE.
    Changed(u64),
    /// It was done, of everything else.
    Done,
    /// COMMIT, and the server rolled back and said so (PostgreSQL after a failed statement).
    RolledBack,
}

/// A client that runs any statement.
pub trait Console: Send {
    /// Runs one statement and waits for its answer. `begin` starts a transaction at the console's
    /// level.
    fn run(&mut self, statement: &str) -> Result<Said, Failure>;

    /// The server's number of this client, for [`Waits`].
    fn number(&self) -> u64;
}

/// A client that waits for a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The client that waits.
    pub client: u64,
    /// The clients that it waits for, as far as the server tells.
    pub behind: Vec<u64>,
}

/// Tells which clients wait for a lock.
pub trait Waits: Send {
    /// Those of the clients that wait at this moment for something that another one holds. A client
    /// that was let go by a statement that has ended is never among them.
    fn waiting(&mut self, clients: &[u64]) -> Result<Vec<Waiting>, Failure>;
}

/// A target that understands SQL.
pub trait Consoles: Send + Sync {
    /// Makes a room: an empty schema or database with a name that nothing else uses. In it, tables may
    /// have any name.
    fn make_room(&self) -> Result<String, Failure>;

    /// Removes a room and all that is in it, and makes it again, empty.
    fn empty_room(&self, room: &str) -> Result<(), Failure>;

    /// Removes a room and all that is in it.
    fn remove_room(&self, room: &str) -> Result<(), Failure>;

    /// A console in a room, whose transactions run at that offer.
    fn console(&self, offer: &Offer, room: &str) -> Result<Box<dyn Console>, Failure>;

    /// Whether the server removes old rows at moments of its own that decide which client waits for
    /// which.
    fn purges(&self) -> bool {
        false
    }

    /// What tells which clients wait; `None` if this server cannot say, and only patience can tell.
    fn waits(&self) -> Result<Option<Box<dyn Waits>>, Failure>;

    /// Why a schedule cannot be run, if not every statement is understood.
    fn refusal(&self, _setup: &[String], _steps: &[&str]) -> Option<String> {
        None
    }

    /// Whether only one schedule may run at a time, since rooms come in each other's way.
    fn one_at_a_time(&self) -> bool {
        false
    }
}
