//! Session order and real time as single steps of a search, without an edge for every pair.
//!
//! Both orders are transitive. In the graph each transaction leads only to the next one of its
//! session, and to a helper of real time; a search for the fewest transactions takes every later
//! transaction as one step away. It reaches each transaction once for each thing it remembers,
//! however many lead there.

use hashbrown::HashMap;
use isolde_history::{SessionId, TxnId};

use crate::graph::real_time::RealTime;
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// The transactions of one part of the graph in their orders.
pub(crate) struct OrderSteps<'g> {
    context: &'g Context<'g>,
    real_time: Option<&'g RealTime<'g>>,
    /// By when they began.
    begins: Vec<(i64, TxnId)>,
    sessions: HashMap<SessionId, Vec<TxnId>>,
}

/// How far a search has reached: of each sorted list, everything from here on.
#[derive(Default)]
pub(crate) struct Reached {
    in_time: HashMap<u8, usize>,
    in_session: HashMap<(SessionId, u8), usize>,
}

impl<'g> OrderSteps<'g> {
    /// The orders of some transactions, which come in session order.
    pub(crate) fn new(
        context: &'g Context<'g>,
        real_time: Option<&'g RealTime<'g>>,
        session_order: bool,
        txns: &[TxnId],
    ) -> OrderSteps<'g> {
        let begin = |txn: &TxnId| real_time.and_then(|rt| rt.begin(txn.0)).map(|time| (time, *txn));
        let mut begins: Vec<(i64, TxnId)> = txns.iter().filter_map(begin).collect();
        begins.sort_unstable();
        let mut sessions: HashMap<SessionId, Vec<TxnId>> = HashMap::new();
        for txn in txns.iter().filter(|_| session_order) {
            let session = context.history.txn_sessions()[txn.index()];
            sessions.entry(session).or_default().push(*txn);
        }
        OrderSteps { context, real_time, begins, sessions }
    }

    /// The transactions that began after a transaction ended and that the search has not reached yet.
    pub(crate) fn in_time(&self, txn: TxnId, memory: u8, reached: &mut Reached) -> &[(i64, TxnId)] {
        let Some(end) = self.real_time.and_then(|rt| rt.end(txn.0)) else { return &[] };
        let first = self.begins.partition_point(|(begin, _)| *begin <= end);
        let reached = reached.in_time.entry(memory).or_insert(self.begins.len());
        let until = std::mem::replace(reached, first.min(*reached));
        self.begins.get(first..until).unwrap_or_default()
    }

    /// The later transactions of its session that the search has not reached yet. A transaction of
    /// unknown outcome may have come later than all that followed.
    pub(crate) fn in_session(&self, txn: TxnId, memory: u8, reached: &mut Reached) -> &[TxnId] {
        let session = self.context.history.txn_sessions()[txn.index()];
        let Some(txns) = self.sessions.get(&session) else { return &[] };
        if self.context.standing(txn) != Standing::Committed {
            return &[];
        }
        let first = txns.partition_point(|other| *other <= txn);
        let reached = reached.in_session.entry((session, memory)).or_insert(txns.len());
        let until = std::mem::replace(reached, first.min(*reached));
        txns.get(first..until).unwrap_or_default()
    }

    /// Whether one transaction comes before another in real time.
    pub(crate) fn precedes_in_time(&self, a: TxnId, b: TxnId) -> bool {
        let end = self.real_time.and_then(|rt| rt.end(a.0));
        let begin = self.real_time.and_then(|rt| rt.begin(b.0));
        end.zip(begin).is_some_and(|(end, begin)| end < begin)
    }

    /// Whether one transaction comes before another in their session.
    pub(crate) fn precedes_in_session(&self, a: TxnId, b: TxnId) -> bool {
        let session = |t: TxnId| self.context.history.txn_sessions()[t.index()];
        let counts = !self.sessions.is_empty() && self.context.standing(a) == Standing::Committed;
        counts && a < b && session(a) == session(b)
    }
}
