//! Transactions on chains: each came before the next, because its session went on or because the next
//! read from it. What comes before a transaction is then one number for each chain.

use isolde_history::SessionId;

use super::reads::{ByTxn, INITIAL};
use crate::graph::node::Node;
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// Where each transaction stands.
pub(crate) struct Chains {
    /// The chain of each transaction that counts, and its place there.
    of: Vec<(u32, u32)>,
    pub(crate) count: usize,
}

/// The chain of what does not count.
const NONE: (u32, u32) = (u32::MAX, 0);

impl Chains {
    /// A chain for each session, if session order counts. A transaction that is in none (nothing
    /// follows one of unknown outcome in its session) goes behind a transaction that it read from, if
    /// that is the last of such a chain, or begins another one.
    pub(crate) fn new(
        context: &Context<'_>,
        by_txn: &ByTxn,
        order: &[Node],
        session_order: bool,
    ) -> Chains {
        let mut of = vec![NONE; context.txn_count()];
        let mut count = 0;
        if session_order {
            count = context.history.session_count();
            for session in 0..count as u32 {
                let txns = context.history.session(SessionId(session)).iter();
                let known =
                    txns.filter(|txn| context.standings[txn.index()] == Standing::Committed);
                known.enumerate().for_each(|(at, txn)| of[txn.index()] = (session, at as u32));
            }
        }
        let sessions = count as u32;
        // The last of each chain that is no session.
        let mut last: Vec<u32> = Vec::new();
        for txn in order.iter().map(|node| node.at() as u32) {
            if !context.standings[txn as usize].counts() || of[txn as usize] != NONE {
                continue;
            }
            let sources = by_txn.seen_by(txn).iter().map(|s| s.source).filter(|s| *s != INITIAL);
            let mut chains = sources.map(|source| (source, of[source as usize]));
            let free = chains.find(|(source, (chain, _))| {
                *chain >= sessions && last[(*chain - sessions) as usize] == *source
            });
            of[txn as usize] = match free {
                Some((_, (chain, at))) => {
                    last[(chain - sessions) as usize] = txn;
                    (chain, at + 1)
                }
                None => {
                    last.push(txn);
                    (sessions + last.len() as u32 - 1, 0)
                }
            };
        }
        Chains { of, count: count + last.len() }
    }

    /// The chain of a transaction, and its place there.
    #[inline]
    pub(crate) fn of(&self, txn: u32) -> (u32, u32) {
        self.of[txn as usize]
    }
}
