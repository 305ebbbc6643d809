//! The transactions themselves, in the batches in which they came: in memory, and on disk once memory is short.
//!
//! Batches are all that is ever kept of the past. Whatever else is known, of keys and of sessions, is made from them again
//! when it is needed and has left memory; [`SortedRuns`] says from which.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::HashMap;
use isolde_history::{Effect, History, Key, Op, OpKind, Outcome, Timestamp, Txn, TxnId, Value};

use crate::batch_files::{BatchFiles, SavedBatchFiles};
use crate::content::{MixedName, NameId, What, name_id, word};
use crate::error::StreamError;
use crate::pack::packed;
use crate::sorted_runs::{SavedRuns, SortedRuns};

/// A transaction of the stream: its batch, and its place there. The order is that of arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TxnRef(pub(crate) u64);

packed!(TxnRef { 0 });

impl TxnRef {
    pub(crate) fn new(batch: u32, txn: TxnId) -> TxnRef {
        TxnRef(u64::from(batch) << 32 | u64::from(txn.0))
    }

    pub(crate) fn batch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn txn(self) -> TxnId {
        TxnId(self.0 as u32)
    }
}

/// A timestamp before all others.
pub(crate) const BEFORE_ALL: Timestamp = Timestamp { physical: i64::MIN, logical: i64::MIN };
/// A timestamp after all others.
pub(crate) const AFTER_ALL: Timestamp = Timestamp { physical: i64::MAX, logical: i64::MAX };

/// The batches of a stream.
#[derive(Default)]
pub(crate) struct Bodies {
    /// Those that are in memory, from the first of them on.
    live: VecDeque<Live>,
    first: u32,
    /// All batches before this are on disk.
    written: u32,
    live_bytes: usize,
    live_txns: u64,
    /// Batches that were read again.
    at_hand: HashMap<u32, Arc<History>>,
    /// Their numbers, in the order in which they were read.
    read_again: VecDeque<u32>,
    at_hand_bytes: usize,
    /// How many bytes of batches that were read again may stay.
    most_at_hand: usize,
    disk: Option<Disk>,
    /// Whether a transaction without a start stands nowhere.
    pub(crate) needs_start: bool,
    pub(crate) reloads: u64,
    /// Why something could not be written or read again.
    error: Option<StreamError>,
}

/// What a checkpoint says of batches.
pub(crate) struct SavedBodies {
    files: SavedBatchFiles,
    runs: SavedRuns,
}

packed!(SavedBodies { files, runs });

impl SavedBodies {
    /// The names of the files that are needed.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.files.names().chain(self.runs.names())
    }
}

struct Live {
    history: Arc<History>,
    arrived: i64,
    latest: Timestamp,
}

struct Disk {
    files: BatchFiles,
    runs: SortedRuns,
}

impl Bodies {
    /// Batches that go to a folder when memory is short. Of those that are read again, so many bytes stay in memory.
    pub(crate) fn new(folder: Option<PathBuf>, keep: u64, most_at_hand: usize) -> Bodies {
        let disk = folder.map(|folder| Disk {
            files: BatchFiles::new(folder.clone(), keep),
            runs: SortedRuns::new(folder),
        });
        Bodies { disk, most_at_hand, ..Bodies::default() }
    }

    /// Keeps a batch that came at a time and has nothing later than this timestamp, and says its number.
    pub(crate) fn add(
        &mut self,
        batch: History,
        arrived: i64,
        latest: Timestamp,
    ) -> (u32, Arc<History>) {
        let history = Arc::new(batch);
        let number = self.next();
        self.live_bytes += bytes_of(&history);
        self.live_txns += history.txn_count() as u64;
        self.live.push_back(Live { history: history.clone(), arrived, latest });
        (number, history)
    }

    /// The number of the next batch.
    pub(crate) fn next(&self) -> u32 {
        self.first + self.live.len() as u32
    }

    /// A batch, from wherever it is. `None` if it is not kept any more.
    pub(crate) fn get(&mut self, batch: u32) -> Option<Arc<History>> {
        if let Some(live) = batch.checked_sub(self.first) {
            return self.live.get(live as usize).map(|live| live.history.clone());
        }
        if let Some(found) = self.at_hand.get(&batch) {
            return Some(found.clone());
        }
        let read = self.disk.as_ref()?.files.read(batch);
        let history = Arc::new(self.checked(read)??);
        self.reloads += 1;
        self.at_hand_bytes += bytes_of(&history);
        self.at_hand.insert(batch, history.clone());
        self.read_again.push_back(batch);
        while self.at_hand_bytes > self.most_at_hand
            && self.at_hand.len() > 1
            && let Some(oldest) = self.read_again.pop_front()
            && let Some(oldest) = self.at_hand.remove(&oldest)
        {
            self.at_hand_bytes -= bytes_of(&oldest);
        }
        Some(history)
    }

    /// When a batch came, if that is still known.
    pub(crate) fn arrived(&mut self, batch: u32) -> Option<i64> {
        if let Some(live) = batch.checked_sub(self.first) {
            return self.live.get(live as usize).map(|live| live.arrived);
        }
        let record = self.disk.as_ref()?.files.record(batch);
        self.checked(record)?.map(|record| record.arrived)
    }

    /// Whether a batch on disk has timestamps that lie far beyond all others. There are few such batches.
    pub(crate) fn has_far(&self, batch: u32) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.files.has_far(batch))
    }

    /// The latest timestamp in any batch on disk, but for those that lie far beyond all others.
    pub(crate) fn newest_on_disk(&self) -> Timestamp {
        self.disk.as_ref().map_or(AFTER_ALL, |disk| disk.files.newest())
    }

    /// The latest timestamp in a batch on disk and all before it, but for those that lie far beyond all others.
    pub(crate) fn latest_up_to(&mut self, batch: u32) -> Option<Timestamp> {
        let record = self.disk.as_ref()?.files.record(batch);
        self.checked(record)?.map(|record| record.newest)
    }

    /// The batches on disk that have to do with something, the earliest first. Some may have nothing to do with it.
    pub(crate) fn about(&mut self, name: NameId, what: What) -> Vec<u32> {
        let Some(disk) = &self.disk else { return Vec::new() };
        let mut found = Vec::new();
        let searched = disk.runs.find(name.mixed().hash_as(what), disk.files.first(), &mut found);
        self.checked(searched);
        found
    }

    /// The latest timestamp in a batch that is not kept any more, if there is such a batch.
    pub(crate) fn forgotten(&self) -> Option<Timestamp> {
        self.disk.as_ref().and_then(|disk| disk.files.forgotten())
    }

    /// Whether there is a disk for what does not fit into memory.
    pub(crate) fn has_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// Writes the older half of the batches that came since a number to disk, and says where the other half begins.
    pub(crate) fn write_half(&mut self, since: u32) -> Result<u32, StreamError> {
        let from = (since.max(self.first) - self.first) as usize;
        let new = self.live.iter().skip(from).map(|live| bytes_of(&live.history));
        let (mut left, mut end) = (new.clone().sum::<usize>() / 2, since.max(self.first));
        for bytes in new {
            end += 1;
            if bytes >= left {
                break;
            }
            left -= bytes;
        }
        self.write(end)?;
        Ok(end)
    }

    /// Lets go of the oldest batches that are on disk until so many bytes of batches are in memory.
    pub(crate) fn let_go(&mut self, most: usize) {
        while self.live_bytes > most
            && self.first < self.written
            && let Some(oldest) = self.live.pop_front()
        {
            self.live_bytes -= bytes_of(&oldest.history);
            self.live_txns -= oldest.history.txn_count() as u64;
            self.first += 1;
        }
    }

    /// How many transactions and bytes came in batches in memory since a number.
    pub(crate) fn since(&self, number: u32) -> (u64, usize) {
        let from = (number.max(self.first) - self.first) as usize;
        let new = self.live.len().saturating_sub(from);
        // Batches are much of a size.
        let share =
            |all: usize| (all as u128 * new as u128 / self.live.len().max(1) as u128) as usize;
        (share(self.live_txns as usize) as u64, share(self.live_bytes))
    }

    /// Writes batches up to a number to disk, if they are not there yet.
    fn write(&mut self, end: u32) -> Result<(), StreamError> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        if self.written >= end {
            return Ok(());
        }
        while self.written < end
            && let Some(live) = self.live.get((self.written - self.first) as usize)
        {
            disk.files.write(&live.history, live.arrived, live.latest)?;
            note_all(&live.history, self.written, self.needs_start, &mut disk.runs);
            self.written += 1;
        }
        disk.runs.freeze(disk.files.first())?;
        disk.files.forget_oldest(disk.runs.bytes());
        Ok(())
    }

    /// From now on checkpoints say what is needed of the disk.
    pub(crate) fn stay(&mut self) {
        if let Some(disk) = &mut self.disk {
            disk.files.stay();
            disk.runs.stay();
        }
    }

    /// Writes everything to disk, and says what a checkpoint has to say of it.
    pub(crate) fn save(&mut self) -> Result<Option<SavedBodies>, StreamError> {
        self.write(self.next())?;
        let Some(disk) = &self.disk else { return Ok(None) };
        Ok(Some(SavedBodies { files: disk.files.save()?, runs: disk.runs.save()? }))
    }

    /// The checkpoint is there.
    pub(crate) fn saved(&mut self) {
        if let Some(disk) = &mut self.disk {
            disk.files.saved();
            disk.runs.saved();
        }
    }

    /// The batches as a checkpoint says; none is in memory.
    pub(crate) fn restore(&mut self, next: u32, saved: SavedBodies) -> Result<(), StreamError> {
        (self.first, self.written) = (next, next);
        let Some(disk) = &mut self.disk else { return Ok(()) };
        disk.files.restore(saved.files)?;
        disk.runs.restore(saved.runs)
    }

    /// What went wrong, if anything has.
    pub(crate) fn take_error(&mut self) -> Result<(), StreamError> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// The bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let runs = self.disk.as_ref().map_or(0, |disk| disk.runs.heap_bytes());
        self.live_bytes + self.at_hand_bytes + runs
    }

    /// The bytes on disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.disk.as_ref().map_or(0, |disk| disk.files.bytes() + disk.runs.bytes())
    }

    fn checked<T>(&mut self, result: Result<T, StreamError>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

/// Notes the keys, the sessions and the writes of a batch.
fn note_all(batch: &History, number: u32, needs_start: bool, runs: &mut SortedRuns) {
    let pool = batch.pool();
    for session in pool.session_names() {
        runs.note(name_id(pool, *session).mixed().hash_as(What::Session), number);
    }
    let names = pool.key_names().iter().map(|name| name_id(pool, *name).mixed());
    let names: Vec<MixedName> = names.collect();
    for name in &names {
        runs.note(name.hash_as(What::Key), number);
    }
    let writes =
        |op: &Op<'_>| op.kind().writes() && op.effect() != Effect::Failed && op.key() != Key::NONE;
    let written = |op: &Op<'_>| match op.kind() {
        OpKind::Delete => word(pool, Value::ABSENT),
        _ => word(pool, op.value()),
    };
    for op in batch.ops().filter(writes) {
        runs.note(names[op.key().index()].hash_as(What::Word(written(&op))), number);
    }
    for txn in batch.txns().filter(|txn| is_unsure(txn, needs_start)) {
        for op in txn.ops().filter(writes) {
            runs.note(names[op.key().index()].hash_as(What::Unsure(written(&op))), number);
        }
    }
}

/// Whether it may not be known if or when a transaction committed.
fn is_unsure(txn: &Txn<'_>, needs_start: bool) -> bool {
    match txn.outcome() {
        Outcome::Unknown => true,
        Outcome::Committed => {
            txn.commit_ts().is_none() || (needs_start && txn.start_ts().is_none())
        }
        _ => false,
    }
}

fn bytes_of(batch: &History) -> usize {
    batch.heap_bytes() + size_of::<History>()
}
