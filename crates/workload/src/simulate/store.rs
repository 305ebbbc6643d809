//! What a simulated database holds, and which transactions it lets commit.

use isolde_history::OpKind;

use super::plan::Database;
use super::running::{Running, Touch};
use super::tables::Tables;

/// What is under a key.
pub(crate) trait Cell: Clone + Default {
    /// Another number after each write.
    fn version(&self) -> u64;
}

/// One access by a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) kind: OpKind,
    pub(crate) row: u32,
    /// What a compare-and-set expects.
    pub(crate) expected: u64,
}

/// What a simulated database holds: registers or lists.
pub(crate) trait Store {
    /// What is under a key.
    type Cell: Cell;
    /// Whether that is a list.
    const LISTS: bool;

    /// Reads or prepares to write; the transaction remembers it.
    fn access(&mut self, tables: &mut Tables<Self::Cell>, access: Access, txn: &mut Running);

    /// Does what the transaction wrote.
    fn apply(&mut self, tables: &mut Tables<Self::Cell>, txn: &Running);

    /// `count` values that were never written; the number before the first.
    fn fresh_values(&mut self, count: u64) -> u64;

    /// The last read of a key that will not be written again, if there is anything to read.
    fn last_read(cell: Self::Cell) -> Option<Vec<u64>>;
}

/// Whether the rules of the database let a transaction commit.
pub(crate) fn may_commit<C: Cell>(
    database: Database,
    tables: &mut Tables<C>,
    txn: &Running,
) -> bool {
    let mut is_current = |touch: &Touch| {
        let cell = tables.cell(txn.round, touch.row);
        cell.is_some_and(|(_, cell)| cell.version() == touch.version)
    };
    let mut touched = txn.touched.iter();
    match database {
        // A transaction that read a list with an own element in it has shown where that element is.
        Database::ReadCommitted | Database::Prefix => {
            touched.filter(|t| t.read_own).all(is_current)
        }
        Database::Snapshot => touched.filter(|t| t.wrote).all(is_current),
        // In the serialization order, a reader comes where its snapshot is. A writer comes where it
        // commits, and must have read the versions that are current then.
        Database::Serializable => {
            txn.touched.iter().all(|t| !t.wrote) || touched.all(|t| !t.read || is_current(t))
        }
    }
}
