//! Real-time order with few edges: a chain of instants instead of every pair.
//!
//! One transaction precedes another if it ended (plus the skew of the clocks) before the other began.
//! The ends, sorted, become helper nodes in a row; a transaction leads to the helper of its end, and
//! the last helper before a beginning leads to that transaction. Every path through helpers is a pair
//! in real-time order, and every pair has such a path.

use isolde_history::{History, TxnId};
use isolde_spec::Edges;

use crate::graph::EdgeList;
use crate::play::Play;
use crate::provenance::Provenance;

/// What the intervals of a history give.
pub(crate) struct RealTime {
    /// How many helper nodes there are, numbered after the transactions.
    pub(crate) helpers: usize,
    /// Whether every transaction that counts can be placed in time.
    pub(crate) complete: bool,
    /// The first transaction whose interval lies before that of an earlier one of its session.
    pub(crate) contradiction: Option<TxnId>,
}

/// Adds the real-time order of the transactions that count.
pub(crate) fn edges(
    history: &History,
    p: &Provenance,
    skew: i64,
    edges: &mut EdgeList,
) -> RealTime {
    let (usable, contradiction) = usable_intervals(history, p, skew);
    let mut complete = true;
    let mut ends: Vec<(i64, u32)> = Vec::new();
    let mut begins: Vec<(i64, u32)> = Vec::new();
    for txn in history.txns().filter(|t| p.counts(t.id())) {
        let interval = txn.interval();
        let usable = usable[txn.id().index()];
        let ended = p.play[txn.id().index()] == Play::In;
        complete &= usable && interval.begin.is_some() && (interval.end.is_some() || !ended);
        if let Some(begin) = interval.begin.filter(|_| usable) {
            begins.push((begin, txn.id().0));
        }
        // An unknown outcome may have come later than anything the client saw.
        if let Some(end) = interval.end.filter(|_| usable && ended) {
            ends.push((end.saturating_add(skew), txn.id().0));
        }
    }
    ends.sort_unstable();
    begins.sort_unstable();
    let base = history.txn_count() as u32;
    for (i, &(_, txn)) in ends.iter().enumerate() {
        let helper = base + i as u32;
        edges.push(txn, helper, Edges::RT);
        if i > 0 {
            edges.push(helper - 1, helper, Edges::RT);
        }
    }
    let mut before = 0;
    for &(begin, txn) in &begins {
        while before < ends.len() && ends[before].0 < begin {
            before += 1;
        }
        if before > 0 {
            edges.push(base + before as u32 - 1, txn, Edges::RT);
        }
    }
    RealTime { helpers: ends.len(), complete, contradiction }
}

/// Which intervals can be used: not those of neighbours in a session that lie in the wrong order.
fn usable_intervals(history: &History, p: &Provenance, skew: i64) -> (Vec<bool>, Option<TxnId>) {
    let mut usable = vec![true; history.txn_count()];
    let mut contradiction = None;
    for session in 0..history.session_count() as u32 {
        let mut latest: Option<(i64, TxnId)> = None;
        for &txn in history.session(isolde_history::SessionId(session)) {
            let interval = history.txn(txn).interval();
            if !p.counts(txn) {
                continue;
            }
            let backwards = matches!((interval.begin, interval.end), (Some(b), Some(e)) if e < b);
            let early = latest.is_some_and(|(begin, _)| {
                interval.end.is_some_and(|end| end.saturating_add(skew) < begin)
            });
            if backwards || early {
                usable[txn.index()] = false;
                contradiction.get_or_insert(txn);
                if let Some((_, other)) = latest.filter(|_| early) {
                    usable[other.index()] = false;
                }
            }
            if let Some(begin) = interval.begin
                && latest.is_none_or(|(b, _)| begin > b)
            {
                latest = Some((begin, txn));
            }
        }
    }
    (usable, contradiction)
}
