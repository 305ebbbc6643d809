//! One session of the workload: a thread that runs its script.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use isolde_history::{EndedAt, OpKind, Outcome};
use isolde_target::{
    Answer, Failure, InDoubt, Path, Request, ResolvedOutcome, ServerTxn, Session, Written,
};
use isolde_workload::{Script, Step, TxnPlan};

use crate::attempt::{self, Act, Attempt, Ending};
use crate::confirmed::Reached;
use crate::note::{Note, Sign};
use crate::shared::Shared;

/// After so many failures in a row that are no conflicts, a session gives up: something is wrong
/// that will not pass, such as a missing privilege.
const MAX_FAILURES_IN_A_ROW: u32 = 100;
/// How long a session that waits is silent, in nanoseconds: a reader that follows the record would otherwise
/// wait for it, too.
const HEARTBEAT_EVERY: i64 = 500_000_000;

/// How often a session promises how far it has come, in nanoseconds, where the database tells timestamps or snapshots.
const PROMISE_EVERY: i64 = 100_000_000;

/// Whether a session that waits for a connection says that it has nothing under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Silence {
    Told,
    /// An attempt of it is not recorded yet, so it may not say so.
    Kept,
}

/// One session of the workload.
pub(crate) struct Client {
    shared: Arc<Shared>,
    number: u32,
    script: Script,
    record: SyncSender<Note>,
    connection: Option<Box<dyn Session>>,
    /// Its number in the record: another one after each lost connection. A transaction whose COMMIT
    /// got no answer may still be on its way when the next one has begun on a new connection, so
    /// the two are not in session order.
    recorded_as: Cell<u32>,
    /// When it last told anything of itself.
    told_at: Cell<i64>,
    /// When it last promised how far it has come, and what.
    promised: Cell<(i64, Option<Reached>)>,
    /// How many values it has written.
    written: i64,
    /// What it saw last under each key, for compare-and-set.
    seen: HashMap<u64, Option<i64>>,
    failures_in_a_row: u32,
    /// When the first of them was.
    failing_since: Instant,
}

impl Client {
    pub(crate) fn new(
        shared: Arc<Shared>,
        number: u32,
        script: Script,
        record: SyncSender<Note>,
        connection: Box<dyn Session>,
    ) -> Client {
        Client {
            shared,
            number,
            script,
            record,
            connection: Some(connection),
            recorded_as: Cell::new(number),
            told_at: Cell::new(0),
            promised: Cell::new((0, None)),
            written: 0,
            seen: HashMap::new(),
            failures_in_a_row: 0,
            failing_since: Instant::now(),
        }
    }

    /// Runs until the run is over, or until it cannot go on.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        let done = self.play();
        self.shared.tables.leave(self.number);
        self.over(None);
        done
    }

    /// Tells that it is through under its name in the record, and the one that comes next.
    fn over(&self, next: Option<u32>) {
        let (session, at) = (self.recorded_as.get(), self.shared.clock.now());
        let _ = self.record.send(Note::Sign(Sign::Over { session, at, next }));
        self.told_at.set(at);
        self.promised.set((0, None));
        self.recorded_as.set(next.unwrap_or(session));
    }

    /// Promises now and then how far it has come. It has nothing under way, and what it has done is on its way to
    /// the record before this is: what it does next commits after all commits that are confirmed by now, and its
    /// snapshot shows all that any snapshot shows by now.
    fn promise(&self) {
        let (at, (promised_at, promised)) = (self.shared.clock.now(), self.promised.get());
        if promised.is_some() && at - promised_at < PROMISE_EVERY {
            return;
        }
        let greatest = self.shared.confirmed.greatest();
        if let Some(reached) = greatest.filter(|_| greatest > promised) {
            let watermark = reached.watermark();
            let session = self.recorded_as.get();
            let _ = self.record.send(Note::Sign(Sign::Past { session, watermark }));
            self.promised.set((at, greatest));
        }
    }

    /// Tells now and then that it waits, with nothing under way.
    fn idle(&self) {
        self.promise();
        let (session, at) = (self.recorded_as.get(), self.shared.clock.now());
        if at - self.told_at.get() >= HEARTBEAT_EVERY {
            let _ = self.record.send(Note::Sign(Sign::Idle { session, at }));
            self.told_at.set(at);
        }
    }

    fn play(&mut self) -> Result<(), Failure> {
        let mut plan = TxnPlan::default();
        while self.may_begin() {
            let before = plan.round;
            self.script.next(&mut plan);
            if plan.round != before {
                self.seen.clear();
            }
            self.enter(plan.round)?;
            for _ in 0..=self.shared.options.retries {
                if self.attempt(&plan)? || self.shared.tally.is_over() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Begins a round; a table that cannot be made now may be in a moment.
    fn enter(&self, round: u32) -> Result<(), Failure> {
        let began = Instant::now();
        loop {
            match self.shared.tables.enter(self.number, round) {
                Err(failure) if began.elapsed() < self.shared.options.patience => {
                    self.shared.tally.trouble(&failure);
                    self.idle();
                    std::thread::sleep(Duration::from_millis(50));
                }
                done => return done,
            }
        }
    }

    /// Whether there is another transaction to begin; waits for its turn if there is a rate.
    fn may_begin(&self) -> bool {
        let tally = &self.shared.tally;
        if tally.is_over() {
            return false;
        }
        let limits = &self.shared.options.limits;
        let number = tally.txns.fetch_add(1, Ordering::Relaxed);
        if limits.txns.is_some_and(|most| number >= most) {
            tally.txns.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        if let Some(rate) = self.shared.options.rate {
            let due = Duration::from_secs_f64(number as f64 / rate);
            // In short naps, so that the end of the run is noticed.
            while let Some(wait) = due.checked_sub(self.shared.clock.elapsed()) {
                if tally.is_over() {
                    tally.txns.fetch_sub(1, Ordering::Relaxed);
                    return false;
                }
                self.idle();
                std::thread::sleep(wait.min(Duration::from_millis(50)));
            }
        }
        true
    }

    /// One attempt. Whether the transaction needs no other one.
    fn attempt(&mut self, plan: &TxnPlan) -> Result<bool, Failure> {
        let Some(mut session) = self.connected(Silence::Told)? else {
            // It was never begun.
            self.shared.tally.txns.fetch_sub(1, Ordering::Relaxed);
            return Ok(true);
        };
        self.promise();
        let clock = self.shared.clock;
        let begin = clock.now();
        let mut acts = Vec::with_capacity(plan.steps.len());
        let begun = match self.reads_only(plan) {
            true => session.begin_reading(),
            false => session.begin().map(|()| false),
        };
        let read_only = *begun.as_ref().unwrap_or(&false);
        let mut ending = match begun {
            Err(failure) => attempt::give_up(&mut *session, clock, failure, EndedAt::Begin),
            Ok(_) => match self.steps(&mut *session, plan, &mut acts) {
                Err(failure) => {
                    let at = EndedAt::Statement((acts.len() as u32).saturating_sub(1));
                    attempt::give_up(&mut *session, clock, failure, at)
                }
                Ok(()) => attempt::finish(&mut *session, clock, plan.rolls_back),
            },
        };
        let server_txn = session.server_txn();
        if ending.usable {
            self.connection = Some(session);
        } else {
            // What the server still waits for will not come.
            drop(session);
        }
        let mut gone = Ok(());
        if ending.outcome == Outcome::Unknown {
            let (fate, reached) = self.resolve(&acts, server_txn);
            ending.outcome = fate.outcome;
            ending.timestamps.commit = ending.timestamps.commit.or(fate.timestamps.commit);
            gone = reached;
        }
        let end = (ending.outcome != Outcome::Unknown).then(|| clock.now());
        if self.shared.remembers && ending.outcome == Outcome::Committed {
            self.remember(&acts);
        }
        let done = ending.outcome != Outcome::Aborted || plan.rolls_back;
        let attempt = Attempt {
            client: self.number,
            session: self.recorded_as.get(),
            outcome: ending.outcome,
            acts,
            begin,
            end,
            end_sent: ending.sent,
            ended_at: ending.ended_at,
            read_only,
            timestamps: ending.timestamps,
            server_txn,
            error: ending.failure.as_ref().map(|f| (f.code.clone(), f.class)),
        };
        if let Some(reached) = attempt.reached(self.shared.one_server()) {
            self.shared.confirmed.add(reached);
        }
        self.told_at.set(end.unwrap_or(begin));
        // The recorder is gone only if it failed, which ends the run anyway.
        let _ = self.record.send(Note::Attempt(attempt));
        self.account(ending)?;
        gone.map(|()| done)
    }

    /// What became of a transaction whose COMMIT got no final answer, if the server can tell when it is
    /// reached again; and why it cannot be reached, unless the run is over anyway.
    fn resolve(
        &mut self,
        acts: &[Act],
        txn: Option<ServerTxn>,
    ) -> (ResolvedOutcome, Result<(), Failure>) {
        let unknown = ResolvedOutcome::from(Outcome::Unknown);
        match self.connected(Silence::Kept) {
            Ok(None) => return (unknown, Ok(())),
            Err(_) if self.shared.tally.is_over() => return (unknown, Ok(())),
            Err(failure) => return (unknown, Err(failure)),
            Ok(connection) => self.connection = connection,
        }
        let rows = u64::from(self.shared.rows.max(1));
        let written = |act: &Act| Written {
            table: self.shared.tables.number((act.key / rows) as u32),
            row: (act.key % rows) as u32,
            kind: act.kind,
            value: act.value,
        };
        let writes: Vec<Written> = acts.iter().filter(|act| act.wrote()).map(written).collect();
        let fate = self.shared.target.fate(&InDoubt { txn, writes: &writes });
        if fate.outcome != Outcome::Unknown {
            self.shared.tally.resolve();
        }
        (fate, Ok(()))
    }

    /// Whether a transaction will do nothing but read, and take no locks by name.
    fn reads_only(&self, plan: &TxnPlan) -> bool {
        let reads = |step: &Step| {
            matches!(step.kind, OpKind::Read | OpKind::ListRead)
                && self.shared.paths.pick(step.kind, step.choice).lock().is_none()
        };
        self.shared.target.only_reads(self.number) || plan.steps.iter().all(reads)
    }

    fn steps(
        &mut self,
        session: &mut dyn Session,
        plan: &TxnPlan,
        acts: &mut Vec<Act>,
    ) -> Result<(), Failure> {
        let only_reads = self.shared.target.only_reads(self.number);
        for step in &plan.steps {
            let key = plan.key(step, self.shared.rows);
            let mut request = self.request(plan, step, key);
            if only_reads && !into_read(&mut request) {
                continue;
            }
            attempt::act(session, &request, key, self.shared.clock, acts)?;
        }
        Ok(())
    }

    fn request(&mut self, plan: &TxnPlan, step: &Step, key: u64) -> Request {
        let seen = self.seen.get(&key).copied().flatten();
        // A compare-and-set by a session that knows of no value expects that there is none.
        let kind = match (step.kind, seen) {
            (OpKind::Cas, None) => OpKind::InsertIfAbsent,
            (kind, _) => kind,
        };
        let value = match kind {
            OpKind::Read | OpKind::ListRead => 0,
            _ => self.fresh(),
        };
        let path = self.shared.paths.pick(kind, step.choice);
        let expected = seen.unwrap_or(0);
        let table = self.shared.tables.number(plan.round);
        Request { table, row: step.row, kind, path, value, expected }
    }

    /// A value that no other session writes, in this run: sessions take turns.
    fn fresh(&mut self) -> i64 {
        let value = self.written * i64::from(self.shared.sessions) + i64::from(self.number) + 1;
        self.written += 1;
        value
    }

    fn remember(&mut self, acts: &[Act]) {
        for act in acts {
            match (act.kind, &act.answer) {
                (OpKind::Read, Some(Answer::Value(value))) => {
                    self.seen.insert(act.key, *value);
                }
                (OpKind::Cas | OpKind::InsertIfAbsent, Some(Answer::Done(true))) => {
                    self.seen.insert(act.key, Some(act.value));
                }
                _ => {}
            }
        }
    }

    /// Counts the attempt, and what went wrong with it.
    fn account(&mut self, ending: Ending) -> Result<(), Failure> {
        let tally = &self.shared.tally;
        tally.count(ending.outcome);
        let most = self.shared.options.limits.commits;
        if most.is_some_and(|most| tally.committed.load(Ordering::Relaxed) >= most) {
            tally.end();
        }
        if !ending.usable {
            tally.lose();
            let next = self.shared.next_session.fetch_add(1, Ordering::Relaxed);
            self.over(Some(next));
        }
        let Some(failure) = ending.failure else {
            self.failures_in_a_row = 0;
            return Ok(());
        };
        tally.trouble(&failure);
        if failure.expected {
            self.failures_in_a_row = 0;
            return Ok(());
        }
        self.failures_in_a_row += 1;
        if self.shared.harmed() {
            return self.bear(failure);
        }
        if self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW { Err(failure) } else { Ok(()) }
    }

    /// Where servers are harmed on purpose, failures in a row are no reason to give up, unless they go on
    /// for longer than any harm.
    fn bear(&mut self, failure: Failure) -> Result<(), Failure> {
        if self.failures_in_a_row == 1 {
            self.failing_since = Instant::now();
        }
        if self.failing_since.elapsed() >= self.shared.options.patience {
            return Err(failure);
        }
        // A node that refuses everything does so fast, and every refusal is recorded.
        std::thread::sleep(Duration::from_millis(self.failures_in_a_row.min(20).into()));
        Ok(())
    }

    /// The connection, or a new one; the error is that of the last try. Nothing if the run is over before
    /// the server is back, which is away on purpose.
    fn connected(&mut self, silence: Silence) -> Result<Option<Box<dyn Session>>, Failure> {
        if let Some(connection) = self.connection.take() {
            return Ok(Some(connection));
        }
        let began = Instant::now();
        let mut pause = Duration::from_millis(10);
        loop {
            match self.shared.target.connect_client(&self.shared.offer, self.number) {
                Ok(connection) => return Ok(Some(connection)),
                Err(_) if self.shared.harmed() && self.shared.tally.is_over() => return Ok(None),
                Err(failure) => {
                    self.shared.tally.trouble(&failure);
                    let impatient = began.elapsed() >= self.shared.options.patience;
                    if impatient || self.shared.tally.is_over() {
                        return Err(failure);
                    }
                }
            }
            if silence == Silence::Told {
                self.idle();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }
}

/// Makes a request one that a copy can answer: nothing that writes or locks. Writes after their reads
/// would only read the same again.
fn into_read(request: &mut Request) -> bool {
    if matches!(request.path, Path::ForUpdate | Path::ForShare) {
        request.path = Path::PrimaryKey;
    }
    matches!(request.kind, OpKind::Read | OpKind::ListRead)
}
