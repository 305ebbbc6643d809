//! What a version that has come changes: conflicts, readers that should have seen it, and names.

use isolde_check::timestamps::rules::Ordering;
use isolde_spec::{Anomaly, Axiom, By};

use super::arrivals::{Arrival, until_of};
use super::excerpt::{self, Suspicion};
use super::inserts::absent;
use super::key_records::Reader;
use super::{Pending, Slot, Timestamps, pending};
use crate::bodies::{Bodies, TxnRef};
use crate::content::Word;
use crate::event::{Finding, Trouble};

impl Timestamps {
    /// A version has been entered at an index.
    pub(super) fn version_came(
        &mut self,
        slot: Slot,
        at: usize,
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
        self.written_again(slot, version.word, version.txn, arrival, bodies);
    }

    /// NOCONFLICT: each writer is told once, with the first that commits after it and overlaps it.
    fn conflicts(&mut self, slot: Slot, at: usize, arrival: &Arrival<'_>, bodies: &mut Bodies) {
        let (key, state) = &self.keys[slot.0 as usize];
        let key = *key;
        let new = state.versions[at];
        let mut opponents: Vec<(TxnRef, TxnRef, Option<TxnRef>)> = Vec::new();
        if let Some(opponent) = state.opponent(at, None) {
            opponents.push((new.txn, state.versions[opponent].txn, None));
        }
        if new.start < new.commit {
            let earlier = (0..at).rev().take_while(|u| state.versions[*u].commit > new.start);
            for u in earlier.filter(|u| state.versions[*u].start < state.versions[*u].commit) {
                let before = state.opponent(u, Some(at));
                if before.is_none_or(|before| before > at) {
                    let before = before.map(|before| state.versions[before].txn);
                    opponents.push((state.versions[u].txn, new.txn, before));
                }
            }
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
                    let name = arrival.name(new.txn);
                    self.correct(true, now, &name);
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
        if self.about.promise.by == By::Snapshots
            && let Some(slot) = self.slots.get(&key)
        {
            involved.extend(self.keys[slot.0 as usize].1.dividers(&[txn, opponent]));
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
        let mut finals = Vec::new();
        for i in state.affected(at) {
            let reader = state.readers[i];
            let right = state.is_right(&reader);
            if !reader.inclusive && reader.at == new.commit && reader.txn != new.txn {
                self.figures.doubt(true, Some("two transactions have one commit timestamp"));
            }
            if right != reader.wrong {
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
                self.final_words.insert((slot, reader.word));
                finals.push(pending((name, slot), &reader, None));
            } else if !right {
                let until = until_of(reader.txn, bodies);
                self.pending.push(pending((name, slot), &reader, until));
            }
        }
        finals.dedup();
        for of in finals {
            self.review(of, new.txn, arrival, bodies);
        }
    }

    /// A word was written to a key: reads of it that were told may be called something else now.
    pub(super) fn written_again(
        &mut self,
        slot: Slot,
        written: Word,
        txn: TxnRef,
        arrival: &Arrival<'_>,
        bodies: &mut Bodies,
    ) {
        let (name, state) = &self.keys[slot.0 as usize];
        let all = state.is_list == Some(true);
        let any = all || state.refused;
        if state.wrong == 0 || !(any || self.final_words.contains(&(slot, written))) {
            return;
        }
        let told = |r: &&Reader| r.wrong && r.is_final && r.txn != txn;
        let about_it = |r: &&Reader| all || r.not || r.word == written;
        let readers = state.readers.iter().filter(told).filter(about_it);
        let mut again: Vec<Pending> = readers.map(|r| pending((*name, slot), r, None)).collect();
        again.dedup();
        for of in again {
            self.review(of, txn, arrival, bodies);
        }
    }

    /// Asks again about reads whose verdict was final, and tells what has changed.
    fn review(&mut self, of: Pending, late: TxnRef, arrival: &Arrival<'_>, bodies: &mut Bodies) {
        let name = arrival.name(late);
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
            let before = self.judge_readers(of, Some(late), bodies).unwrap_or_default();
            self.withdraw(of, &gone, before.findings, &name);
        }
        for (before, finding) in self.assign(of, after) {
            match before {
                Some(before) => self.rename(before, finding),
                None => self.correct(true, finding, &name),
            }
        }
    }

    /// Withdraws what was told of some operations.
    fn withdraw(
        &mut self,
        of: Pending,
        gone: &[u32],
        before: Vec<(Option<u32>, Finding)>,
        why: &str,
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
                self.correct(false, Finding { anomaly, ..finding }, why);
            }
        }
        for (_, anomaly) in told {
            self.withdraw_unshown((of.txn, anomaly), why);
        }
    }

    /// Withdraws what was told of a key of which too little is known by now.
    pub(super) fn withdraw_all(&mut self, slot: Slot, why: &str) {
        let readers = self.keys[slot.0 as usize].1.readers.iter_mut();
        let told = readers.filter_map(|r| r.told.take().map(|anomaly| (r.txn, anomaly)));
        for told in told.collect::<Vec<_>>() {
            self.withdraw_unshown(told, why);
        }
    }

    /// Withdraws something without its witness, which cannot be shown any more.
    fn withdraw_unshown(&mut self, (txn, anomaly): (TxnRef, Anomaly), why: &str) {
        self.standing.lose();
        self.figures.count(anomaly, -1);
        self.figures.corrections += 1;
        self.figures.too_late(txn);
        let name = anomaly.name();
        self.trouble(Trouble::Open(format!(
            "a {name} that was told is withdrawn: {why} came, and what the read saw is not kept any more"
        )));
    }

    /// From now on something is missing in the stream: what was told because nothing wrote it is unknown.
    pub(crate) fn incomplete(&mut self, why: &str, bodies: &mut Bodies) {
        if !self.about.complete {
            return;
        }
        self.deletes_may_be_missing(why);
        let mut slots: Vec<Slot> = (0..self.keys.len() as u32).map(Slot).collect();
        // In an order that does not depend on what has been in memory before.
        slots.sort_unstable_by_key(|slot| self.keys[slot.0 as usize].0);
        for slot in slots {
            let (name, state) = &self.keys[slot.0 as usize];
            if state.wrong == 0 {
                continue;
            }
            let told = state.readers.iter().filter(|r| r.told.is_some());
            let mut again: Vec<Pending> = told.map(|r| pending((*name, slot), r, None)).collect();
            again.dedup();
            for of in again {
                self.about.complete = true;
                let before = self.judge_readers(of, None, bodies).unwrap_or_default();
                self.about.complete = false;
                let after = self.judge_readers(of, None, bodies);
                let range = self.readers_of(of);
                let still: Vec<u32> =
                    after.iter().flat_map(|j| &j.findings).filter_map(|(op, _)| *op).collect();
                let readers = &self.keys[slot.0 as usize].1.readers[range];
                let gone = readers.iter().filter(|r| r.told.is_some() && !still.contains(&r.op));
                let gone: Vec<u32> = gone.map(|r| r.op).collect();
                self.withdraw(of, &gone, before.findings, why);
                for (before, finding) in self.assign(of, after) {
                    if let Some(before) = before {
                        self.rename(before, finding);
                    }
                }
            }
        }
        self.about.complete = false;
    }
}
