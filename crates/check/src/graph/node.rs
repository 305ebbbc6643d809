//! The nodes of the dependency graph: transactions, instants of real time, and helpers of keys.

use isolde_history::TxnId;

use crate::keys::context::Context;

/// A node of the dependency graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Node(u32);

impl isolde_graph::Node for Node {
    #[inline]
    fn from_index(index: u32) -> Node {
        Node(index)
    }

    #[inline]
    fn index(self) -> u32 {
        self.0
    }
}

impl From<TxnId> for Node {
    #[inline]
    fn from(txn: TxnId) -> Node {
        Node(txn.0)
    }
}

impl Node {
    /// The index, as that of a column.
    #[inline]
    pub(crate) fn at(self) -> usize {
        self.0 as usize
    }
}

/// How the nodes of a history are numbered: its transactions from 0 on, then the instants of real time,
/// which are at most as many, then one helper for each key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbering {
    txns: u32,
    keys: u32,
}

impl Numbering {
    pub(crate) fn of(context: &Context<'_>) -> Numbering {
        let (txns, keys) = (context.txn_count(), context.history.key_count());
        Numbering { txns: txns as u32, keys: keys as u32 }
    }

    /// How many nodes are transactions.
    pub(crate) fn txn_count(self) -> usize {
        self.txns as usize
    }

    /// How many nodes there are with all helpers.
    pub(crate) fn all(self) -> usize {
        2 * self.txns as usize + self.keys as usize
    }

    /// An instant of real time.
    #[inline]
    pub(crate) fn instant(self, number: usize) -> Node {
        debug_assert!(number < self.txns as usize, "more instants than transactions");
        Node(self.txns + number as u32)
    }

    /// The helper of a key.
    #[inline]
    pub(crate) fn key_helper(self, key: usize) -> Node {
        debug_assert!(key < self.keys as usize, "a helper of key {key} of {}", self.keys);
        Node(2 * self.txns + key as u32)
    }

    /// Whether a node is a transaction.
    #[inline]
    pub(crate) fn is_txn(self, node: Node) -> bool {
        node.0 < self.txns
    }

    /// The transaction of a node, if it is one.
    #[inline]
    pub(crate) fn txn(self, node: Node) -> Option<TxnId> {
        self.is_txn(node).then_some(TxnId(node.0))
    }
}
