//! What a version that has come changes: conflicts, readers that should have seen it, and names.

use hashbrown::HashSet;
use isolde_check::timestamps::rules::Ordering;
use isolde_spec::{Anomaly, Axiom, By};

use super::arrivals::{Arrival, until_of};
use super::excerpt::{self, Judged, Suspicion};
use super::inserts::absent;
use super::key_records::{Reader, Version, Wrote};
use super::standing::FindingId;
use super::{Pending, Slot, Timestamps, pending};
use crate::bodies::{AFTER_ALL, Bodies, TxnRef};
use crate::content::Word;
use crate::divider;
use crate::event::{Cause, Finding, Trouble};

/// Of more versions of a list with one commit timestamp, a read may show any elements at all.
const MANY_TIED: usize = 6;

/// Whether what a wrong read of a list is called follows from the elements that it shows alone.
fn is_named_by_elements(reader: &Reader) -> bool {
    !matches!(reader.told, None | Some(Anomaly::IncompatibleOrder))
}

impl Timestamps {
    /// A version has been entered at an index.
    pub(super) fn version_came(
        &mut self,
        slot: Slot,
        (at, elements): (usize, &[Word]),
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let state = &self.keys[slot.0 as usize].1;
        let version = state.versions[at];
        let tied = at.checked_sub(1).map(|before| state.versions[before]);
        let tied = tied.filter(|before| before.commit == version.commit);
        if let Some(before) = tied {
            match self.ordering {
                Ordering::Snapshots => {
                    let key = self.keys[slot.0 as usize].0;
                    self.suspect(Axiom::Stamps, version.txn, Some(key), &[before.txn], bodies);
                }
                Ordering::Commits { .. } => {
                    self.figures.doubt(true, Some("two transactions have one commit timestamp"));
                }
            }
        }
        let by_snapshots = self.about.promise.by == By::Snapshots;
        self.keys[slot.0 as usize].1.deleted |= by_snapshots && version.word == absent();
        self.perhaps_deleted(slot, (version.word, version.txn), arrival, bodies);
        if self.ordering == Ordering::Snapshots {
            self.conflicts(slot, at, arrival, bodies);
        }
        self.readers_changed(slot, at, arrival, bodies);
        let word = [version.word];
        let is_list = self.keys[slot.0 as usize].1.is_list == Some(true);
        let words = if is_list { elements } else { &word };
        let Version { txn, commit, .. } = version;
        let wrote = Wrote { txn, words, commit, unknown: false };
        self.written_again(slot, wrote, arrival, bodies);
    }

    /// NOCONFLICT: each writer is told once, with the first that commits after it and overlaps it.
    fn conflicts(&mut self, slot: Slot, at: usize, arrival: &Arrival<'_>, bodies: &mut Bodies) {
        let (key, state) = &self.keys[slot.0 as usize];
        let key = *key;
        let new = state.versions[at];
        let mut opponents: Vec<(TxnRef, TxnRef, Option<TxnRef>)> = Vec::new();
        if let Some(opponent) = state.opponent(at) {
            opponents.push((new.txn, state.versions[opponent].txn, None));
        }
        for (u, before) in state.new_opponent_of(at) {
            let before = before.map(|before| state.versions[before].txn);
            opponents.push((state.versions[u].txn, new.txn, before));
        }
        for (txn, opponent, before) in opponents {
            // What is final of the first writer is so by time, or because nothing was to come any more that commits then.
            let late = txn != new.txn && self.finality.covers(txn, new.commit);
            let now = self.conflict(key, txn, opponent, bodies);
            now.iter().for_each(|now| self.may_be_excused(slot, (txn, opponent), now));
            match (now, before) {
                (Some(now), Some(before)) => {
                    let before = self.conflict(key, txn, before, bodies);
                    if let Some(before) = before {
                        self.rename(before.anomaly, now);
                    }
                }
                (Some(now), None) if late => {
                    self.figures.came_after(arrival.age(txn, bodies));
                    self.correct(true, now, &Cause::Late(arrival.name(new.txn, bodies)));
                }
                (Some(now), None) => self.tell(now),
                (None, _) => {}
            }
        }
    }

    fn conflict(
        &mut self,
        key: crate::content::NameId,
        txn: TxnRef,
        opponent: TxnRef,
        bodies: &mut Bodies,
    ) -> Option<Finding> {
        let mut involved = vec![opponent];
        if self.about.promise.by == By::Snapshots {
            involved.extend(divider::all_of(&[txn, opponent], bodies));
        }
        let asked =
            Suspicion { axiom: Axiom::NoConflict, txn, key: Some(key), involved: &involved };
        let judged = excerpt::judge(&self.about, bodies, asked);
        if judged.is_none() {
            self.figures.too_late(txn);
        }
        judged?.findings.into_iter().next().map(|(_, finding)| finding)
    }

    /// Looks again at the readers for which a new version matters.
    fn readers_changed(
        &mut self,
        slot: Slot,
        at: usize,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let (name, state) = &mut self.keys[slot.0 as usize];
        let (name, new) = (*name, state.versions[at]);
        let is_list = state.is_list == Some(true);
        let many_tied = is_list && state.committed_at(new.commit).len() > MANY_TIED;
        let (mut finals, mut newly) = (Vec::new(), Vec::new());
        for i in state.affected(at) {
            let reader = state.readers[i];
            let right = state.is_right(&reader);
            if !reader.inclusive && reader.at == new.commit && reader.txn != new.txn {
                self.figures.doubt(true, Some("two transactions have one commit timestamp"));
            }
            if right != reader.wrong {
                // A list that is wrong anyway may miss one more version.
                let may_be_renamed = is_list && reader.wrong && reader.is_final;
                if may_be_renamed && (many_tied || !is_named_by_elements(&reader)) {
                    finals.push(pending((name, slot), &reader, None));
                }
                continue;
            }
            let changed = &mut state.readers[i];
            changed.wrong = !right;
            if !std::mem::replace(&mut changed.flipped, true) {
                self.figures.flipped += 1;
                self.figures.flipped_txns += u64::from(self.flipped.insert(reader.txn));
            }
            self.figures.change(arrival.age(reader.txn, bodies), right);
            match right {
                true => state.wrong -= 1,
                false => state.wrong += 1,
            }
            if self.finality.is(&reader) {
                state.readers[i].is_final = true;
                finals.push(pending((name, slot), &reader, None));
                newly.push(reader);
            } else if !right {
                let until = until_of(reader.txn, bodies);
                self.pending.push(pending((name, slot), &reader, until));
            }
        }
        newly.iter().for_each(|reader| self.note_final(slot, reader, bodies));
        finals.dedup();
        for of in finals {
            self.review(of, new.txn, arrival, bodies);
        }
    }

    /// Asks again about reads whose verdict was final, and tells what has changed.
    pub(super) fn review(
        &mut self,
        of: Pending,
        late: TxnRef,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let cause = Cause::Late(arrival.name(late, bodies));
        let after = self.judge_readers(of, None, bodies);
        let readers = &self.keys[of.slot.0 as usize].1.readers[self.readers_of(of)];
        let told: Vec<(u32, Option<Anomaly>, bool)> =
            readers.iter().map(|r| (r.op, r.told, r.wrong)).collect();
        let still: Vec<u32> =
            after.iter().flat_map(|j| &j.findings).filter_map(|(op, _)| *op).collect();
        let gone: Vec<u32> = told
            .into_iter()
            .filter(|(op, told, wrong)| told.is_some() && (!wrong || !still.contains(op)))
            .map(|(op, _, _)| op)
            .collect();
        if !gone.is_empty() {
            let before = self.judge_before_all_that(of, Some(late), bodies);
            self.withdraw(of, &gone, before.findings, &cause, bodies);
        }
        for (before, finding) in self.assign(of, after) {
            match before {
                Some(before) => self.rename(before, finding),
                None => self.correct(true, finding, &cause),
            }
        }
    }

    /// What was told of reads and is withdrawn now: as if nothing were missing, and some writer had not come.
    fn judge_before_all_that(
        &mut self,
        of: Pending,
        but: Option<TxnRef>,
        bodies: &mut Bodies,
    ) -> Judged {
        let complete = std::mem::replace(&mut self.about.complete, true);
        let before = self.judge_readers(of, but, bodies);
        self.about.complete = complete;
        before.unwrap_or_default()
    }

    /// Withdraws what was told of some operations.
    fn withdraw(
        &mut self,
        of: Pending,
        gone: &[u32],
        before: Vec<(Option<u32>, Finding)>,
        cause: &Cause,
        bodies: &mut Bodies,
    ) {
        let range = self.readers_of(of);
        let mut told: Vec<(u32, Anomaly)> = Vec::new();
        for reader in &mut self.keys[of.slot.0 as usize].1.readers[range] {
            if gone.contains(&reader.op) {
                told.extend(reader.told.take().map(|anomaly| (reader.op, anomaly)));
            }
        }
        for (op, finding) in before {
            if let Some(at) = told.iter().position(|(told, _)| Some(*told) == op) {
                // It is withdrawn by the name that it had.
                let (_, anomaly) = told.swap_remove(at);
                self.correct(false, Finding { anomaly, ..finding }, cause);
            }
        }
        let key = Some(self.keys[of.slot.0 as usize].0);
        for (op, anomaly) in told {
            let id = FindingId::new(Axiom::Ext, of.txn, key, Some(op));
            self.figures.too_late(id.txn);
            self.withdraw_unshown(id, anomaly, cause, bodies);
        }
    }

    /// Withdraws what was told of a key of which too little is known by now.
    pub(super) fn withdraw_all(&mut self, slot: Slot, cause: &Cause, bodies: &mut Bodies) {
        let (name, state) = &mut self.keys[slot.0 as usize];
        let id = |r: &Reader| FindingId::new(Axiom::Ext, r.txn, Some(*name), Some(r.op));
        let readers = state.readers.iter_mut();
        let told = readers.filter_map(|r| r.told.take().map(|anomaly| (id(r), anomaly)));
        for (id, anomaly) in told.collect::<Vec<_>>() {
            self.withdraw_unshown(id, anomaly, cause, bodies);
        }
    }

    /// At the end: withdraws what was told and is not wrong. What came too late said so, and could not be judged then.
    pub(crate) fn withdraw_others(
        &mut self,
        found: &HashSet<FindingId>,
        cause: &Cause,
        bodies: &mut Bodies,
    ) {
        for (id, anomaly) in self.standing.all() {
            if !found.contains(&id)
                && let Some(finding) = excerpt::withdrawn(&self.about, bodies, id, anomaly)
            {
                self.correct(false, finding, cause);
            }
        }
    }

    /// Withdraws something without its witness, which cannot be shown any more.
    fn withdraw_unshown(
        &mut self,
        id: FindingId,
        anomaly: Anomaly,
        cause: &Cause,
        bodies: &mut Bodies,
    ) {
        if let Some(finding) = excerpt::withdrawn(&self.about, bodies, id, anomaly) {
            return self.correct(false, finding, cause);
        }
        self.standing.remove(id);
        self.figures.count(anomaly, -1);
        self.figures.corrections += 1;
        let name = anomaly.name();
        self.trouble(Trouble::Open(format!(
            "a {name} that was told is withdrawn: {cause}, and what the read saw is not kept any more"
        )));
    }

    /// From now on something is missing in the stream: what was told because nothing wrote it is unknown.
    pub(crate) fn incomplete(&mut self, why: &str, bodies: &mut Bodies) {
        if !self.about.complete {
            return;
        }
        let cause = Cause::because(why);
        self.deletes_may_be_missing(&cause, why);
        self.about.complete = false;
        let mut slots = self.slots_by_name();
        slots.retain(|slot| !self.told_of(*slot, |_| true).is_empty());
        // If it cannot be known, that is said of each of them.
        let _ = self.look_for_twice(&slots, bodies);
        let from = self.held.earliest().unwrap_or(AFTER_ALL);
        for slot in slots {
            for of in self.told_of(slot, |_| true) {
                self.incomplete_for(of, &cause, bodies);
            }
            // What was read again from disk for it may be too much for all of them together.
            let state = &mut self.keys[slot.0 as usize].1;
            let before = state.heap_bytes();
            state.trim(self.trimmed, from, bodies.newest_on_disk());
            self.key_bytes = (self.key_bytes + state.heap_bytes()).saturating_sub(before);
        }
    }

    /// Asks again about reads that were told before something was missing.
    fn incomplete_for(&mut self, of: Pending, cause: &Cause, bodies: &mut Bodies) {
        let after = self.judge_readers(of, None, bodies);
        let still: Vec<u32> =
            after.iter().flat_map(|j| &j.findings).filter_map(|(op, _)| *op).collect();
        let readers = &self.keys[of.slot.0 as usize].1.readers[self.readers_of(of)];
        let gone = readers.iter().filter(|r| r.told.is_some() && !still.contains(&r.op));
        let gone: Vec<u32> = gone.map(|r| r.op).collect();
        if !gone.is_empty() {
            let before = self.judge_before_all_that(of, None, bodies);
            self.withdraw(of, &gone, before.findings, cause, bodies);
        }
        for (before, finding) in self.assign(of, after) {
            if let Some(before) = before {
                self.rename(before, finding);
            }
        }
    }
}
