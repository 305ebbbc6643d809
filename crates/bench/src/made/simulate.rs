//! A concurrent simulation of a database and its clients.
//!
//! Every session runs one transaction after another. A transaction begins, which is its snapshot;
//! some time later the database commits or aborts it; some time later again the answer arrives.
//! At each tick of the clock one session, whichever, goes on by one step. So transactions overlap,
//! and arrive in another order than that in which they took effect.

use std::collections::VecDeque;

use anyhow::Result;
use isolde_history::{History, Outcome};

use super::lists::Lists;
use super::plan::{Plan, Workload};
use super::plant::plant;
use super::random::Random;
use super::recorder::Recorder;
use super::registers::Registers;
use super::store::{Fate, Running, Store, may_commit};

/// Makes the history that the plan describes.
pub(crate) fn simulate(plan: &Plan) -> Result<History> {
    plan.validate()?;
    match plan.workload {
        Workload::Mini => Simulation::new(plan, Registers::new(plan)).run(),
        Workload::List => Simulation::new(plan, Lists::new(plan)).run(),
    }
}

/// How far a session is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Idle,
    Begun,
    /// The database has decided, and the answer is on its way.
    Decided(Outcome),
}

struct Session {
    stage: Stage,
    txn: Running,
}

struct Simulation<'p, S> {
    plan: &'p Plan,
    store: S,
    sessions: Vec<Session>,
    recorder: Recorder,
    time: i64,
    /// How many transactions are neither recorded nor dropped.
    running: u64,
    planted: u64,
    /// Whether nobody will write any more.
    closed: bool,
    /// Planted transactions that wait for an idle session.
    queue: VecDeque<Running>,
    /// What the workload does; the other two are apart, so that they do not disturb it.
    random: Random,
    random_planted: Random,
    random_kept: Random,
}

impl<'p, S: Store> Simulation<'p, S> {
    fn new(plan: &'p Plan, store: S) -> Simulation<'p, S> {
        let session = || Session { stage: Stage::Idle, txn: Running::default() };
        Simulation {
            plan,
            store,
            sessions: (0..plan.sessions).map(|_| session()).collect(),
            recorder: Recorder::new(plan, S::LISTS),
            time: 0,
            running: 0,
            planted: 0,
            closed: false,
            queue: VecDeque::new(),
            random: Random::new(plan.seed),
            random_planted: Random::new(!plan.seed),
            random_kept: Random::new(plan.seed.rotate_left(32) ^ 0x5bd1_e995),
        }
    }

    fn run(mut self) -> Result<History> {
        while !self.is_over() {
            self.tick()?;
        }
        Ok(self.recorder.finish()?)
    }

    fn is_over(&self) -> bool {
        let enough = self.recorder.count() >= self.plan.txns;
        enough && self.running == 0 && self.closed && self.queue.is_empty()
    }

    fn tick(&mut self) -> Result<()> {
        self.time += 1;
        let session = self.random.below(self.sessions.len() as u64) as usize;
        match self.sessions[session].stage {
            Stage::Idle => self.begin(session),
            Stage::Begun => self.decide(session),
            Stage::Decided(outcome) => self.answer(session, outcome)?,
        }
        Ok(())
    }

    fn begin(&mut self, session: usize) {
        self.plant();
        if self.queue.is_empty() {
            self.queue.extend(self.store.last_read());
        }
        let session = &mut self.sessions[session];
        if let Some(planted) = self.queue.pop_front() {
            session.txn = planted;
        } else if self.recorder.count() + self.running < self.plan.txns {
            session.txn.clear();
            self.store.begin(&mut self.random, &mut session.txn);
        } else {
            // The last ones still run; after them come the last reads, if any.
            if self.running == 0 && self.planted == self.plan.planted && !self.closed {
                self.store.close();
                self.closed = true;
                self.queue.extend(std::iter::from_fn(|| self.store.last_read()));
            }
            return;
        }
        session.txn.begin = self.time;
        session.stage = Stage::Begun;
        self.running += 1;
    }

    /// Plants the next violation if it is due: they are spread evenly.
    fn plant(&mut self) {
        let Plan { planted, txns, database, .. } = *self.plan;
        let due = || self.recorder.count() * planted >= self.planted * txns + txns / 2;
        if self.planted < planted && self.queue.is_empty() && due() {
            let random = &mut self.random_planted;
            // The seed says which kind is the first.
            let number = self.plan.seed.wrapping_add(self.planted);
            plant(number, database, &mut self.store, random, &mut self.queue);
            self.planted += 1;
        }
    }

    fn decide(&mut self, session: usize) {
        let session = &mut self.sessions[session];
        let commits = match session.txn.fate {
            Fate::Open => may_commit(self.plan.database, &self.store, &session.txn),
            Fate::Commits => true,
            Fate::Aborts => false,
        };
        if commits {
            self.store.apply(&session.txn);
        }
        let outcome = if commits { Outcome::Committed } else { Outcome::Aborted };
        session.stage = Stage::Decided(outcome);
    }

    fn answer(&mut self, at: usize, outcome: Outcome) -> Result<()> {
        let session = &mut self.sessions[at];
        session.stage = Stage::Idle;
        self.running -= 1;
        let kept = outcome == Outcome::Committed
            || session.txn.fate == Fate::Aborts
            || self.random_kept.chance(self.plan.aborted);
        if kept {
            self.recorder.record(at, &session.txn, self.time, outcome)?;
        }
        Ok(())
    }
}
