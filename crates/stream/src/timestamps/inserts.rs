//! By snapshots, a row that was deleted may be inserted again.
//!
//! A transaction inserts what another one deleted that its snapshot does not show: so an insert may overlap any writer,
//! and may contradict what was seen of the row before. The delete that excuses it may come later than the insert.

use isolde_check::timestamps::facts::{BatchKey, upserts};
use isolde_history::{Effect, History, OpId, OpKind, TxnId, Value};
use isolde_spec::{Axiom, By};

use super::arrivals::Arrival;
use super::excerpt::{self, Suspicion};
use super::{Inserts, Slot, Timestamps};
use crate::bodies::{BEFORE_ALL, Bodies, TxnRef};
use crate::content::Word;
use crate::divider;
use crate::event::{Cause, Finding};

/// What a delete leaves.
pub(super) fn absent() -> Word {
    Word(Value::ABSENT.to_bits())
}

/// Whether an operation inserted a row.
fn inserts(batch: &History, op: OpId) -> bool {
    let op = batch.op(op);
    op.kind() == OpKind::InsertIfAbsent && op.effect() == Effect::Done
}

impl Timestamps {
    fn by_snapshots(&self) -> bool {
        self.about.promise.by == By::Snapshots
    }

    /// Transactions that broke a rule inside them by inserting a row that was there.
    pub(super) fn inserted(&self, facts: &BatchKey<'_, '_>, arrival: &Arrival<'_>) -> Vec<TxnId> {
        if !self.by_snapshots() {
            return Vec::new();
        }
        let inserting = facts.breaches().filter(|(_, op)| inserts(arrival.standing.batch, *op));
        inserting.map(|(txn, _)| txn).collect()
    }

    /// Asks whether a delete excuses an insert of a row that was there, and tells it if not.
    pub(super) fn inserted_what_was_there(&mut self, slot: Slot, txn: TxnRef, bodies: &mut Bodies) {
        let Some(judged) = self.judge_insert(slot, txn, bodies) else {
            self.figures.too_late(txn);
            return;
        };
        if judged.doubt.is_some() {
            self.figures.doubt(true, judged.doubt.as_deref());
        }
        for (op, finding) in judged.findings {
            self.inserts.breaches.entry(slot).or_default().push((txn, op, finding.clone()));
            self.tell(finding);
        }
    }

    fn judge_insert(
        &mut self,
        slot: Slot,
        txn: TxnRef,
        bodies: &mut Bodies,
    ) -> Option<excerpt::Judged> {
        // Any delete excuses it, however old.
        if !self.reload(slot, BEFORE_ALL, bodies) {
            return None;
        }
        let (key, state) = &self.keys[slot.0 as usize];
        let deletes = state.versions.iter().filter(|v| v.word == absent()).map(|v| v.txn);
        let perhaps = state.others.iter().filter(|o| o.unknown && o.word == absent());
        let involved: Vec<TxnRef> = deletes.chain(perhaps.map(|o| o.txn)).collect();
        let (axiom, key) = (Axiom::Int, Some(*key));
        excerpt::judge(&self.about, bodies, Suspicion { axiom, txn, key, involved: &involved })
    }

    /// Whether a version may overlap all others, because its writer inserted the row. `first` is the first write of the
    /// row by the transaction.
    pub(super) fn is_free(&mut self, slot: Slot, batch: &History, first: OpId) -> bool {
        if !self.by_snapshots() {
            return false;
        }
        match batch.op(first).kind() {
            OpKind::InsertIfAbsent => true,
            OpKind::Write if upserts(batch, first) => {
                let deleted = self.keys[slot.0 as usize].1.deleted;
                if !deleted {
                    self.inserts.upserted.insert(slot);
                }
                deleted
            }
            _ => false,
        }
    }

    /// Whether something is remembered of a key that a delete may change.
    pub(super) fn deletes_matter(&self, slot: Slot) -> bool {
        let Inserts { breaches, upserted, conflicts } = &self.inserts;
        upserted.contains(&slot) || breaches.contains_key(&slot) || conflicts.contains_key(&slot)
    }

    /// Remembers a conflict that a delete may excuse.
    pub(super) fn may_be_excused(
        &mut self,
        slot: Slot,
        (txn, opponent): (TxnRef, TxnRef),
        finding: &Finding,
    ) {
        if self.inserts.upserted.contains(&slot) {
            let of_key = self.inserts.conflicts.entry(slot).or_default();
            of_key.retain(|(other, _, _)| *other != txn);
            of_key.push((txn, opponent, finding.clone()));
        }
    }

    /// Something was written: if it is a delete, what it excuses is withdrawn.
    pub(super) fn perhaps_deleted(
        &mut self,
        slot: Slot,
        (written, delete): (Word, TxnRef),
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        if written != absent() || !self.by_snapshots() {
            return;
        }
        let cause = Cause::Late(arrival.name(delete, bodies));
        for (txn, op, finding) in self.inserts.breaches.remove(&slot).unwrap_or_default() {
            // Of several things that a transaction did to the row, only inserts are excused.
            let told = |judged: excerpt::Judged| judged.findings.iter().any(|(at, _)| *at == op);
            if self.judge_insert(slot, txn, bodies).is_none_or(told) {
                self.inserts.breaches.entry(slot).or_default().push((txn, op, finding));
            } else {
                self.correct(false, finding, &cause);
            }
        }
        if self.inserts.upserted.remove(&slot) {
            self.upserts_are_excused(slot, delete, &cause, bodies);
        }
    }

    /// The first delete of a row that was upserted: from now on nothing is judged of it, since other writers than those
    /// that were told may conflict.
    fn upserts_are_excused(
        &mut self,
        slot: Slot,
        delete: TxnRef,
        cause: &Cause,
        bodies: &mut Bodies,
    ) {
        for (txn, opponent, finding) in self.inserts.conflicts.remove(&slot).unwrap_or_default() {
            let mut involved = divider::all_of(&[txn, opponent], bodies);
            involved.extend([opponent, delete]);
            let (axiom, key) = (Axiom::NoConflict, Some(self.keys[slot.0 as usize].0));
            let asked = Suspicion { axiom, txn, key, involved: &involved };
            let still = excerpt::judge(&self.about, bodies, asked);
            if still.is_none_or(|judged| judged.findings.is_empty()) {
                self.correct(false, finding, cause);
            }
        }
        self.keys[slot.0 as usize].1.doubtful = true;
        self.figures.doubt(true, Some("a row was upserted before it was deleted"));
    }

    /// Something is missing in the stream: it may be the delete.
    pub(super) fn deletes_may_be_missing(&mut self, cause: &Cause, why: &str) {
        let mut told: Vec<_> = self.inserts.breaches.drain().collect();
        told.sort_unstable_by_key(|(slot, _)| *slot);
        for (_, _, finding) in told.into_iter().flat_map(|(_, of_key)| of_key) {
            self.correct(false, finding, cause);
            self.figures.doubt(true, Some(why));
        }
    }
}
