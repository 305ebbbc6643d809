//! What all questions about weak levels share, worked out once.

use std::cell::OnceCell;
use std::ops::Range;

use isolde_graph::{Partitioned, parallel};
use isolde_history::SessionId;

use super::chains::Chains;
use super::reads::{ByTxn, ReadTable};
use crate::graph::edges::{TxnEdges, TxnParts};
use crate::graph::evidence::NoGraph;
use crate::graph::key_walk;
use crate::keys::context::Context;
use crate::limits::{Limit, Limits};

/// Reads with their sources, and the edges that follow from them.
pub(crate) struct Base {
    pub(crate) reads: ReadTable,
    by_txn: OnceCell<ByTxn>,
    write_read: OnceCell<Vec<TxnEdges>>,
    session_order: OnceCell<TxnEdges>,
    causes: [OnceCell<Result<TxnParts, NoGraph>>; 2],
    chains: [OnceCell<Option<Chains>>; 2],
}

impl Base {
    pub(crate) fn new(context: &Context<'_>, limits: &Limits<'_>) -> Result<Base, Limit> {
        Ok(Base {
            reads: ReadTable::find(context, limits)?,
            by_txn: OnceCell::new(),
            write_read: OnceCell::new(),
            session_order: OnceCell::new(),
            causes: Default::default(),
            chains: Default::default(),
        })
    }

    pub(crate) fn by_txn(&self, context: &Context<'_>) -> &ByTxn {
        self.by_txn.get_or_init(|| ByTxn::new(&self.reads, context.txn_count()))
    }

    pub(crate) fn write_read(&self, context: &Context<'_>) -> &[TxnEdges] {
        self.write_read.get_or_init(|| self.reads.edges(context))
    }

    pub(crate) fn session_order(&self, context: &Context<'_>) -> &TxnEdges {
        self.session_order.get_or_init(|| key_walk::session_order(context))
    }

    /// The graph of reads and the writes that they returned, with session order or without.
    pub(crate) fn causes(
        &self,
        context: &Context<'_>,
        session_order: bool,
    ) -> Result<&TxnParts, NoGraph> {
        let causes = self.causes[usize::from(session_order)].get_or_init(|| {
            let mut edges: Vec<&TxnEdges> = self.write_read(context).iter().collect();
            edges.extend(session_order.then(|| self.session_order(context)));
            Ok(Partitioned::new(context.txn_count(), &edges)?)
        });
        causes.as_ref().map_err(|why| *why)
    }

    /// Transactions on chains; `None` if their causes have a cycle.
    pub(crate) fn chains(
        &self,
        context: &Context<'_>,
        session_order: bool,
    ) -> Result<Option<&Chains>, NoGraph> {
        let causes = self.causes(context, session_order)?;
        let chains = self.chains[usize::from(session_order)].get_or_init(|| {
            let acyclic = causes.components.acyclic();
            let order = acyclic.then(|| causes.components.topological())?;
            Some(Chains::new(context, self.by_txn(context), &order, session_order))
        });
        Ok(chains.as_ref())
    }

    /// The sessions, cut into pieces of about equal work.
    pub(crate) fn session_pieces(&self, context: &Context<'_>) -> Vec<Range<u32>> {
        let history = context.history;
        let mut before = Vec::with_capacity(history.session_count() + 1);
        before.push(0);
        let mut sum = 0;
        for session in 0..history.session_count() as u32 {
            sum += history.session(SessionId(session)).len();
            before.push(sum);
        }
        let pieces = parallel::cut(history.session_count(), 4 * parallel::cores(), |i| before[i]);
        pieces.into_iter().map(|piece| piece.start as u32..piece.end as u32).collect()
    }
}
