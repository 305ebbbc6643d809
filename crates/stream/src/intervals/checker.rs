//! The rules of client intervals on a stream: transactions come in any order that keeps sessions, and are decided once
//! nothing can come any more that began before they ended.
//!
//! What is found is told at once, and is final: it is what the whole history shows ([`offline`](super::offline)). A
//! transaction that comes later than it should have is *late*: what it has to do with was decided without it. What it
//! might explain is withdrawn, and later on nothing is told that what it wrote might explain.

use isolde_history::{History, Outcome, SessionEvent, StreamPromise, Txn, TxnId};
use isolde_spec::{Answer, Profile, Verdict};

use super::breach::{Breach, Tally};
use super::entering::{Entered, Entering};
use super::flow::mirror_of;
use super::low_water::LowWater;
use super::mirror::{FORGET_EVERY, Mirror};
use super::small::{self, ShownBreach};
use super::suspects::Suspects;
use super::told::{StandingBreach, StandingBreaches};
use super::tracer::Tracer;
use super::witness;
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, name_id};
use crate::event::{Cause, Correction, Finding, Told, Trouble};
use crate::figures::Figures;
use crate::settings::Settings;
use crate::timestamps::excerpt::{About, name_of};

/// What a batch says of a session.
pub(crate) struct SaidOfSession {
    session: NameId,
    next: Option<NameId>,
    event: SessionEvent,
}

impl SaidOfSession {
    /// The session, if it has ended.
    pub(crate) fn ended(&self) -> Option<NameId> {
        matches!(self.event, SessionEvent::Ended { .. }).then_some(self.session)
    }

    /// All that a batch says.
    pub(crate) fn all(batch: &History) -> Vec<SaidOfSession> {
        let named = |name| name_id(batch.pool(), name);
        let said = batch.session_events().map(|event| {
            let next = match event {
                SessionEvent::Ended { next, .. } => next.map(named),
                SessionEvent::Heartbeat { .. } => None,
            };
            SaidOfSession { session: named(event.session()), next, event }
        });
        said.collect()
    }
}

/// Why something stays unknown.
const MISSING: &str = "it may be the doing of a transaction that is missing or came too late";

/// The state of a stream by client intervals.
pub(crate) struct IntervalChecker {
    profile: Profile,
    pub(crate) about: About,
    mirror: Mirror,
    entering: Entering,
    low: LowWater,
    standing: StandingBreaches,
    suspects: Suspects,
    pub(crate) told: Vec<Told>,
    pub(crate) figures: Figures,
    pub(crate) late: u64,
    /// How many bytes the mirror may take, and how many rows were given up for that.
    most: usize,
    given_up: u64,
    /// The bytes of the mirror when they were counted last, and how many transactions had been decided by then.
    counted: (usize, u64),
}

impl IntervalChecker {
    /// Nothing has come yet. What is said of the run as a whole is what the first batch says.
    pub(crate) fn new(settings: &Settings, profile: &Profile, batch: &History) -> IntervalChecker {
        let about = About::new(settings.promise, batch);
        let mut mirror = mirror_of(&about.header, profile);
        mirror.forget_every = (settings.memory >> 13).clamp(1, FORGET_EVERY as usize) as u32;
        IntervalChecker {
            mirror,
            profile: profile.clone(),
            about,
            entering: Entering::default(),
            low: LowWater::new(),
            standing: StandingBreaches::default(),
            suspects: Suspects::default(),
            told: Vec::new(),
            figures: Figures::default(),
            late: 0,
            most: settings.memory / 2,
            given_up: 0,
            counted: (0, 0),
        }
    }

    /// A batch of transactions has come.
    pub(crate) fn arrive(&mut self, batch: &History, number: u32, now: i64, bodies: &mut Bodies) {
        let pool = batch.pool();
        let sessions = pool.session_names().iter().map(|name| name_id(pool, *name));
        let sessions: Vec<NameId> = sessions.collect();
        let ends = batch.txns().filter_map(|txn| txn.interval().end);
        self.low.arrived(now, ends.max());
        let decided = self.mirror.decided_until();
        for txn in batch.txns() {
            let interval = txn.interval();
            self.low.ended_at(sessions[txn.session().index()], interval.end);
            let began = interval.begin.unwrap_or(i64::MIN);
            if let Some(until) = decided.filter(|until| began <= *until) {
                self.is_late(&txn, (batch, number), (now, began, until), bodies);
            }
        }
        self.entering.add(batch, number);
    }

    /// A transaction came when others had been decided that it may have to do with.
    fn is_late(
        &mut self,
        txn: &Txn<'_>,
        (batch, number): (&History, u32),
        (now, began, until): (i64, i64, i64),
        bodies: &mut Bodies,
    ) {
        self.late += 1;
        self.figures.came_after(self.low.came_after(now, began));
        let name = name_of(batch, txn.id());
        self.told.push(Told::Late { txn: name.clone(), decided: true });
        let trace = Tracer::new(batch, &self.profile, number).trace(txn.id());
        if txn.outcome() == Outcome::Aborted || trace.writes.is_empty() {
            return;
        }
        let rows: Vec<NameId> = trace.writes.iter().map(|write| write.row).collect();
        let explained = self.standing.take(|stands| {
            let is_its = |row: &NameId| rows.contains(row);
            stands.ended >= began && stands.rows.iter().any(is_its)
        });
        self.withdraw(explained, &Cause::Late(name), bodies);
        self.suspects.add(&rows, until);
    }

    /// What is said of a session, after all of its transactions so far.
    pub(crate) fn hear(&mut self, said: &SaidOfSession) {
        self.low.heard(said.session, said.next, &said.event);
    }

    /// What is promised of a session, or of all.
    pub(crate) fn promised(&mut self, session: Option<NameId>, promise: &StreamPromise) {
        self.low.promised(session, promise);
    }

    /// Time has passed: decides what can be decided.
    pub(crate) fn settle(&mut self, now: i64, timeout: i64, bodies: &mut Bodies) {
        let low = self.low.at(now, timeout);
        self.enter_before(low, bodies);
        self.mirror.decide_before(low);
        self.tell_found(bodies);
        self.count_bytes();
    }

    /// Nothing more comes.
    pub(crate) fn finish(&mut self, bodies: &mut Bodies) {
        self.enter_before(i64::MAX, bodies);
        self.mirror.finish();
        self.tell_found(bodies);
        self.count_bytes();
    }

    /// Enters what began before a time. Between runs what can be decided is, so that the mirror stays small however much
    /// has come.
    fn enter_before(&mut self, time: i64, bodies: &mut Bodies) {
        while let Some(Entered { batch, txns }) = self.entering.next_before(time) {
            self.enter(batch, &txns, bodies);
            if let Some(next) = self.entering.next_begins() {
                self.mirror.decide_before(next.min(time));
                self.tell_found(bodies);
            }
        }
    }

    fn enter(&mut self, number: u32, txns: &[TxnId], bodies: &mut Bodies) {
        let Some(batch) = bodies.get(number) else {
            // There was no room for it until its turn came.
            for txn in txns {
                self.figures.too_late(TxnRef::new(number, *txn));
            }
            let why = "transactions were given up before they could be judged (--keep)";
            self.incomplete(why, bodies);
            return;
        };
        let tracer = Tracer::new(&batch, &self.profile, number);
        for txn in txns {
            let mut trace = tracer.trace(*txn);
            // Its place in its batch says nothing; of one session, what came first was entered first.
            trace.turn.position = 0;
            self.mirror.enter(trace);
        }
    }

    /// Something is missing in the stream.
    pub(crate) fn incomplete(&mut self, why: &str, bodies: &mut Bodies) {
        if !std::mem::replace(&mut self.about.complete, false) {
            return;
        }
        self.told.push(Told::Trouble(Trouble::Incomplete(why.to_owned())));
        let all = self.standing.take(|_| true);
        self.withdraw(all, &Cause::because("transactions are missing"), bodies);
    }

    fn tell_found(&mut self, bodies: &mut Bodies) {
        for breach in self.mirror.take_found() {
            self.tell(&breach, bodies);
        }
    }

    fn tell(&mut self, breach: &Breach, bodies: &mut Bodies) {
        let needs_all = breach.needs_all();
        if needs_all && !self.about.complete {
            self.figures.doubt(true, Some(MISSING));
            return;
        }
        let Some(shown) = small::show(breach, &self.profile, &self.about, bodies) else {
            self.figures.too_late(breach.txn);
            let trouble = match bodies.get(breach.txn.batch()) {
                Some(batch) => name_of(&batch, breach.txn.txn()),
                None => "a transaction that broke a promise".to_owned(),
            };
            self.told.push(Told::Trouble(Trouble::TooLate(trouble)));
            return;
        };
        let ShownBreach { finding, rows, ends } = shown;
        if needs_all {
            if self.suspects.may_explain(breach, &rows, ends.0) {
                self.figures.doubt(true, Some(MISSING));
                return;
            }
            let (name, key) = (finding.txn.clone(), finding.key.clone());
            let (anomaly, txn, rows) = (finding.anomaly, breach.txn, rows.into_boxed_slice());
            self.standing.add(StandingBreach { anomaly, txn, name, key, rows, ended: ends.1 });
        }
        self.figures.count(finding.anomaly, 1);
        self.told.push(Told::Violation(Box::new(finding)));
    }

    /// Withdraws violations that something may explain.
    fn withdraw(&mut self, explained: Vec<StandingBreach>, cause: &Cause, bodies: &mut Bodies) {
        for stands in explained {
            self.figures.count(stands.anomaly, -1);
            self.figures.corrections += 1;
            self.figures.doubt(true, Some(MISSING));
            let finding = small::withdrawn(&stands, &self.about, bodies);
            let verdict = Verdict {
                promise: self.about.promise,
                answer: Answer::Unknown(MISSING.to_owned()),
                counts: Vec::new(),
                notes: Vec::new(),
                procedure: witness::procedure(&self.profile, Tally::default()),
            };
            let StandingBreach { anomaly, name: txn, key, .. } = stands;
            let finding =
                Finding { id: None, anomaly, axiom: None, txn, key, history: finding, verdict };
            let correction = Correction { adds: false, finding, cause: cause.clone() };
            self.told.push(Told::Correction(Box::new(correction)));
        }
    }

    /// How many transactions wait to be decided.
    pub(crate) fn open(&self) -> u64 {
        (self.entering.waiting() + self.mirror.waiting_traces().count()) as u64
    }

    /// Of so many dependencies so many were decided.
    pub(crate) fn decided(&self) -> (u64, u64) {
        let all = self.mirror.tally().all();
        (all.decided, all.of)
    }

    /// All that ended before this time is decided.
    pub(crate) fn reached(&self) -> i64 {
        self.low.reached()
    }

    /// How many rows are kept.
    pub(crate) fn rows(&self) -> usize {
        self.mirror.rows.len()
    }

    /// Counts what the mirror takes: all rows are looked at, so only after as many transactions.
    fn count_bytes(&mut self) {
        let decided = self.mirror.tally().txns;
        let due = self.counted.1 + (self.mirror.rows.len() / 4).max(1 << 8) as u64;
        if decided >= due {
            self.counted = (self.mirror.heap_bytes(), decided);
            self.keep_within_memory();
        }
    }

    /// Gives rows up when the mirror takes too much. From then on less is decided, and so the end is unknown if nothing is
    /// found.
    fn keep_within_memory(&mut self) {
        let gone = if self.counted.0 > self.most { self.mirror.give_up_rows() } else { 0 };
        if gone == 0 {
            return;
        }
        if self.given_up == 0 {
            let why = "what rows held that had not been written for long was given up (--memory)";
            self.figures.doubt(true, Some(why));
        }
        self.given_up += gone as u64;
        self.counted.0 = self.mirror.heap_bytes();
    }

    /// The bytes that it takes, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        let others = self.entering.heap_bytes() + self.low.heap_bytes();
        self.counted.0 + others + self.standing.heap_bytes() + self.suspects.heap_bytes()
    }
}
