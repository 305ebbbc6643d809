//! What binds sessions. Of one that has been silent for long it is made again from the batches on disk.

use isolde_check::timestamps::facts::wrote;
use isolde_check::timestamps::rules::{Place, Stamps, keeps_session_order};
use isolde_history::{History, Timestamp};

use super::Timestamps;
use super::records::Stand;
use crate::bodies::{BEFORE_ALL, Bodies, TxnRef};
use crate::content::{NameId, What, name_id};

/// What binds a session, and the transaction that does.
type Bound = (Timestamp, TxnRef);

impl Timestamps {
    /// What binds a session, for a transaction at a place.
    pub(super) fn bound(
        &mut self,
        session: NameId,
        (own, place): (TxnRef, Place<Timestamp>),
        bodies: &mut Bodies,
    ) -> Option<Bound> {
        if let Some(bound) = self.bounds.get(&session) {
            return Some(*bound);
        }
        if !self.left_sessions.may_have(session) {
            return None;
        }
        let mut bound: Option<Bound> = None;
        let mut batches = bodies.backwards(self.trimmed, session, What::Session);
        while let Some((is_far, batch)) = batches.next {
            let latest = bodies.latest_up_to(batch);
            let is_over = |bound| latest.is_none_or(|latest| latest < bound);
            if !is_far && bound.is_some_and(|(bound, _)| is_over(bound)) {
                break;
            }
            let Some(history) = bodies.get(batch) else { break };
            // Of several that bind as much, the first.
            let in_batch = self.bound_in(&history, batch, session);
            let binds_more =
                |new: &Bound| bound.is_none_or(|b| new.0 > b.0 || (new.0 == b.0 && new.1 < b.1));
            bound = in_batch.filter(binds_more).or(bound);
            bodies.step_back_to(&mut batches, bound.map_or(BEFORE_ALL, |(bound, _)| bound));
        }
        if let Some(bound) = bound {
            self.bounds.insert(session, bound);
        }
        // What is not kept any more binds to no later time than this.
        if bodies.forgotten().is_some_and(|latest| !keeps_session_order(latest, place)) {
            self.figures.too_late(own);
        }
        bound
    }

    fn bound_in(&self, batch: &History, number: u32, session: NameId) -> Option<Bound> {
        let pool = batch.pool();
        let is_its = |name| name_id(pool, name) == session;
        let mut bound: Option<Bound> = None;
        for txn in batch.txns().filter(|txn| is_its(pool.session_name(txn.session()))) {
            if Stand::of(&txn, self.ordering).place.is_none() {
                continue;
            }
            let stamps = Stamps { start: txn.start_ts(), commit: txn.commit_ts() };
            let binds = stamps.binds_its_session(self.ordering, wrote(&txn));
            if let Some(binds) = binds
                && bound.is_none_or(|(most, _)| binds > most)
            {
                bound = Some((binds, TxnRef::new(number, txn.id())));
            }
        }
        bound
    }

    /// Lets go of sessions that have said nothing in batches from a number on, if there are many.
    pub(super) fn trim_sessions(&mut self, end: u32, most: usize) {
        if self.bounds.capacity() * (size_of::<(NameId, Bound)>() + 1) <= most {
            return;
        }
        let left = &mut self.left_sessions;
        self.bounds.retain(|session, (_, txn)| {
            let stays = txn.batch() >= end;
            if !stays {
                left.add(*session);
            }
            stays
        });
        self.bounds.shrink_to(2 * self.bounds.len());
    }
}
