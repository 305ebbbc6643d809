//! Who comes later in session order and in real time, without an edge for every pair.
//!
//! Both orders are transitive. In the graph each transaction leads only to the next one of its
//! session, and to a helper of real time; a search for the fewest transactions takes everyone later
//! as one step away. It reaches each transaction once for each thing it remembers, however many
//! lead there.

use hashbrown::HashMap;
use isolde_history::SessionId;

use crate::keys::context::Context;
use crate::keys::standing::Standing;
use crate::graph::real_time::RealTime;

/// The transactions of one part of the graph in their orders.
pub(crate) struct Later<'g> {
    context: &'g Context<'g>,
    real_time: Option<&'g RealTime<'g>>,
    /// By when they began.
    begins: Vec<(i64, u32)>,
    sessions: HashMap<SessionId, Vec<u32>>,
}

/// How far a search has reached: of each sorted list, everything from here on.
#[derive(Default)]
pub(crate) struct Reached {
    in_time: HashMap<u8, usize>,
    in_session: HashMap<(SessionId, u8), usize>,
}

impl<'g> Later<'g> {
    /// The orders of some transactions, which come in session order.
    pub(crate) fn new(
        context: &'g Context<'g>,
        real_time: Option<&'g RealTime<'g>>,
        session_order: bool,
        txns: &[u32],
    ) -> Later<'g> {
        let begin = |txn: &u32| real_time.and_then(|rt| rt.begin(*txn)).map(|time| (time, *txn));
        let mut begins: Vec<(i64, u32)> = txns.iter().filter_map(begin).collect();
        begins.sort_unstable();
        let mut sessions: HashMap<SessionId, Vec<u32>> = HashMap::new();
        for txn in txns.iter().filter(|_| session_order) {
            let session = context.history.txn_sessions()[*txn as usize];
            sessions.entry(session).or_default().push(*txn);
        }
        Later { context, real_time, begins, sessions }
    }

    /// Who began after a transaction ended, as far as the search has not reached them.
    pub(crate) fn in_time(&self, txn: u32, memory: u8, reached: &mut Reached) -> &[(i64, u32)] {
        let Some(end) = self.real_time.and_then(|rt| rt.end(txn)) else { return &[] };
        let first = self.begins.partition_point(|(begin, _)| *begin <= end);
        let reached = reached.in_time.entry(memory).or_insert(self.begins.len());
        let until = std::mem::replace(reached, first.min(*reached));
        self.begins.get(first..until).unwrap_or_default()
    }

    /// Who comes after a transaction in its session, as far as the search has not reached them.
    /// One of unknown outcome may have come later than all that followed.
    pub(crate) fn in_session(&self, txn: u32, memory: u8, reached: &mut Reached) -> &[u32] {
        let session = self.context.history.txn_sessions()[txn as usize];
        let Some(txns) = self.sessions.get(&session) else { return &[] };
        if self.context.standings[txn as usize] != Standing::Committed {
            return &[];
        }
        let first = txns.partition_point(|other| *other <= txn);
        let reached = reached.in_session.entry((session, memory)).or_insert(txns.len());
        let until = std::mem::replace(reached, first.min(*reached));
        txns.get(first..until).unwrap_or_default()
    }

    /// Whether one transaction comes before another in real time.
    pub(crate) fn precedes_in_time(&self, a: u32, b: u32) -> bool {
        let end = self.real_time.and_then(|rt| rt.end(a));
        let begin = self.real_time.and_then(|rt| rt.begin(b));
        end.zip(begin).is_some_and(|(end, begin)| end < begin)
    }

    /// Whether one transaction comes before another in their session.
    pub(crate) fn precedes_in_session(&self, a: u32, b: u32) -> bool {
        let session = |t: u32| self.context.history.txn_sessions()[t as usize];
        let counts = !self.sessions.is_empty() && self.context.standings[a as usize] == Standing::Committed;
        counts && a < b && session(a) == session(b)
    }
}
