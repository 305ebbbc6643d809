//! The stream: batches in, events out.

mod mirrored;
mod repeated;
mod resume;
mod whole;

use isolde_history::{History, Outcome, StreamPromise, Timestamp, Txn, TxnId};
use isolde_spec::{By, Level, Promise};

pub use resume::Resumed;

use crate::arriving::Arriving;
use crate::bodies::{Bodies, TxnRef};
use crate::content::{NameId, name_id};
use crate::disk::Elsewhere;
use crate::error::StreamError;
use crate::event::{StreamEvent, Told, Trouble};
use crate::intervals::IntervalChecker;
use crate::journal::Journal;
use crate::lost::Lost;
use crate::numbers::{LeftOut, Numbers};
use crate::pending_heap::PendingHeap;
use crate::promises::{self, Promises};
use crate::settings::{Restrictions, Settings};
use crate::snapshots::{Shape, Snapshots};
use crate::status::Status;
use crate::timestamps::excerpt::name_of;
use crate::timestamps::{Finality, Kept, Timestamps};
use crate::waiting::Waiting;

/// When so many bytes have come, what is mostly final goes to disk.
const SOON: usize = 8 << 20;

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
    /// By client intervals, which need none of the others.
    intervals: Option<IntervalChecker>,
    bodies: Bodies,
    promises: Promises,
    numbers: Numbers,
    lost: Lost,
    /// When batches came whose time is not over.
    arriving: Arriving,
    /// Batches that are not final, by the last time of their transactions.
    waiting: Waiting,
    /// Wrong reads that are not told yet.
    pending: PendingHeap,
    /// How many bytes keys needed, and how many were held in all, when all that could be let go of was.
    stays: (usize, usize),
    now: i64,
    finished: bool,
    /// What it was told last of timeout, memory and disk.
    restrictions: Restrictions,
    txns: u64,
    ops: u64,
    committed: u64,
    /// By client intervals: whether anything says when it was sent.
    timed: bool,
    /// How many have an unknown outcome.
    unknown: u64,
    late: u64,
    left_out: LeftOut,
    /// How many doubts were told at the end.
    told_doubts: u64,
    /// Why the stream is incomplete.
    missing: Option<String>,
    events: Vec<StreamEvent>,
    next_event: u64,
    /// The mark of the last batch that has one.
    mark: Vec<u8>,
    /// Where it writes down what it is told, if it shall be possible to go on after it was killed.
    journal: Option<Journal>,
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
            By::Intervals => settings.profile.is_some(),
            By::Values => false,
        };
        if !has_rules {
            return Err(StreamError::NoRules(format!(
                "{promise} cannot be judged on a stream: snapshot-isolation and serializable by timestamps can, \
                 snapshot-isolation by snapshots, and what a profile promises by client intervals"
            )));
        }
        let mut bodies = Bodies::new(settings.folder.clone(), settings.keep, settings.memory / 16);
        bodies.needs_start = promise.level == Level::SnapshotIsolation;
        let numbers = Numbers::new(settings.memory);
        Ok(Stream {
            restrictions: settings.restrictions(),
            settings,
            checker: None,
            snapshots: None,
            intervals: None,
            bodies,
            promises: Promises::default(),
            numbers,
            lost: Lost::default(),
            arriving: Arriving::default(),
            waiting: Waiting::default(),
            pending: PendingHeap::default(),
            stays: (0, 0),
            now: i64::MIN,
            finished: false,
            txns: 0,
            ops: 0,
            committed: 0,
            timed: false,
            unknown: 0,
            late: 0,
            left_out: LeftOut::default(),
            told_doubts: 0,
            missing: None,
            events: Vec::new(),
            next_event: 1,
            mark: Vec::new(),
            journal: None,
        })
    }

    /// From now on what need not be waited for is written to the disk elsewhere, such as on a thread of the caller's. What is
    /// told, and when, does not depend on it.
    pub fn write_elsewhere(&mut self, elsewhere: Elsewhere) {
        self.bodies.write_elsewhere(elsewhere);
    }

    /// The promise that the transactions are held to.
    pub fn promise(&self) -> Promise {
        self.settings.promise
    }

    /// Takes a batch that arrived at a time, in milliseconds of any clock that never goes back. What is said of the run as
    /// a whole (initial state, facts) is taken from the first batch. Promises in the batch ([`History::promises`])
    /// speak of what comes after the batch.
    pub fn push(&mut self, batch: History, now: i64) -> Result<(), StreamError> {
        self.push_marked(batch, now, &[])
    }

    /// The same. Where state is kept, the mark is kept with the batch: it says how far the source has been read.
    pub fn push_marked(
        &mut self,
        batch: History,
        now: i64,
        mark: &[u8],
    ) -> Result<(), StreamError> {
        if batch.rows_by_column() && !self.is_by_intervals() {
            let why = "values are rows by column, which only client intervals can judge";
            return Err(StreamError::NoRules(why.to_owned()));
        }
        self.now = self.now.max(now);
        if let Some(journal) = &mut self.journal {
            journal.batch(self.now, mark, &batch)?;
        }
        if !mark.is_empty() {
            mark.clone_into(&mut self.mark);
        }
        if self.is_by_intervals() {
            return self.push_by_intervals(batch);
        }
        // What is final by now is final for what comes now, whether or not a tick has said so before.
        self.settle();
        let begins = self.checker.is_none();
        let checker = self.checker.get_or_insert_with(|| Timestamps::new(&self.settings, &batch));
        if let Some(why) = self.missing.as_ref().filter(|_| begins) {
            checker.about.complete = false;
            // It was known before there was anything to tell it of.
            checker.told.push(Told::Trouble(Trouble::Incomplete(why.clone())));
        }
        if self.snapshots.is_none() && self.settings.promise.by == By::Snapshots {
            let Restrictions { memory, .. } = self.restrictions;
            self.snapshots = Some(Snapshots::new(self.settings.promise, &batch, memory));
        }
        let named = |mut promise: StreamPromise| {
            if let Some(snapshots) = &self.snapshots {
                promise.watermark = promise.watermark.and_then(|mark| snapshots.promised(mark));
            }
            (promise.session.map(|name| name_id(batch.pool(), name)), promise)
        };
        let promises: Vec<(Option<NameId>, StreamPromise)> = batch.promises().map(named).collect();
        let (since, says_lost) = (self.bodies.next(), self.lost.note(&batch));
        let batch = self.without_repeated(batch);
        if batch.txn_count() > 0 {
            self.take(batch);
        }
        self.lost_commits(if says_lost { 0 } else { since });
        self.promised(&promises);
        self.settle();
        self.pass_on();
        self.keep_within_memory()
    }

    /// Says that something is missing in the stream: a line that could not be read, for this reason.
    pub fn incomplete(&mut self, why: &str, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        if let Some(journal) = &mut self.journal {
            journal.incomplete(self.now, why)?;
        }
        self.is_incomplete(why);
        self.pass_on();
        Ok(())
    }

    /// Time has passed.
    pub fn tick(&mut self, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        let before = self.final_until();
        self.settle();
        let told = self.has_told();
        // By snapshots, what got its place by then would have got another one later.
        let placed = self.snapshots.is_some() && before != self.final_until();
        if let Some(journal) = self.journal.as_mut().filter(|_| told || placed) {
            // What was told at this time is told at the same time again, and has the same number.
            journal.tick(self.now)?;
        }
        self.pass_on();
        self.bodies.take_error()
    }

    /// Nothing more will come: every verdict is final.
    pub fn finish(&mut self, now: i64) -> Result<(), StreamError> {
        self.now = self.now.max(now);
        self.finished = true;
        self.settle();
        self.ask_the_whole();
        self.tell_doubts();
        let told = self.has_told();
        if let Some(journal) = self.journal.as_mut().filter(|_| told) {
            journal.finish(self.now)?;
        }
        self.pass_on();
        self.bodies.wait();
        self.bodies.take_error()
    }

    /// What has been found since the last time.
    pub fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        let open = self.snapshots.as_ref().map_or(self.waiting.txns, Snapshots::waiting);
        let open = if self.finished { 0 } else { open };
        let mut status = Status {
            txns: self.txns,
            committed: self.committed,
            ops: self.ops,
            open,
            late: self.late,
            repeated: self.left_out.repeated,
            left_out: self.left_out.taken + self.left_out.old,
            promised: self.promises.are_made(),
            complete: self.missing.is_none(),
            disk: self.bodies.on_disk(),
            reloads: self.bodies.reloads,
            memory: self.held(),
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
            status.flipped_txns = figures.flipped_txns;
            status.rectified = figures.rectified.clone();
            status.longest_change = figures.longest_change;
            status.keys = checker.held().0;
        }
        self.add_intervals_to(&mut status);
        status
    }

    /// How far verdicts are final: of all that lies before the timestamp, by promises, and of so many batches, counting
    /// those with transactions, by time. By client intervals a timestamp is a time of the clients' clock.
    pub fn final_until(&self) -> (Option<Timestamp>, u32) {
        if let Some(checker) = &self.intervals {
            return (Some(Timestamp::plain(checker.reached())), 0);
        }
        self.checker.as_ref().map_or((None, 0), |c| (c.finality.low, c.finality.batch))
    }

    /// Where a transaction lies, to be held against [`final_until`](Stream::final_until).
    pub fn place_of(&self, txn: &Txn<'_>) -> Option<Timestamp> {
        match self.settings.promise.by {
            By::Snapshots => Snapshots::place(txn),
            By::Intervals => txn.interval().end.map(Timestamp::plain),
            _ => txn.start_ts().max(txn.commit_ts()),
        }
    }

    /// Whether a transaction of a batch, counting those with transactions, still waits for the place of its commit, though
    /// all that lies before it is final. By timestamps none does.
    pub fn waits(&self, batch: u32, txn: TxnId) -> bool {
        let txn = TxnRef::new(batch, txn);
        self.snapshots.as_ref().is_some_and(|snapshots| snapshots.waits(txn))
    }

    /// Why the first of the reads that stay unknown does, for a person.
    pub fn first_doubt(&self) -> Option<&str> {
        let by_intervals = self.intervals.as_ref().map(|checker| &checker.figures);
        let figures = self.checker.as_ref().map(|checker| &checker.figures).or(by_intervals)?;
        figures.first_doubt.as_deref()
    }

    /// What the stream was said to begin with, once it has begun: a history without transactions.
    pub fn header(&self) -> Option<&History> {
        let by_intervals = self.intervals.as_ref().map(|checker| &checker.about);
        let about = self.checker.as_ref().map(|checker| &checker.about).or(by_intervals)?;
        Some(&about.header)
    }

    fn is_incomplete(&mut self, why: &str) {
        if self.missing.is_some() {
            return;
        }
        self.missing = Some(why.to_owned());
        if let Some(checker) = &mut self.intervals {
            checker.incomplete(why, &mut self.bodies);
        }
        if let Some(checker) = &mut self.checker {
            checker.incomplete(why, &mut self.bodies);
            checker.told.push(Told::Trouble(Trouble::Incomplete(why.to_owned())));
        }
    }

    /// Tells at the end how much stays unknown, and why; once, also if the end is reached again after a restart.
    fn tell_doubts(&mut self) {
        let by_intervals = self.intervals.as_ref().map(|checker| &checker.figures);
        let figures = self.checker.as_ref().map(|checker| &checker.figures).or(by_intervals);
        let Some(figures) = figures else { return };
        let doubts = figures.doubts;
        if std::mem::replace(&mut self.told_doubts, doubts) == doubts {
            return;
        }
        let why = figures.first_doubt.as_deref().unwrap_or("their evidence is missing");
        let text = match doubts {
            1 => format!("1 read or conflict stays unknown: {why}"),
            _ => format!("{doubts} reads and conflicts stay unknown: {why}"),
        };
        self.tell(Told::Trouble(Trouble::Open(text)));
    }

    fn tell(&mut self, what: Told) {
        let by_intervals = self.intervals.as_mut().map(|checker| &mut checker.told);
        if let Some(told) = self.checker.as_mut().map(|checker| &mut checker.told).or(by_intervals)
        {
            told.push(what);
        }
    }

    fn has_told(&self) -> bool {
        let by_intervals = self.intervals.as_ref().map(|checker| &checker.told);
        let told = self.checker.as_ref().map(|checker| &checker.told).or(by_intervals);
        told.is_some_and(|told| !told.is_empty())
    }

    fn count(&mut self, batch: &History) {
        self.txns += batch.txn_count() as u64;
        self.ops += batch.op_count() as u64;
        let of = |outcome| batch.txns().filter(|txn| txn.outcome() == outcome).count() as u64;
        self.committed += of(Outcome::Committed);
        self.unknown += of(Outcome::Unknown);
    }

    fn take(&mut self, batch: History) {
        self.count(&batch);
        let sessions = batch.pool().session_names().iter();
        sessions.for_each(|name| self.promises.see(name_id(batch.pool(), *name)));
        let times = batch.txns().filter_map(|txn| txn.start_ts().max(txn.commit_ts()));
        let last = times.max().unwrap_or(Timestamp::plain(i64::MIN));
        let (number, batch) = self.bodies.add(batch, self.now, last);
        let by_snapshots = self.snapshots.is_some();
        if by_snapshots {
            self.bodies.wait_for_places();
        } else {
            self.arriving.add(self.now);
            self.waiting.add(last, number, batch.txn_count() as u32);
        }
        let Some(checker) = &mut self.checker else { return };
        let low = checker.finality.low;
        if low.is_some() && batch.txns().any(|txn| txn.commit_ts().or(txn.start_ts()) < low) {
            // Reads that it changes are told as what they were without it, however much memory there is.
            checker.judge_all(&mut self.bodies);
        }
        let names = batch.pool().session_names().iter();
        let marks = names.map(|name| self.promises.promised(name_id(batch.pool(), *name)));
        let marks: Vec<Option<Timestamp>> = marks.collect();
        let shapes = if by_snapshots { Snapshots::shapes(&batch) } else { Vec::new() };
        for txn in batch.txns() {
            let at = match by_snapshots {
                true => shapes[txn.id().index()].as_ref().map(Shape::start),
                false => txn.commit_ts().or(txn.start_ts()),
            };
            if promises::is_broken(marks[txn.session().index()], at) {
                self.late += 1;
                let txn = name_of(&batch, txn.id());
                checker.told.push(Told::Late { txn, decided: false });
            }
        }
        match &mut self.snapshots {
            Some(snapshots) => snapshots.arrive(&batch, shapes, number, self.now),
            None => checker.take(&batch, Kept::Batch(number), self.now, &mut self.bodies),
        }
    }

    /// Notes what the source promises.
    fn promised(&mut self, promises: &[(Option<NameId>, StreamPromise)]) {
        for (session, promise) in promises {
            self.promises.add(*session, promise);
            if let Some(session) = session.filter(|_| promise.end) {
                // What binds it stays: it is asked for again if more comes of it, as offline.
                self.numbers.end(session);
            }
        }
    }

    /// Tells which commits were lost, of transactions in batches from a number on.
    fn lost_commits(&mut self, since: u32) {
        let Some(checker) = &mut self.checker else { return };
        let about = (self.settings.promise, &checker.about.header);
        for finding in self.lost.find(since, about, &mut self.bodies) {
            checker.figures.count(finding.anomaly, 1);
            checker.told.push(Told::Violation(Box::new(finding)));
        }
        // What it was may not be kept any more.
        if since == 0 && self.bodies.forgotten().is_some() && self.lost.not_found() > 0 {
            checker.figures.too_late += 1;
            checker.told.push(Told::Trouble(Trouble::TooLate("word of a lost commit".to_owned())));
        }
    }

    /// Tells what has become final.
    fn settle(&mut self) {
        if self.is_by_intervals() {
            return self.settle_by_intervals();
        }
        let promised = self.promises.low();
        let low = self.give_places(promised);
        let Some(checker) = &mut self.checker else { return };
        self.pending.promised(self.promises.are_made() || self.snapshots.is_some());
        let mut batch = checker.finality.batch;
        // By snapshots, what has its place has waited long enough.
        if !self.promises.are_made() && self.snapshots.is_none() {
            let over = self.now.saturating_sub(self.settings.timeout);
            batch = batch.max(self.arriving.over(over));
        }
        // What waits for transactions that are not judged any more is never told.
        let halted = self.snapshots.as_ref().is_some_and(Snapshots::is_halted);
        if self.finished && !halted {
            batch = self.bodies.next();
            self.arriving.settle(batch);
        }
        checker.judge_final(low, batch, &mut self.bodies);
        checker.finality = Finality { low, batch };
        let all = self.finished && !halted;
        loop {
            checker.pending.drain(..).for_each(|pending| self.pending.push(pending, low));
            while let Some(pending) = self.pending.pop_final(low, batch, all) {
                checker.settle(pending, &mut self.bodies);
            }
            // What was read again from disk for one of them may have brought others.
            if checker.pending.is_empty() {
                break;
            }
        }
        self.pending.clear_settled(|pending| checker.is_open(pending));
        self.waiting.settle(batch, low);
        if self.snapshots.is_none() {
            self.arriving.settle(self.waiting.first().unwrap_or(self.bodies.next()));
        }
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
        snapshots.feed(checker, &mut self.bodies, self.now);
        snapshots.low()
    }

    /// Lets go of what keys hold, and of batches, while more bytes are held than may be.
    fn keep_within_memory(&mut self) -> Result<(), StreamError> {
        let memory = self.settings.memory;
        for _ in 0..4 {
            let held = self.held();
            let Some(checker) = self.checker.as_mut().filter(|_| self.bodies.has_disk()) else {
                break;
            };
            let (txns, bytes) = self.bodies.since(checker.trimmed());
            // What is final is hardly ever asked for again, and a few megabytes stay in the processor's caches. So what is
            // mostly final goes before it must, but not before as much has come as half of what all keys hold.
            let waiting = self.snapshots.as_ref().map_or(self.waiting.txns, Snapshots::waiting);
            let soon = waiting < txns / 4 && bytes > SOON.min(memory / 4).max(self.stays.0 / 2);
            if !soon && held <= (memory / 8 * 5).max(self.stays.1 + memory / 16) {
                break;
            }
            if !soon {
                // Reads that wait keep versions in memory.
                checker.judge_all(&mut self.bodies);
            }
            let end = self.bodies.write_half(checker.trimmed(), soon)?;
            checker.trim(end, memory / 2, &mut self.bodies);
            self.stays.0 = checker.needed_bytes();
            self.bodies.let_go(memory / 4);
            if self.held() > memory / 8 * 5 {
                self.bodies.let_go(memory / 16);
            }
            // What could not be let go of now cannot be the next time.
            self.stays.1 = self.held();
        }
        self.bodies.take_error()
    }

    /// The bytes that are held in memory, counted.
    fn held(&self) -> usize {
        let snapshots = self.snapshots.as_ref().map_or(0, Snapshots::heap_bytes);
        let snapshots = snapshots + self.intervals.as_ref().map_or(0, IntervalChecker::heap_bytes);
        let others = self.promises.heap_bytes() + self.numbers.heap_bytes() + snapshots;
        let keys = self.checker.as_ref().map_or(0, |checker| checker.held().1);
        let waiting = self.pending.heap_bytes() + self.waiting.heap_bytes();
        self.bodies.bytes() + others + keys + waiting + self.arriving.heap_bytes()
    }

    /// Numbers what was told.
    fn pass_on(&mut self) {
        let by_intervals = self.intervals.as_mut().map(|checker| &mut checker.told);
        let told = self.checker.as_mut().map(|checker| &mut checker.told).or(by_intervals);
        for what in told.into_iter().flat_map(|told| told.drain(..)) {
            self.events.push(StreamEvent { number: self.next_event, at: self.now, what });
            self.next_event += 1;
        }
    }
}
