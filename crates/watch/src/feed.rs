//! The way from the threads that read to the loop that judges: bounded, so that a fast source is held back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use isolde_history::History;

use crate::place::Place;
use crate::receipt::Receipt;

/// How many batches may wait.
const WAITING: usize = 64;
/// How long a reader waits until it asks again whether there is room.
const PAUSE: Duration = Duration::from_millis(1);
/// A source that has been held back for so long is one that cannot be kept up with.
const BEHIND: Duration = Duration::from_secs(1);

/// What a source sends.
pub(crate) enum Message {
    /// Transactions, promises, events.
    Batch {
        /// They.
        history: Box<History>,
        /// When they had been read.
        arrived: Instant,
        /// How far the source had been read by then.
        place: Option<Place>,
    },
    /// A header that holds for all that follows, also after a restart: its line.
    Header(Vec<u8>),
    /// Tell when everything before this is safe.
    Receipt(Receipt),
    /// A line or a body that could not be read, and why.
    Bad(String),
    /// Transactions are missing by the source's own word, and why.
    Incomplete(String),
    /// A header says that transactions are missing, as a recorder does until it is through.
    Opened,
    /// A line says that they are not missing any more.
    Closed,
    /// Something that the user should know.
    Notice(String),
    /// The source has ended: nothing comes any more.
    Ended,
    /// The source cannot be read any more.
    Failed(String),
}

impl Message {
    /// A batch that has just been read.
    pub(crate) fn batch(history: History) -> Message {
        Message::Batch { history: Box::new(history), arrived: Instant::now(), place: None }
    }

    /// The same, read up to a place.
    pub(crate) fn batch_at(history: History, at: Place) -> Message {
        Message::Batch { history: Box::new(history), arrived: Instant::now(), place: Some(at) }
    }

    fn txns(&self) -> u64 {
        match self {
            Message::Batch { history, .. } => history.txn_count() as u64,
            _ => 0,
        }
    }
}

/// The watch is over, and takes nothing more.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Over;

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    behind: AtomicBool,
    /// Transactions that wait.
    backlog: AtomicU64,
}

/// Where sources send to. Clones are the same.
#[derive(Clone)]
pub(crate) struct Feed {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// Where the loop takes from.
pub(crate) struct Fed {
    pub(crate) receiver: Receiver<Message>,
    shared: Arc<Shared>,
}

/// Both ends.
pub(crate) fn feed() -> (Feed, Fed) {
    let (sender, receiver) = sync_channel(WAITING);
    let shared = Arc::new(Shared::default());
    (Feed { sender, shared: Arc::clone(&shared) }, Fed { receiver, shared })
}

impl Feed {
    /// Sends, and waits for room.
    pub(crate) fn send(&self, message: Message) -> Result<(), Over> {
        let txns = message.txns();
        let (mut message, began) = (message, Instant::now());
        loop {
            message = match self.sender.try_send(message) {
                Ok(()) => {
                    self.shared.backlog.fetch_add(txns, Ordering::SeqCst);
                    return Ok(());
                }
                Err(TrySendError::Disconnected(_)) => return Err(Over),
                Err(TrySendError::Full(message)) => message,
            };
            if self.is_over() {
                return Err(Over);
            }
            if began.elapsed() > BEHIND {
                self.shared.behind.store(true, Ordering::SeqCst);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends several, in their order.
    pub(crate) fn send_all(&self, messages: impl IntoIterator<Item = Message>) -> Result<(), Over> {
        messages.into_iter().try_for_each(|message| self.send(message))
    }

    /// Whether the watch is over.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::SeqCst)
    }
}

impl Fed {
    /// Tells all sources that the watch is over.
    pub(crate) fn end(&self) {
        self.shared.over.store(true, Ordering::SeqCst);
    }

    /// A message has been taken.
    pub(crate) fn took(&self, message: &Message) {
        // The sender counts after it has sent, so the count may come later than this.
        let txns = message.txns();
        let less = |backlog: u64| Some(backlog.wrapping_sub(txns));
        let _ = self.shared.backlog.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// How many transactions wait.
    pub(crate) fn backlog(&self) -> u64 {
        let backlog = self.shared.backlog.load(Ordering::SeqCst);
        // Below zero for a moment, see above.
        if backlog > u64::MAX / 2 { 0 } else { backlog }
    }

    /// Whether a source had to wait for long since the last time.
    pub(crate) fn was_behind(&self) -> bool {
        self.shared.behind.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Fed {
    fn drop(&mut self) {
        self.end();
    }
}
