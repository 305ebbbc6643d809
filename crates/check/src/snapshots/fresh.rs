//! FRESH: a snapshot shows every commit that had been confirmed before it was asked for.
//!
//! The server makes a commit visible before it confirms it, and takes a snapshot after it was asked to. So what
//! one client knew to be committed, no later snapshot of any client may miss.

use isolde_history::{Clock, Outcome, Txn, TxnId};
use isolde_spec::{Anomaly, Axiom};

use crate::options::Options;
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::{TimedFinding, TimedFindings};
use crate::timestamps::supply::wrote;
use crate::timestamps::ticks::Tick;

/// Finds snapshots that miss what had been confirmed: each with the commit that stands furthest behind it.
pub(crate) fn judge(case: &TimedCase<'_>, options: &Options, out: &mut TimedFindings) {
    let (history, ticks) = (case.keys.history, &case.ticks);
    let skew = if history.meta().clock == Clock::Events { 0 } else { options.clock_skew };
    let committed = || history.txns().filter(|txn| txn.outcome() == Outcome::Committed);
    let confirmed = |txn: Txn<'_>| {
        let (commit, end) = (ticks.commit_of(txn.id()), txn.interval().end?);
        (commit != Tick::NEVER).then(|| (end.saturating_add(skew), commit, txn.id()))
    };
    // Only of those that wrote: not every server lets snapshots speak of the numbers of others.
    let writers = committed().filter(wrote);
    let mut ends: Vec<(i64, Tick, TxnId)> = writers.filter_map(confirmed).collect();
    ends.sort_unstable();
    let taken = |txn: Txn<'_>| {
        let (start, sent) = (ticks.start_of(txn.id()), sent(&txn)?);
        (start != Tick::NEVER).then(|| (sent, start, txn.id()))
    };
    // One of unknown outcome that was read has committed, too.
    let counted = history.txns().filter(|txn| case.counts(txn.id()));
    let mut taken: Vec<(i64, Tick, TxnId)> = counted.filter_map(taken).collect();
    taken.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    // Two of them: the newest may be that of the reader itself, if its times are wrong.
    let mut newest: [Option<(Tick, TxnId)>; 2] = [None, None];
    for (sent, start, txn) in taken {
        while let Some((_, commit, writer)) = ends.next_if(|(end, ..)| *end < sent) {
            let next = newest[0].min(Some((commit, writer)));
            newest = [newest[0].max(Some((commit, writer))), newest[1].max(next)];
        }
        let others = newest.into_iter().flatten().find(|(_, writer)| *writer != txn);
        if let Some((commit, writer)) = others
            && commit > start
        {
            let finding = TimedFinding::new(Anomaly::StaleSnapshot, Axiom::Fresh, txn);
            out.findings.push(TimedFinding { opponent: Some(writer), ..finding });
        }
    }
}

/// When the snapshot of a transaction was asked for. PostgreSQL takes it with the first statement, other servers may take
/// it with BEGIN: it is not older than the beginning of the transaction.
fn sent(txn: &Txn<'_>) -> Option<i64> {
    let first = || txn.stmts().next().and_then(|stmt| stmt.interval().begin);
    txn.interval().begin.or_else(first)
}
