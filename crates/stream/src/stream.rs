//! The stream: batches in, events out.

use std::collections::BTreeSet;

use isolde_history::{History, HistoryBuilder, StreamPromise, Timestamp, TxnId};
use isolde_spec::{By, Level};

use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, name_id};
use crate::error::StreamError;
use crate::event::{StreamEvent, Told, Trouble};
use crate::numbers::{Numbered, Numbers};
use crate::promises::Promises;
use crate::settings::Settings;
use crate::snapshots::Snapshots;
use crate::spill::Spill;
use crate::status::Status;
use crate::timestamps::excerpt::name_of;
use crate::timestamps::{Kept, Pending, Timestamps};

/// An endless stream of transactions, held to a promise.
///
/// ```
/// use isolde_history::notation::parse;
/// use isolde_spec::{Level, Promise};
/// use isolde_stream::{Settings, Stream};
/// let promise = Promise::by_timestamps(Level::SnapshotIsolation);
/// let mut stream = Stream::new(Settings::new(promise)).unwrap();
/// stream.push(parse("a: w(x,1) ts(1,2)\nb: r(x,1) ts(5,6)").unwrap(), 0).unwrap();
/// // It comes later than the reader that should have seen it.
/// stream.push(parse("c: w(x,2) ts(3,4)").unwrap(), 10).unwrap();
/// stream.finish(20).unwrap();
/// assert_eq!(stream.status().by_anomaly, [("StaleRead", 1)]);
/// ```
pub struct Stream {
    settings: Settings,
    checker: Option<Timestamps>,
    /// By snapshots: those that wait for their places.
    snapshots: Option<Snapshots>,
    bodies: Bodies,
    promises: Promises,
    numbers: Numbers,
    /// When each batch came.
    arrived: Vec<i64>,
    /// How many transactions each batch had, and the last time of them: those that are not final.
    waiting: BTreeSet<(Timestamp, u32, u32)>,
    /// Wrong reads that are not told yet, by when they are, and by when they came.
    by_time: BTreeSet<Pending>,
    by_arrival: BTreeSet<(TxnRef, Pending)>,
    /// The bytes that keys took when they were last counted.
    key_bytes: usize,
    now: i64,
    finished: bool,
    txns: u64,
    ops: u64,
    late: u64,
    repeated: u64,
    /// Why the stream is incomplete.
    missing: Option<String>,
    events: Vec<StreamEvent>,
    next_event: u64,
}

impl Stream {
    /// A stream that nothing has come from yet.
    pub fn new(settings: Settings) -> Result<Stream, StreamError> {
        let promise = settings.promise;
        let has_rules = match promise.by {
            By::Timestamps => {
                matches!(promise.level, Level::SnapshotIsolation | Level::Serializable)
            }
            By::Snapshots => promise.level == Level::SnapshotIsolation,
            _ => false,
        };
        if !has_rules {
            return Err(StreamError::NoRules(format!(
                "{promise} cannot be judged on a stream: snapshot-isolation and serializable by timestamps can, \
                 and snapshot-isolation by snapshots"
            )));
        }
        let keep = settings.keep;
        let spill = settings.folder.clone().map(|folder| Spill::new(folder, keep));
        Ok(Stream {
            settings,
            checker: None,
            snapshots: None,
            bodies: Bodies::new(spill),
            promises: Promises::default(),
            numbers: Numbers::default(),
            arrived: Vec::new(),
            waiting: BTreeSet::new(),
            by_time: BTreeSet::new(),
            by_arrival: BTreeSet::new(),
            key_bytes: 0,
            now: i64::MIN,
            finished: false,
            txns: 0,
            ops: 0,
            late: 0,
            repeated: 0,
            missing: None,
            events: Vec::new(),
            next_event: 1,
        })
    }

    /// Takes a batch that arrived at a time, in milliseconds of any clock that never goes back. What is said of the run as
    /// a whole (initial state, facts) is taken from the first batch. Promises in the batch ([`History::promises`])
    /// speak of what comes after the batch.
    pub fn push(&mut self, batch: History, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        let checker = self.checker.get_or_insert_with(|| Timestamps::new(&self.settings, &batch));
        if self.missing.is_some() {
            checker.about.complete = false;
        }
        if self.snapshots.is_none() && self.settings.promise.by == By::Snapshots {
            self.snapshots = Some(Snapshots::new(self.settings.promise, &batch));
        }
        let named = |mut promise: StreamPromise| {
            if let Some(snapshots) = &self.snapshots {
                promise.watermark = promise.watermark.and_then(|mark| snapshots.promised(mark));
            }
            (promise.session.map(|name| name_id(batch.pool(), name)), promise)
        };
        let promises: Vec<(Option<NameId>, StreamPromise)> = batch.promises().map(named).collect();
        let batch = self.without_repeated(batch);
        if batch.txn_count() > 0 {
            self.take(batch);
        }
        self.promised(&promises);
        self.settle();
        self.pass_on();
        self.keep_within_memory()
    }

    /// Says that something is missing in the stream: a line that could not be read, for this reason.
    pub fn incomplete(&mut self, why: &str, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        self.is_incomplete(why);
        self.pass_on();
        Ok(())
    }

    /// Time has passed.
    pub fn tick(&mut self, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        self.settle();
        self.pass_on();
        self.bodies.take_error()
    }

    /// Nothing more will come: every verdict is final.
    pub fn finish(&mut self, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        self.finished = true;
        self.settle();
        self.pass_on();
        self.bodies.take_error()
    }

    /// What has been found since the last time.
    pub fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        let open = if self.finished { 0 } else { self.open() };
        let mut status = Status {
            txns: self.txns,
            ops: self.ops,
            open,
            late: self.late,
            repeated: self.repeated,
            promised: self.promises.are_made(),
            complete: self.missing.is_none(),
            disk: self.bodies.on_disk(),
            reloads: self.bodies.reloads,
            memory: self.bodies.bytes() + self.beside(),
            ..Status::default()
        };
        if let Some(checker) = &self.checker {
            let figures = &checker.figures;
            status.by_anomaly = figures.standing();
            status.violations = status.by_anomaly.iter().map(|(_, count)| count).sum();
            status.corrections = figures.corrections;
            status.too_late = figures.too_late;
            status.doubts = figures.doubts;
            status.unstamped = figures.unstamped;
            (status.flips, status.flipped) = (figures.flips, figures.flipped);
            status.rectified = figures.rectified.clone();
            status.longest_change = figures.longest_change;
            let (keys, bytes) = checker.held();
            status.keys = keys;
            status.memory += bytes;
        }
        status
    }

    /// Why the first of the reads that stay unknown does, for a person.
    pub fn first_doubt(&self) -> Option<&str> {
        self.checker.as_ref()?.figures.first_doubt.as_deref()
    }

    fn open(&self) -> u64 {
        if let Some(snapshots) = &self.snapshots {
            return snapshots.waiting();
        }
        self.waiting.iter().map(|(_, _, count)| u64::from(*count)).sum()
    }

    /// The bytes that are held beside transactions and keys.
    fn beside(&self) -> usize {
        let snapshots = self.snapshots.as_ref().map_or(0, Snapshots::heap_bytes);
        self.promises.heap_bytes() + self.numbers.heap_bytes() + snapshots
    }

    fn is_incomplete(&mut self, why: &str) {
        if self.missing.is_some() {
            return;
        }
        self.missing = Some(why.to_owned());
        if let Some(checker) = &mut self.checker {
            checker.incomplete(why, &mut self.bodies);
            checker.told.push(Told::Trouble(Trouble::Incomplete(why.to_owned())));
        }
    }

    /// The batch without transactions that have come before.
    fn without_repeated(&mut self, batch: History) -> History {
        let number = self.bodies.next();
        let mut left_out = Vec::new();
        for (txn, seq) in batch.seqs() {
            let pool = batch.pool();
            let session = name_id(pool, pool.session_name(batch.txn(txn).session()));
            let txn_ref = TxnRef::new(number, TxnId(txn.0 - left_out.len() as u32));
            match self.numbers.note(session, seq, (txn_ref, txn), &batch, &mut self.bodies) {
                Numbered::Next => {}
                Numbered::Gap => {
                    let name = name_of(&batch, txn);
                    self.is_incomplete(&format!(
                        "what came before {name} in its session is missing"
                    ));
                }
                Numbered::Again => {
                    self.repeated += 1;
                    left_out.push(txn);
                }
                Numbered::Taken => {
                    left_out.push(txn);
                    let trouble = Trouble::SameNumber(name_of(&batch, txn));
                    if let Some(checker) = &mut self.checker {
                        checker.told.push(Told::Trouble(trouble));
                    }
                    self.is_incomplete("two transactions have one number");
                }
            }
        }
        if left_out.is_empty() { batch } else { without(&batch, &left_out) }
    }

    fn take(&mut self, batch: History) {
        self.txns += batch.txn_count() as u64;
        self.ops += batch.op_count() as u64;
        let sessions = batch.pool().session_names().iter();
        sessions.for_each(|name| self.promises.see(name_id(batch.pool(), *name)));
        let times = batch.txns().filter_map(|txn| txn.start_ts().max(txn.commit_ts()));
        let by_snapshots = self.snapshots.is_some();
        let last = times.max().unwrap_or(Timestamp::plain(i64::MIN));
        let (number, batch) = self.bodies.add(batch);
        self.arrived.push(self.now);
        if !by_snapshots {
            self.waiting.insert((last, number, batch.txn_count() as u32));
        }
        let Some(checker) = &mut self.checker else { return };
        for txn in batch.txns() {
            let pool = batch.pool();
            let session = name_id(pool, pool.session_name(txn.session()));
            let at = match by_snapshots {
                true => Snapshots::place(&txn),
                false => txn.commit_ts().or(txn.start_ts()),
            };
            if let Some(at) = at
                && self.promises.are_broken(session, at)
            {
                self.late += 1;
                checker.told.push(Told::Late { txn: name_of(&batch, txn.id()) });
            }
        }
        match &mut self.snapshots {
            Some(snapshots) => snapshots.arrive(&batch, number, self.now),
            None => {
                let times = (self.now, &self.arrived[..]);
                checker.take(&batch, Kept::Batch(number), times, &mut self.bodies);
            }
        }
    }

    /// Notes what the source promises.
    fn promised(&mut self, promises: &[(Option<NameId>, StreamPromise)]) {
        for (session, promise) in promises {
            self.promises.add(*session, promise);
            if let Some(session) = session.filter(|_| promise.end) {
                self.numbers.end(session);
                if let Some(checker) = &mut self.checker {
                    checker.end_session(session);
                }
                if let Some(snapshots) = &mut self.snapshots {
                    snapshots.end_session(session);
                }
            }
        }
    }

    /// Tells what has become final.
    fn settle(&mut self) {
        let promised = self.promises.low();
        let low = self.give_places(promised);
        let Some(checker) = &mut self.checker else { return };
        for pending in checker.pending.drain(..) {
            self.by_time.insert(pending);
            self.by_arrival.insert((pending.txn, pending));
        }
        checker.finality.low = low;
        // By snapshots, what has its place has waited long enough.
        if !self.promises.are_made() && self.snapshots.is_none() {
            let over = self.now.saturating_sub(self.settings.timeout);
            let from = checker.finality.batch as usize;
            let more = self.arrived[from..].partition_point(|at| *at <= over);
            checker.finality.batch += more as u32;
        }
        // What waits for transactions that are not judged any more is never told.
        let halted = self.snapshots.as_ref().is_some_and(Snapshots::is_halted);
        if self.finished && !halted {
            checker.finality.batch = self.arrived.len() as u32;
        }
        let batch = checker.finality.batch;
        while let Some((_, pending)) = self.by_arrival.first().copied()
            && pending.txn.batch() < batch
        {
            self.by_arrival.pop_first();
            self.by_time.remove(&pending);
            checker.settle(pending, &mut self.bodies);
        }
        while let Some(pending) = self.by_time.first().copied()
            && low.is_some_and(|low| pending.until < low)
        {
            self.by_time.pop_first();
            self.by_arrival.remove(&(pending.txn, pending));
            checker.settle(pending, &mut self.bodies);
        }
        self.waiting
            .retain(|(last, number, _)| *number >= batch && low.is_none_or(|low| *last >= low));
    }

    /// By snapshots: gives places to all that waits and can have them, and says up to where that is so.
    fn give_places(&mut self, promised: Option<Timestamp>) -> Option<Timestamp> {
        let (Some(snapshots), Some(checker)) = (&mut self.snapshots, &mut self.checker) else {
            return promised;
        };
        match self.finished {
            true => snapshots.finish(),
            false => {
                let over = self.now.saturating_sub(self.settings.timeout);
                snapshots.advance(promised, (!self.promises.are_made()).then_some(over));
            }
        }
        snapshots.feed(checker, &mut self.bodies, (self.now, &self.arrived));
        snapshots.low()
    }

    /// Puts transactions on disk while more bytes are held than may be. What is known of keys stays in memory.
    fn keep_within_memory(&mut self) -> Result<(), StreamError> {
        // What keys hold is counted now and then: it takes a walk over all of them.
        if self.arrived.len().is_multiple_of(64) || self.key_bytes == 0 {
            self.key_bytes = self.checker.as_ref().map_or(0, |checker| checker.held().1);
        }
        let others = self.key_bytes + self.beside();
        self.bodies
            .shrink(self.settings.memory.saturating_sub(others).max(self.settings.memory / 8))?;
        self.bodies.take_error()
    }

    /// Numbers what was told.
    fn pass_on(&mut self) {
        let Some(checker) = &mut self.checker else { return };
        for what in checker.told.drain(..) {
            self.events.push(StreamEvent { number: self.next_event, at: self.now, what });
            self.next_event += 1;
        }
    }
}

/// A batch without some of its transactions.
fn without(batch: &History, left_out: &[TxnId]) -> History {
    let mut rest = HistoryBuilder::new();
    batch.copy_meta(&batch.meta().initial.given, &mut rest);
    for txn in batch.txns().filter(|txn| !left_out.contains(&txn.id())) {
        // What a history holds a copy of it can hold, too.
        let _ = batch.copy_txn(txn.id(), &mut |_| true, &mut rest);
    }
    rest.finish()
}
