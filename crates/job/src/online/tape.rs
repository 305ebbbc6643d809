//! A tape of which a stream gets a copy, batch by batch, in the order of the tape.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use isolde_history::{
    Copies, Event, History, HistoryBuilder, Key, Meta, Outcome, Pool, SessionEvent, Sink,
    SinkError, StreamPromise, TxnDraft, Value, Warning,
};
use isolde_run::Tape;
use isolde_spec::By;

use super::processor::thread_time;

/// The most transactions of a batch.
const MOST: usize = 500;
/// How long a transaction waits for others.
const LINGER: Duration = Duration::from_millis(20);
/// After so many commits without a timestamp it is clear that the database tells none.
const ENOUGH: u64 = 100;

/// What the stream's thread is fed.
pub(super) enum Fed {
    /// Transactions and promises; of each transaction, when it came.
    Batch(Box<History>, Vec<Instant>),
    /// Something is missing in the record, for this reason.
    Incomplete(&'static str),
}

/// What became of a tape that was handed back.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HandedOver {
    /// Whether something was committed, and nothing had a timestamp.
    pub(crate) lacks_timestamps: bool,
    /// How long the recorder waited for the stream.
    pub(crate) held_back: Duration,
    /// The processor time of the recorder, if that is known.
    pub(crate) recording: Option<Duration>,
}

/// A tape that is followed.
pub(crate) struct FedTape<'t> {
    tape: &'t mut dyn Tape,
    /// How many sessions there are at the beginning.
    sessions: u32,
    feed: Feed,
}

/// Where the copies go.
pub(super) struct Feed {
    /// Gone when the stream is.
    sender: Option<SyncSender<Fed>>,
    halt: Arc<AtomicBool>,
    batch: HistoryBuilder,
    copies: Copies,
    count: usize,
    came: Vec<Instant>,
    /// When the first of the batch came.
    since: Option<Instant>,
    /// What the stream judges by.
    by: By,
    /// Whether the batch ends with a promise, which speaks of what follows the batch.
    promised: bool,
    /// Whether a batch was sent: the first one says what is known of the run.
    begun: bool,
    /// Whether a transaction had a timestamp, or none needs one.
    stamped: bool,
    unstamped: u64,
    held_back: Duration,
    /// The recorder's thread.
    recorder: Option<ThreadId>,
    /// Its processor time.
    recording: Option<Duration>,
}

impl<'t> FedTape<'t> {
    pub(super) fn new(tape: &'t mut dyn Tape, feed: Feed, sessions: u32) -> FedTape<'t> {
        FedTape { tape, sessions, feed }
    }

    /// The run is over: sends what is left, and ends the stream.
    pub(crate) fn hand_back(mut self) -> HandedOver {
        self.flush();
        if !self.tape.meta().complete {
            self.feed.send(Fed::Incomplete(
                "what sessions that were left behind did is not in the record",
            ));
        }
        let Feed { stamped, unstamped, held_back, recording, .. } = self.feed;
        HandedOver { lacks_timestamps: !stamped && unstamped > 0, held_back, recording }
    }

    /// Sends the batch, if there is one.
    fn flush(&mut self) {
        let feed = &mut self.feed;
        if feed.since.take().is_none() {
            return;
        }
        if !std::mem::replace(&mut feed.begun, true) {
            let meta = self.tape.meta().clone();
            feed.copies.meta(&meta, self.tape.pool(), &mut feed.batch);
            feed.announce(self.sessions);
        }
        feed.flush();
    }

    fn flush_if_due(&mut self) {
        let due = |since: Instant| since.elapsed() >= LINGER;
        if self.feed.count >= MOST || self.feed.since.is_some_and(due) {
            self.flush();
        }
    }
}

impl Feed {
    pub(super) fn new(sender: Option<SyncSender<Fed>>, halt: Arc<AtomicBool>, by: By) -> Feed {
        Feed {
            sender,
            halt,
            batch: HistoryBuilder::new(),
            copies: Copies::default(),
            count: 0,
            came: Vec::new(),
            since: None,
            by,
            promised: false,
            begun: false,
            stamped: by != By::Timestamps,
            unstamped: 0,
            held_back: Duration::ZERO,
            recorder: None,
            recording: None,
        }
    }

    fn transaction(&mut self, txn: &TxnDraft, pool: &Pool) -> Result<(), SinkError> {
        let now = Instant::now();
        self.since.get_or_insert(now);
        self.recorder.get_or_insert_with(|| thread::current().id());
        self.count += 1;
        self.came.push(now);
        if txn.outcome == Outcome::Committed {
            match txn.start.max(txn.commit) {
                Some(_) => self.stamped = true,
                None => self.unstamped += 1,
            }
        }
        if !self.stamped && self.unstamped >= ENOUGH {
            self.halt.store(true, Ordering::SeqCst);
        }
        self.copies.transaction(txn, pool, &mut self.batch)
    }

    /// By client intervals: all sessions are there before the clock of the run starts, by the names that the recorder gives
    /// them. So the stream need not wait for others that might begin.
    fn announce(&mut self, sessions: u32) {
        if self.by != By::Intervals {
            return;
        }
        for session in 0..sessions {
            let heartbeat = SessionEvent::Heartbeat { session: Value::from_u32(session), at: 0 };
            let event = heartbeat.to_event(self.batch.pool());
            // A builder takes every event.
            let _ = self.batch.event(event);
        }
    }

    /// Whether an event says what is still to come: what the source promises, and by client intervals how far sessions have
    /// come.
    fn is_of_use(&self, event: &Event, pool: &Pool) -> bool {
        let speaks = || SessionEvent::of(pool, event).is_some();
        StreamPromise::of(pool, event).is_some() || self.by == By::Intervals && speaks()
    }

    fn promise(&mut self, event: &Event, pool: &Pool) -> Result<(), SinkError> {
        self.since.get_or_insert_with(Instant::now);
        self.promised = true;
        self.copies.event(event, pool, &mut self.batch)
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch).finish();
        // Identifiers of the next batch are those of another pool.
        self.copies = Copies::default();
        (self.count, self.promised) = (0, false);
        let came = std::mem::take(&mut self.came);
        self.send(Fed::Batch(Box::new(batch), came));
    }

    /// Hands it to the stream, and waits if that is far behind. A stream that is gone has said why.
    fn send(&mut self, fed: Fed) {
        let Some(sender) = &self.sender else { return };
        let sent = match sender.try_send(fed) {
            Err(TrySendError::Full(fed)) => {
                let began = Instant::now();
                let sent = sender.send(fed).is_ok();
                self.held_back += began.elapsed();
                sent
            }
            sent => sent.is_ok(),
        };
        if !sent {
            self.sender = None;
        }
    }
}

impl Sink for FedTape<'_> {
    fn pool(&mut self) -> &mut Pool {
        self.tape.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.tape.meta()
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.tape.transaction(txn)?;
        if self.feed.promised {
            self.flush();
        }
        self.feed.transaction(txn, self.tape.pool())?;
        self.flush_if_due();
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.tape.event(event.clone())?;
        let pool = self.tape.pool();
        if self.feed.is_of_use(&event, pool) {
            self.feed.promise(&event, pool)?;
        }
        self.flush_if_due();
        Ok(())
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.tape.version_order(key, versions)
    }

    fn warn(&mut self, warning: Warning) {
        self.tape.warn(warning);
    }
}

impl Tape for FedTape<'_> {
    fn save(&mut self) -> Result<(), SinkError> {
        self.tape.save()?;
        self.flush_if_due();
        // When all sessions are gone, others write on the tape, too.
        if self.feed.recorder == Some(thread::current().id()) {
            self.feed.recording = thread_time();
        }
        Ok(())
    }

    fn rest(&mut self) {
        self.tape.rest();
        self.flush_if_due();
    }
}
