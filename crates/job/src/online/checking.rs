//! The thread of the stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use isolde_history::{History, Outcome, Timestamp, TxnId};
use isolde_stream::{Status, Stream, StreamError, StreamEvent};

use super::delays::Delays;
use super::processor::thread_time;
use super::tape::Fed;

/// How often the stream is told that time passes.
const TICK: Duration = Duration::from_millis(50);

/// What a stream has come to.
pub(crate) struct Checked {
    /// Its figures; every verdict is final.
    pub(crate) status: Status,
    /// How long verdicts took to be final.
    pub(crate) delays: Delays,
    /// The processor time of the thread, if that is known.
    pub(crate) time: Option<Duration>,
    /// Why it could not go on, if it could not.
    pub(crate) failed: Option<String>,
    /// Why the first of the reads that stay unknown does.
    pub(crate) first_doubt: Option<String>,
}

/// A transaction without a final verdict: its batch, its number there, and when it came.
type Open = (u32, TxnId, Instant);

/// A stream that is being fed.
pub(super) struct Checking {
    stream: Stream,
    found: Sender<StreamEvent>,
    /// Set by the first violation.
    stop: Option<Arc<AtomicBool>>,
    began: Instant,
    /// How many batches with transactions have come.
    batches: u32,
    /// How many of them were final by time when that was last looked at.
    timed_out: u32,
    /// Transactions without a final verdict, by where they lie.
    open: BinaryHeap<Reverse<(Timestamp, Open)>>,
    /// Those that nothing comes before any more, but whose own place is not known.
    held: Vec<Open>,
    delays: Delays,
}

impl Checking {
    pub(super) fn new(
        stream: Stream,
        found: Sender<StreamEvent>,
        stop: Option<Arc<AtomicBool>>,
    ) -> Checking {
        let (began, open, delays) = (Instant::now(), BinaryHeap::new(), Delays::default());
        let held = Vec::new();
        Checking { stream, found, stop, began, batches: 0, timed_out: 0, open, held, delays }
    }

    /// Checks until the run is over.
    pub(super) fn run(mut self, fed: &Receiver<Fed>) -> Checked {
        let failed = self.check_all(fed).err();
        Checked {
            status: self.stream.status(),
            delays: self.delays,
            time: thread_time(),
            failed: failed.map(|error| error.to_string()),
            first_doubt: self.stream.first_doubt().map(str::to_owned),
        }
    }

    fn check_all(&mut self, fed: &Receiver<Fed>) -> Result<(), StreamError> {
        let mut ticked = Instant::now();
        loop {
            match fed.recv_timeout(TICK) {
                Ok(Fed::Batch(batch, came)) => self.push(*batch, &came)?,
                Ok(Fed::Incomplete(why)) => self.stream.incomplete(why, self.now())?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.stream.tick(self.now())?;
            }
            self.tell();
            self.settle();
        }
        self.stream.finish(self.now())?;
        self.tell();
        let now = Instant::now();
        let open = self.open.drain().map(|Reverse((_, open))| open).chain(self.held.drain(..));
        open.for_each(|(_, _, came)| self.delays.add(now - came));
        Ok(())
    }

    fn now(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    fn push(&mut self, batch: History, came: &[Instant]) -> Result<(), StreamError> {
        let committed = batch.txns().zip(came).filter(|(t, _)| t.outcome() == Outcome::Committed);
        for (txn, came) in committed {
            if let Some(at) = self.stream.place_of(&txn) {
                self.open.push(Reverse((at, (self.batches, txn.id(), *came))));
            }
        }
        self.batches += u32::from(batch.txn_count() > 0);
        self.stream.push(batch, self.now())
    }

    fn tell(&mut self) {
        for event in self.stream.take_events() {
            if crate::found::adds(&event.what)
                && let Some(stop) = &self.stop
            {
                stop.store(true, Ordering::SeqCst);
            }
            // Nobody listens only if the job has failed.
            let _ = self.found.send(event);
        }
    }

    /// Measures how long those verdicts took that are final now.
    fn settle(&mut self) {
        let (before, batches) = self.stream.final_until();
        let now = Instant::now();
        while let Some(Reverse((at, open))) = self.open.peek()
            && before.is_some_and(|before| *at < before)
        {
            self.held.push(*open);
            self.open.pop();
        }
        let (stream, delays) = (&self.stream, &mut self.delays);
        self.held.retain(|(batch, txn, came)| {
            let stays = stream.waits(*batch, *txn);
            if !stays {
                delays.add(now - *came);
            }
            stays
        });
        // Without promises verdicts become final in the order in which they came, whatever their timestamps say.
        if std::mem::replace(&mut self.timed_out, batches) < batches {
            let delays = &mut self.delays;
            self.open.retain(|Reverse((_, (batch, _, came)))| {
                let stays = *batch >= batches;
                if !stays {
                    delays.add(now - *came);
                }
                stays
            });
        }
    }
}
