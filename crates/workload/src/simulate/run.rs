//! The clock of a simulation: at each tick, some transaction goes on by one step.

use std::collections::VecDeque;

use isolde_history::{OpKind, Outcome, Sink, SinkError};

use super::plan::{Database, Plan};
use super::plant::{Beds, Group};
use super::recorder::{Recorder, Simulated};
use super::running::{Act, Fate, Running};
use super::slots::{Session, Slot, Slots, Stage};
use super::store::{Access, Store, may_commit};
use super::tables::Tables;
use crate::random::Random;
use crate::settings::Kind;
use crate::workload::Workload;

/// When a transaction accesses the tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Everything when it begins: that is its snapshot, so only the current state has to be kept.
    AtBegin,
    /// One access a tick, each of what is there then.
    OneATick,
    /// All at once when the database decides: single operations that cannot fail.
    AtTheEnd,
}

pub(crate) struct Simulation<'p, T: Store, S> {
    plan: &'p Plan,
    when: When,
    store: T,
    tables: Tables<T::Cell>,
    slots: Slots,
    sessions: Vec<Session>,
    recorder: Recorder<'p, S>,
    time: i64,
    beds: Beds,
    /// A planted violation that waits for enough empty slots.
    group: Option<Group>,
    /// Lists that have stopped growing and shall be read once more.
    stopped: VecDeque<(u64, Vec<u64>)>,
    /// Whether no transaction will write any more.
    closed: bool,
    /// Chooses the session that goes on; the other streams are apart, so that they do not disturb it.
    random: Random,
    random_planted: Random,
    random_kept: Random,
}

/// Numbers of random streams beyond those of any session.
const TICKS: u64 = u64::MAX;
const PLANTED: u64 = u64::MAX - 1;
const KEPT: u64 = u64::MAX - 2;
/// After how many transactions the watcher is told.
const WATCH: u64 = 1 << 14;

impl<'p, T: Store, S: Sink> Simulation<'p, T, S> {
    pub(crate) fn new(
        plan: &'p Plan,
        workload: &Workload,
        store: T,
        recorder: Recorder<'p, S>,
    ) -> Simulation<'p, T, S> {
        let settings = workload.settings();
        let cas = settings.kind == Kind::Cas;
        let seen = if cas { settings.keys as usize } else { 0 };
        let session = |number| {
            let script = workload.script(number);
            Session { script, round: 0, seen: vec![0; seen] }
        };
        let when = match plan.database {
            _ if cas => When::AtTheEnd,
            Database::ReadCommitted => When::OneATick,
            Database::Prefix | Database::Snapshot | Database::Serializable => When::AtBegin,
        };
        Simulation {
            plan,
            when,
            store,
            tables: Tables::new(settings.rows(), settings.sessions),
            slots: Slots::new(plan.slots(), settings.sessions),
            sessions: (0..settings.sessions).map(session).collect(),
            recorder,
            time: 0,
            beds: Beds::new(plan),
            group: None,
            stopped: VecDeque::new(),
            closed: false,
            random: Random::stream(settings.seed, TICKS),
            random_planted: Random::stream(settings.seed, PLANTED),
            random_kept: Random::stream(settings.seed, KEPT),
        }
    }

    pub(crate) fn run(mut self, watch: &mut dyn FnMut(u64)) -> Result<Simulated, SinkError> {
        let mut told = 0;
        while !self.is_over() {
            self.tick()?;
            let txns = self.recorder.done().txns;
            if txns >= told + WATCH {
                watch(txns);
                told = txns;
            }
        }
        Ok(self.recorder.done())
    }

    /// How many transactions are under way.
    fn running(&self) -> u64 {
        (self.sessions.len() - self.slots.waiting()) as u64
    }

    fn is_over(&self) -> bool {
        self.closed && self.running() == 0 && self.stopped.is_empty()
    }

    fn tick(&mut self) -> Result<(), SinkError> {
        self.time += 1;
        let at = self.random.below(self.slots.all.len() as u64) as usize;
        match self.slots.all[at].stage {
            Stage::Empty => self.begin(at),
            Stage::Follows => {
                let slot = &mut self.slots.all[at];
                slot.txn = slot.follow.take().unwrap_or_default();
                slot.txn.begin(self.time);
                slot.stage = Stage::Begun;
            }
            Stage::Begun => self.go_on(at),
            Stage::Decided(outcome) => self.answer(at, outcome)?,
        }
        Ok(())
    }

    fn begin(&mut self, at: usize) {
        let txns = self.recorder.done().txns;
        if self.group.is_none() {
            self.group = self.beds.due(txns, &mut self.store, &mut self.tables);
        }
        if self.group.is_some() {
            // No other transaction begins until there is room for all of it.
            self.plant();
        } else if let Some((key, elements)) = self.stopped.pop_front() {
            let mut txn = Running { fate: Fate::Commits, ..Running::default() };
            txn.list_read(key, elements);
            self.begin_written(at, txn, None);
        } else if txns + self.running() < self.plan.txns {
            self.begin_next(at);
        } else if self.running() == 0 && self.beds.is_done() && !self.closed {
            // After the last ones come the last reads, if any.
            self.closed = true;
            let (stopped, read_out) = (&mut self.stopped, self.plan.read_out);
            self.tables.close(|key, cell| stop::<T>(stopped, read_out, key, cell));
        }
    }

    /// The next transaction of some session.
    #[inline]
    fn begin_next(&mut self, at: usize) {
        let slot = self.slots.seat(at, &mut self.random);
        let session = &mut self.sessions[slot.session as usize];
        session.script.next(&mut slot.plan);
        if slot.plan.round != session.round {
            let (stopped, read_out) = (&mut self.stopped, self.plan.read_out);
            let gone = |key, cell| stop::<T>(stopped, read_out, key, cell);
            self.tables.go_on(session.round, slot.plan.round, gone);
            session.round = slot.plan.round;
            session.seen.fill(0);
        }
        slot.txn.clear();
        slot.txn.begin(self.time);
        slot.txn.round = slot.plan.round;
        slot.txn.fate = if slot.plan.rolls_back { Fate::Aborts } else { Fate::Open };
        slot.stage = Stage::Begun;
        slot.done = 0;
        if self.when == When::AtBegin {
            access_all(&mut self.store, &mut self.tables, slot, &[]);
        }
    }

    /// A transaction that is already written out.
    fn begin_written(&mut self, at: usize, mut txn: Running, follow: Option<Running>) {
        let slot = self.slots.seat(at, &mut self.random_planted);
        txn.begin(self.time);
        slot.txn = txn;
        slot.plan.steps.clear();
        slot.done = 0;
        slot.follow = follow;
        slot.stage = Stage::Begun;
    }

    /// Begins all transactions of the waiting violation, before any of them goes on.
    fn plant(&mut self) {
        let Some(group) = self.group.take() else { return };
        let Some(empty) = self.slots.empty(group.len()) else {
            self.group = Some(group);
            return;
        };
        self.recorder.planted();
        match group {
            Group::Written { txns, ticks } => {
                let begun = self.time + txns.len() as i64;
                for (at, (mut txn, mut follow)) in empty.into_iter().zip(txns) {
                    self.time += 1;
                    txn.span.shift(begun);
                    if let Some(follow) = &mut follow {
                        follow.span.shift(begun);
                    }
                    self.begin_written(at, txn, follow);
                }
                self.time += ticks;
            }
            Group::Conflict => {
                let row = self.random_planted.below(u64::from(self.plan.workload.rows())) as u32;
                let kinds = if T::LISTS {
                    [OpKind::ListRead, OpKind::Append]
                } else {
                    [OpKind::Read, OpKind::Write]
                };
                for at in empty {
                    self.time += 1;
                    let round = self.tables.oldest();
                    let mut txn = Running { round, fate: Fate::Commits, ..Running::default() };
                    for kind in kinds {
                        let access = Access { kind, row, expected: 0 };
                        self.store.access(&mut self.tables, access, &mut txn);
                    }
                    self.begin_written(at, txn, None);
                }
            }
        }
    }

    /// The next access, or the decision.
    #[inline]
    fn go_on(&mut self, at: usize) {
        let slot = &mut self.slots.all[at];
        let seen = &mut self.sessions[slot.session as usize].seen;
        if slot.done < slot.plan.steps.len() {
            if self.when == When::OneATick {
                access(&mut self.store, &mut self.tables, slot, seen);
                return;
            }
            access_all(&mut self.store, &mut self.tables, slot, seen);
        }
        let commits = match slot.txn.fate {
            Fate::Open => may_commit(self.plan.database, &mut self.tables, &slot.txn),
            Fate::Commits => true,
            Fate::Aborts => false,
        };
        slot.txn.span.decide(self.time, self.when == When::AtTheEnd);
        if commits {
            self.store.apply(&mut self.tables, &slot.txn);
            if self.when == When::AtTheEnd {
                learn(slot, seen);
            }
        }
        let outcome = if commits { Outcome::Committed } else { Outcome::Aborted };
        slot.stage = Stage::Decided(outcome);
    }

    #[inline]
    fn answer(&mut self, at: usize, outcome: Outcome) -> Result<(), SinkError> {
        let slot = &mut self.slots.all[at];
        let kept = outcome == Outcome::Committed
            || slot.txn.fate == Fate::Aborts
            || self.random_kept.chance(self.plan.aborted);
        if kept {
            self.recorder.record(slot.session, &slot.txn, self.time, outcome)?;
        }
        if slot.follow.is_some() {
            slot.stage = Stage::Follows;
        } else {
            // The next one begins at once: as many as were asked for are always under way.
            self.slots.leave(at);
            self.time += 1;
            self.begin(at);
        }
        Ok(())
    }
}

/// Does the next step of a transaction.
#[inline]
fn access<T: Store>(store: &mut T, tables: &mut Tables<T::Cell>, slot: &mut Slot, seen: &[u64]) {
    let step = slot.plan.steps[slot.done];
    let expected = seen.get(step.row as usize).copied().unwrap_or(0);
    let access = Access { kind: step.kind, row: step.row, expected };
    store.access(tables, access, &mut slot.txn);
    slot.done += 1;
}

#[inline]
fn access_all<T: Store>(
    store: &mut T,
    tables: &mut Tables<T::Cell>,
    slot: &mut Slot,
    seen: &[u64],
) {
    while slot.done < slot.plan.steps.len() {
        access(store, tables, slot, seen);
    }
}

/// A session remembers what it read, and what it wrote with success.
fn learn(slot: &Slot, seen: &mut [u64]) {
    for (step, act) in slot.plan.steps.iter().zip(&slot.txn.acts) {
        if let Act::Read { value, .. }
        | Act::Cas { value, done: true, .. }
        | Act::Insert { value, done: true, .. } = *act
            && let Some(seen) = seen.get_mut(step.row as usize)
        {
            *seen = value;
        }
    }
}

/// A key that will not be written any more.
fn stop<T: Store>(
    stopped: &mut VecDeque<(u64, Vec<u64>)>,
    read_out: bool,
    key: u64,
    cell: T::Cell,
) {
    if read_out && let Some(elements) = T::last_read(cell) {
        stopped.push_back((key, elements));
    }
}
