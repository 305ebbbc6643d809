//! A run that is checked while it goes on: what the recorder writes on its tape also goes to a stream, on a thread of its
//! own.

mod checking;
mod delays;
mod outcome;
mod processor;
mod promised;
mod tape;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use isolde_run::Tape;
use isolde_spec::Promise;
use isolde_stream::{Stream, StreamEvent};

use crate::event::{Event, Watch};
use crate::notice::Notice;
use checking::{Checked, Checking};
pub use outcome::{Agreement, OnlineOutcome};
pub(crate) use promised::{OnlinePromise, promise};
use tape::{Fed, FedTape, Feed, HandedOver};

/// How many batches may wait for the stream; beyond it the recorder waits, and at last the sessions.
const WAITING: usize = 64;
/// How long the recorder may have waited before that is worth saying.
const WORTH_SAYING: Duration = Duration::from_millis(100);

/// A stream that is fed by a run.
pub(crate) struct Online {
    promise: Promise,
    sender: Option<SyncSender<Fed>>,
    found: Receiver<StreamEvent>,
    checking: JoinHandle<Checked>,
    /// Ends the run when it is set.
    halt: Arc<AtomicBool>,
    /// Whether the first violation sets it.
    stops: bool,
    /// Whether a violation was told.
    violated: bool,
    /// What is known of the tape when it is handed back.
    fed: Option<HandedOver>,
}

impl Online {
    /// Begins a stream. What does not fit into memory goes to the folder, which has to be there.
    pub(crate) fn start(held_to: &OnlinePromise, stops: bool, folder: &Path) -> Result<Online> {
        let (promise, stream) = (held_to.promise, Stream::new(held_to.settings(folder))?);
        let halt = Arc::new(AtomicBool::new(false));
        let (sender, batches) = sync_channel(WAITING);
        let (tell, found) = channel();
        let stop_at_first = stops.then(|| Arc::clone(&halt));
        let checking = Checking::new(stream, tell, stop_at_first);
        let checking = thread::Builder::new().spawn(move || checking.run(&batches));
        let checking = checking.context("no thread can be started for the check")?;
        let (sender, violated, fed) = (Some(sender), false, None);
        Ok(Online { promise, sender, found, checking, halt, stops, violated, fed })
    }

    /// What ends the run.
    pub(crate) fn halt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    /// The tape of a run with so many sessions, of which the stream gets all that it needs.
    pub(crate) fn tape<'t>(&mut self, tape: &'t mut dyn Tape, sessions: u32) -> FedTape<'t> {
        let feed = Feed::new(self.sender.take(), Arc::clone(&self.halt), self.promise.by);
        FedTape::new(tape, feed, sessions)
    }

    /// The run is over: the tape gets nothing more.
    pub(crate) fn hand_back(&mut self, tape: FedTape<'_>) {
        self.fed = Some(tape.hand_back());
    }

    /// Tells what has been found since the last time.
    pub(crate) fn tell(&mut self, watch: Watch<'_>) {
        while let Ok(event) = self.found.try_recv() {
            self.violated |= crate::found::adds(&event.what);
            watch(&Event::Found { event: &event });
        }
    }

    /// Tells the rest of what is found, after the tape was handed back. Whether the run was ended before it was through is
    /// known by then.
    pub(crate) fn end(mut self, interrupted: bool, watch: Watch<'_>) -> Result<OnlineOutcome> {
        // A tape that was never asked for feeds nothing.
        drop(self.sender.take());
        let fed = self.fed.take().unwrap_or_default();
        if fed.lacks_timestamps {
            bail!(
                "the database told no timestamps, so nothing can be judged while it runs\n  hint: leave out \
                 --online, and what was recorded is checked when the run is over"
            );
        }
        // The stream's thread ends the channel with itself.
        while let Ok(event) = self.found.recv() {
            self.violated |= crate::found::adds(&event.what);
            watch(&Event::Found { event: &event });
        }
        let Ok(checked) = self.checking.join() else {
            bail!("the check of the stream failed in a way that it should not: a fault of Isolde");
        };
        if fed.held_back >= WORTH_SAYING {
            let seconds = fed.held_back.as_secs_f64();
            let text =
                format!("the check could not keep up, and held the run back for {seconds:.2} s");
            watch(&Event::Notice(&Notice::Warning(text)));
        }
        let stopped = self.stops && self.violated && interrupted;
        Ok(OnlineOutcome::new(self.promise, checked, &fed, stopped))
    }
}
