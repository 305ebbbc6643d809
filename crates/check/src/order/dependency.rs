//! A dependency between two transactions, and what is told of it.

use hashbrown::HashMap;
use isolde_history::{OpId, TxnId};
use isolde_spec::Edges;

/// One dependency, with the operations that make it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependency {
    pub(crate) from: TxnId,
    pub(crate) to: TxnId,
    pub(crate) kind: Edges,
    pub(crate) from_op: OpId,
    pub(crate) to_op: OpId,
    /// The write of the version that was read and overwritten, of an anti-dependency.
    pub(crate) version: Option<OpId>,
    /// The list read that shows that one came before the other.
    pub(crate) shown_by: Option<OpId>,
    /// Whether session order shows it.
    pub(crate) by_session: bool,
    /// Whether it follows only where an update makes the version after the one its transaction read.
    pub(crate) of_update: bool,
}

/// A receiver of the dependencies of a key.
pub(crate) trait Dependencies {
    fn add(&mut self, dependency: Dependency);

    /// All readers of a version come before all writers that overwrote it.
    fn all(&mut self, key: usize, readers: &[TxnId], writers: &[TxnId]);

    /// If only certain dependencies are wanted, which anti-dependencies: for each reader, the writers
    /// that overwrite, in ascending order.
    fn wanted(&self) -> Option<&HashMap<TxnId, Vec<TxnId>>> {
        None
    }

    /// A dependency that follows where a transaction that read a version and extended it makes the next
    /// one: at repeatable read, and from snapshot isolation up.
    fn add_of_update(&mut self, _: Dependency) {}

    /// A transaction read a version and overwrote it: two dependencies between the same two.
    fn add_both(&mut self, read: Dependency, overwrote: Dependency) {
        self.add(read);
        self.add(overwrote);
    }
}
