//! What all questions about weak levels share, worked out once.

use std::cell::OnceCell;
use std::ops::Range;

use isolde_history::SessionId;

use super::reads::{ByTxn, ReadTable};
use crate::checker::Sorted;
use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::parallel;
use crate::graph::key_walk;

/// ReadTable with their sources, and the edges that follow from them.
pub(crate) struct Base {
    pub(crate) reads: ReadTable,
    by_txn: OnceCell<ByTxn>,
    write_read: OnceCell<Vec<EdgeList>>,
    session_order: OnceCell<EdgeList>,
    causes: [OnceCell<Sorted>; 2],
}

impl Base {
    pub(crate) fn new(context: &Context<'_>) -> Base {
        Base {
            reads: ReadTable::find(context),
            by_txn: OnceCell::new(),
            write_read: OnceCell::new(),
            session_order: OnceCell::new(),
            causes: Default::default(),
        }
    }

    pub(crate) fn by_txn(&self, context: &Context<'_>) -> &ByTxn {
        self.by_txn.get_or_init(|| ByTxn::new(&self.reads, context.standings.len()))
    }

    pub(crate) fn write_read(&self, context: &Context<'_>) -> &[EdgeList] {
        self.write_read.get_or_init(|| self.reads.edges(context))
    }

    pub(crate) fn session_order(&self, context: &Context<'_>) -> &EdgeList {
        self.session_order.get_or_init(|| key_walk::session_order(context))
    }

    /// The graph of who read from whom, with session order or without.
    pub(crate) fn causes(&self, context: &Context<'_>, session_order: bool) -> &Sorted {
        self.causes[usize::from(session_order)].get_or_init(|| {
            let mut edges: Vec<&EdgeList> = self.write_read(context).iter().collect();
            edges.extend(session_order.then(|| self.session_order(context)));
            Sorted::new(context.standings.len(), &edges)
        })
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
