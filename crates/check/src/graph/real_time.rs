//! Real-time order with few edges: a chain of instants instead of every pair.
//!
//! One transaction precedes another if it ended (plus the skew of the clocks) before the other began.
//! Helper nodes stand in a row for the moments between some ends and some beginnings; a transaction
//! leads to the first helper after its end, and the last helper before its beginning leads to it.
//! Every path through helpers is a pair in real-time order, and every pair has such a path.

use std::sync::OnceLock;

use isolde_graph::parallel::{self, Work};
use isolde_history::{History, TxnId};
use isolde_spec::Edges;

use crate::graph::edges::{TxnEdges, no_edges};
use crate::graph::node::Numbering;
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// What the intervals of a history give.
pub(crate) struct RealTime<'h> {
    history: &'h History,
    skew: i64,
    /// Made when it is asked for: single operations are put in order without a graph.
    instants: OnceLock<Instants>,
    /// Whether every transaction that counts can be placed in time.
    pub(crate) complete: bool,
    /// The transactions whose interval lies before that of an earlier one of their session, or ends
    /// before it begins.
    pub(crate) contradictions: Vec<TxnId>,
    /// Which side of each interval can be used.
    usable: Vec<Usable>,
}

/// The chain of instants.
pub(crate) struct Instants {
    pub(crate) edges: TxnEdges,
    /// How many helper nodes there are, numbered after the transactions.
    pub(crate) helpers: usize,
}

#[derive(Clone, Copy, Default)]
struct Usable {
    begin: bool,
    end: bool,
}

impl RealTime<'_> {
    /// When a transaction began, if that can be used.
    pub(crate) fn begin(&self, txn: u32) -> Option<i64> {
        self.history.txn(TxnId(txn)).interval().begin.filter(|_| self.usable[txn as usize].begin)
    }

    /// When a transaction had ended by all clocks, if that can be used.
    pub(crate) fn end(&self, txn: u32) -> Option<i64> {
        let end = self.history.txn(TxnId(txn)).interval().end;
        let end = end.filter(|_| self.usable[txn as usize].end);
        end.map(|end| end.saturating_add(self.skew))
    }

    /// The real-time order as a graph.
    pub(crate) fn instants(&self, context: &Context<'_>) -> &Instants {
        self.instants.get_or_init(|| {
            let txns = 0..self.history.txn_count() as u32;
            let begins = txns.clone().filter_map(|t| Some((self.begin(t)?, t)));
            let mut begins: Vec<(i64, u32)> = begins.collect();
            let mut ends: Vec<(i64, u32)> =
                txns.clone().filter_map(|t| Some((self.end(t)?, t))).collect();
            let size = Work::of(ends.len());
            parallel::each(size, vec![&mut ends, &mut begins], |times| times.sort_unstable());
            let mut edges = no_edges(context);
            let helpers = chain(&begins, &ends, Numbering::of(context), &mut edges);
            Instants { edges, helpers }
        })
    }
}

/// Finds out what can be told of the transactions that count.
pub(crate) fn find<'h>(context: &Context<'h>, skew: i64) -> RealTime<'h> {
    let history = context.history;
    let (mut usable, contradictions) = usable_intervals(context, skew);
    let mut complete = true;
    for (t, usable) in usable.iter_mut().enumerate() {
        let txn = history.txn(TxnId(t as u32));
        if !context.counts(txn.id()) {
            *usable = Usable::default();
            continue;
        }
        let interval = txn.interval();
        // An unknown outcome may have come later than anything the client saw.
        let ended = context.standings[t] == Standing::Committed;
        usable.begin &= interval.begin.is_some();
        usable.end &= interval.end.is_some() && ended;
        complete &= usable.begin && (usable.end || !ended);
    }
    RealTime { history, skew, instants: OnceLock::new(), complete, contradictions, usable }
}

/// The transactions that had ended when another one began lead to a helper, which leads to the
/// transactions that began before the next one ended, and to the next helper.
fn chain(
    begins: &[(i64, u32)],
    ends: &[(i64, u32)],
    numbering: Numbering,
    edges: &mut TxnEdges,
) -> usize {
    let (mut helpers, mut ended) = (0, 0);
    let node = |txn: u32| TxnId(txn).into();
    for &(begin, txn) in begins {
        let more = ends[ended..].iter().take_while(|(end, _)| *end < begin).count();
        if more > 0 {
            let helper = numbering.instant(helpers);
            let these = &ends[ended..ended + more];
            these.iter().for_each(|(_, t)| edges.push(node(*t), helper, Edges::RT.into()));
            if helpers > 0 {
                edges.push(numbering.instant(helpers - 1), helper, Edges::RT.into());
            }
            ended += more;
            helpers += 1;
        }
        if helpers > 0 {
            edges.push(numbering.instant(helpers - 1), node(txn), Edges::RT.into());
        }
    }
    helpers
}

/// Which intervals can be used: not those of neighbours in a session that lie in the wrong order.
fn usable_intervals(context: &Context<'_>, skew: i64) -> (Vec<Usable>, Vec<TxnId>) {
    let history = context.history;
    let mut usable = vec![Usable { begin: true, end: true }; history.txn_count()];
    let mut contradictions = Vec::new();
    // The one of each session that began last so far. All sessions at once, since that reads every
    // column from its beginning to its end.
    let mut latest: Vec<Option<(i64, TxnId)>> = vec![None; history.session_count()];
    for txn in history.txns() {
        let (id, interval) = (txn.id(), txn.interval());
        if !context.counts(id) {
            continue;
        }
        let latest = &mut latest[txn.session().index()];
        let backwards = matches!((interval.begin, interval.end), (Some(b), Some(e)) if e < b);
        let early = latest.is_some_and(|(begin, _)| {
            interval.end.is_some_and(|end| end.saturating_add(skew) < begin)
        });
        if backwards || early {
            usable[id.index()] = Usable::default();
            contradictions.push(id);
            if let Some((_, other)) = latest.filter(|_| early) {
                usable[other.index()] = Usable::default();
            }
        }
        if let Some(begin) = interval.begin
            && latest.is_none_or(|(b, _)| begin > b)
        {
            *latest = Some((begin, id));
        }
    }
    contradictions.sort_by_key(|txn| history.txn(*txn).session());
    (usable, contradictions)
}
