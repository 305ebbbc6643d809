//! Transactions that have their places go on to the rules of timestamps, as a batch with those places as timestamps.

use isolde_check::timestamps::facts::wrote;
use isolde_history::{HistoryBuilder, Sink as _, Timestamp, Txn};
use isolde_spec::Axiom;

use super::fresh::Settled;
use super::{FORGOTTEN, Notice, Ready, Snapshots};
use crate::bodies::Bodies;
use crate::places::Given;
use crate::timestamps::{Kept, PickedTxn, Timestamps};

impl Snapshots {
    /// Tells what was noticed, and hands on what has its place.
    pub(crate) fn feed(&mut self, checker: &mut Timestamps, bodies: &mut Bodies, now: i64) {
        let mut ready = std::mem::take(&mut self.ready);
        if !ready.is_empty() {
            // In the order of arrival, which is that of sessions.
            ready.sort_unstable_by_key(|ready| ready.txn);
            for Ready { txn, start, commit, .. } in &ready {
                bodies.give_place(*txn, Given { start: *start, commit: *commit });
            }
            ready.retain(|ready| !ready.empty);
            let mut picked = Vec::with_capacity(ready.len());
            let mut batch = HistoryBuilder::new();
            checker.about.header.copy_meta(&[], &mut batch);
            for ready in &ready {
                self.pick(ready, bodies, &mut batch, &mut picked);
            }
            let lost = ready.len() - picked.len();
            checker.figures.too_late += lost as u64;
            checker.take(&batch.finish(), Kept::Picked(&picked), now, bodies);
        }
        for notice in std::mem::take(&mut self.notices) {
            tell(notice, checker, bodies);
        }
    }

    /// Adds a transaction to the batch.
    fn pick(
        &mut self,
        ready: &Ready,
        bodies: &mut Bodies,
        to: &mut HistoryBuilder,
        picked: &mut Vec<PickedTxn>,
    ) {
        let Ready { txn, start, commit, too_late, .. } = *ready;
        let Some(body) = bodies.get(txn.batch()) else { return };
        let found = body.txn(txn.txn());
        let draft = &mut self.draft;
        body.draft_ops(draft, txn.txn(), to.pool());
        (draft.start, draft.commit) = (start, commit);
        if to.transaction(draft).is_err() {
            return;
        }
        picked.push(PickedTxn { txn, first_op: found.op_range().start as u32, too_late });
        if too_late && !self.is_halted() {
            self.notices.push(Notice::Doubt(FORGOTTEN));
        }
        if let Some(start) = start {
            self.is_fresh(ready, start, &found);
        }
    }

    /// FRESH.
    fn is_fresh(&mut self, ready: &Ready, start: Timestamp, txn: &Txn<'_>) {
        let first = || txn.stmts().next().and_then(|stmt| stmt.interval().begin);
        let sent = txn.interval().begin.or_else(first);
        // Not every server lets snapshots speak of the numbers of those that wrote nothing.
        let end = txn.interval().end.filter(|_| wrote(txn));
        let confirmed = end.map(|end| end.saturating_add(self.skew)).zip(ready.commit);
        let stale = self.fresh.add(&Settled { txn: ready.txn, sent, start, confirmed });
        for (txn, writer) in stale.found {
            self.suspect(Axiom::Fresh, vec![txn], vec![writer]);
        }
        if stale.doubt {
            self.notices.push(Notice::Doubt(FORGOTTEN));
        }
    }
}

fn tell(notice: Notice, checker: &mut Timestamps, bodies: &mut Bodies) {
    match notice {
        Notice::Doubt(why) => checker.figures.doubt(true, Some(why)),
        Notice::Suspect { axiom, txns, involved } => {
            let all: Vec<_> = txns.iter().chain(&involved).copied().collect();
            for txn in txns {
                if checker.suspect(axiom, txn, None, &all, bodies) {
                    break;
                }
            }
        }
    }
}
