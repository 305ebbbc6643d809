//! The transactions themselves, in the batches in which they came: in memory, and on disk once memory is short.
//!
//! Batches are all that is ever kept of the past. Whatever else is known, of keys and of sessions, is made from them again
//! when it is needed and has left memory; [`SortedRuns`] says from which.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::HashMap;
use isolde_history::{History, Timestamp, TxnDraft, TxnId};

use crate::batch_files::{SavedBatchFiles, Written};
use crate::content::{NameId, What, Word};
use crate::disk::{Disk, Elsewhere, LentDisk, words_of};
use crate::error::StreamError;
use crate::pack::packed;
use crate::places::{Given, Places};
use crate::sorted_runs::SavedRuns;
use crate::unsure::UnsureWords;

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
    at_hand: HashMap<u32, Body>,
    /// Their numbers, in the order in which they were read.
    read_again: VecDeque<u32>,
    at_hand_bytes: usize,
    /// How many bytes of batches that were read again may stay.
    most_at_hand: usize,
    disk: LentDisk,
    /// Whether a transaction without a start stands nowhere.
    pub(crate) needs_start: bool,
    pub(crate) reloads: u64,
    /// Memory for those that want one transaction at a time.
    pub(crate) draft: TxnDraft,
}

/// A search for batches on disk, from the latest back: those that have timestamps far beyond all others, and then those
/// that a mark speaks of, in the order of arrival. Most searches end soon, and then most of what is on disk is not looked at.
pub(crate) struct BatchSearch {
    hash: u32,
    end: u32,
    /// How many runs have not been searched.
    runs: usize,
    /// The batch that is next, and whether it has timestamps far beyond all others.
    pub(crate) next: Option<(bool, u32)>,
    /// What comes after it, the last one first.
    found: Vec<(bool, u32)>,
}

/// What a checkpoint says of batches.
pub(crate) struct SavedBodies {
    files: SavedBatchFiles,
    runs: SavedRuns,
    unsure: UnsureWords,
}

packed!(SavedBodies { files, runs, unsure });

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
    /// By snapshots: the places of its transactions.
    places: Option<Places>,
    /// The hashes of what was written, once something was looked for.
    words: Option<Box<[u32]>>,
}

/// A batch, and by snapshots the places that its transactions were given.
#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) history: Arc<History>,
    pub(crate) places: Option<Arc<Vec<Given>>>,
}

impl Bodies {
    /// Batches that go to a folder when memory is short. Of those that are read again, so many bytes stay in memory.
    pub(crate) fn new(folder: Option<PathBuf>, keep: u64, most_at_hand: usize) -> Bodies {
        let disk = LentDisk::new(folder.map(|folder| Disk::new(folder, keep)));
        Bodies { disk, most_at_hand, ..Bodies::default() }
    }

    /// From now on what need not be waited for is written elsewhere.
    pub(crate) fn write_elsewhere(&mut self, elsewhere: Elsewhere) {
        self.disk.lend_to(elsewhere);
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
        let live = Live { history: history.clone(), arrived, latest, places: None, words: None };
        self.live.push_back(live);
        (number, history)
    }

    /// By snapshots: the transactions of the last batch wait for their places, and it for them before it can go to the disk.
    pub(crate) fn wait_for_places(&mut self) {
        if let Some(last) = self.live.back_mut() {
            let places = Places::new(last.history.txn_count());
            self.live_bytes += places.heap_bytes();
            last.places = Some(places);
        }
    }

    /// By snapshots: a transaction has got its place, or never will.
    pub(crate) fn give_place(&mut self, txn: TxnRef, place: Given) {
        let live = txn.batch().checked_sub(self.first);
        let live = live.and_then(|live| self.live.get_mut(live as usize));
        if let Some(places) = live.and_then(|live| live.places.as_mut()) {
            places.give(txn.txn(), place);
        }
    }

    /// The number of the next batch.
    pub(crate) fn next(&self) -> u32 {
        self.first + self.live.len() as u32
    }

    /// The first of the batches that are in memory.
    pub(crate) fn first_in_memory(&self) -> u32 {
        self.first
    }

    /// A batch, from wherever it is. `None` if it is not kept any more.
    pub(crate) fn get(&mut self, batch: u32) -> Option<Arc<History>> {
        self.body(batch).map(|body| body.history)
    }

    /// A batch, and by snapshots the places that its transactions were given.
    pub(crate) fn body(&mut self, batch: u32) -> Option<Body> {
        if let Some(live) = batch.checked_sub(self.first) {
            let live = self.live.get(live as usize)?;
            let places = live.places.as_ref().map(|places| places.given().clone());
            return Some(Body { history: live.history.clone(), places });
        }
        if let Some(found) = self.at_hand.get(&batch) {
            return Some(found.clone());
        }
        let read = self.disk.get()?.files.read(batch);
        let read = self.checked(read)??;
        let body = Body { history: Arc::new(read.history), places: read.places };
        self.reloads += 1;
        self.at_hand_bytes += bytes_of(&body.history);
        self.at_hand.insert(batch, body.clone());
        self.read_again.push_back(batch);
        while self.at_hand_bytes > self.most_at_hand
            && self.at_hand.len() > 1
            && let Some(oldest) = self.read_again.pop_front()
            && let Some(oldest) = self.at_hand.remove(&oldest)
        {
            self.at_hand_bytes -= bytes_of(&oldest.history);
        }
        Some(body)
    }

    /// When a batch came, if that is still known.
    pub(crate) fn arrived(&mut self, batch: u32) -> Option<i64> {
        if let Some(live) = batch.checked_sub(self.first) {
            return self.live.get(live as usize).map(|live| live.arrived);
        }
        let record = self.disk.get()?.files.record(batch);
        self.checked(record)?.map(|record| record.arrived)
    }

    /// Whether a batch on disk has timestamps that lie far beyond all others. There are few such batches.
    fn has_far(&mut self, batch: u32) -> bool {
        self.disk.get().is_some_and(|disk| disk.files.has_far(batch))
    }

    /// The latest timestamp in any batch on disk, but for those that lie far beyond all others.
    pub(crate) fn newest_on_disk(&self) -> Timestamp {
        self.disk.newest().unwrap_or(AFTER_ALL)
    }

    /// The latest timestamp in a batch on disk and all before it, but for those that lie far beyond all others.
    pub(crate) fn latest_up_to(&mut self, batch: u32) -> Option<Timestamp> {
        let record = self.disk.get()?.files.record(batch);
        self.checked(record)?.map(|record| record.newest)
    }

    /// The batches on disk that have to do with something, the earliest first. Some may have nothing to do with it.
    pub(crate) fn about(&mut self, name: NameId, what: What) -> Vec<u32> {
        let hash = name.mixed().hash_as(what);
        if matches!(what, What::Unsure(_)) && !self.disk.unsure.may_have(hash) {
            return Vec::new();
        }
        let Some(disk) = self.disk.get() else { return Vec::new() };
        let mut found = Vec::new();
        let searched = disk.runs.find(hash, disk.files.first(), &mut found);
        self.checked(searched);
        found
    }

    /// The batches, wherever they are, in which something may have been written, the latest first.
    pub(crate) fn with_word(&mut self, name: NameId, word: Word) -> Vec<u32> {
        let hash = name.mixed().hash_as(What::Word(word));
        let first = self.first;
        let mut found = self.about(name, What::Word(word));
        found.retain(|batch| *batch < first);
        for (number, live) in (first..).zip(&mut self.live) {
            let words = live.words.get_or_insert_with(|| {
                let words = words_of(&live.history).into_boxed_slice();
                self.live_bytes += size_of_val::<[u32]>(&words);
                words
            });
            if words.binary_search(&hash).is_ok() {
                found.push(number);
            }
        }
        found.reverse();
        found
    }

    /// Looks for the batches on disk before a number that have to do with something, the latest first.
    pub(crate) fn backwards(&mut self, end: u32, name: NameId, what: What) -> BatchSearch {
        let hash = name.mixed().hash_as(what);
        let mut backwards = BatchSearch { hash, end, runs: 0, next: None, found: Vec::new() };
        let Some(disk) = self.disk.get() else { return backwards };
        if disk.files.has_any_far() {
            // They come before all others, wherever they stand.
            let found = self.about(name, what).into_iter().filter(|batch| *batch < end);
            backwards.found = found.map(|batch| (self.has_far(batch), batch)).collect();
            backwards.found.sort_unstable();
        } else {
            backwards.runs = disk.runs.len();
        }
        self.step_back(&mut backwards);
        backwards
    }

    /// Goes on to the next batch.
    pub(crate) fn step_back(&mut self, backwards: &mut BatchSearch) {
        self.step_back_to(backwards, BEFORE_ALL);
    }

    /// Goes on to the next batch, if any that is left may have a timestamp as late as this.
    pub(crate) fn step_back_to(&mut self, backwards: &mut BatchSearch, least: Timestamp) {
        while backwards.found.is_empty() && backwards.runs > 0 {
            backwards.runs -= 1;
            let Some(last) = self.disk.get().and_then(|disk| disk.runs.last_of(backwards.runs))
            else {
                break;
            };
            if least > BEFORE_ALL && self.latest_up_to(last).is_some_and(|latest| latest < least) {
                backwards.runs = 0;
                break;
            }
            let Some(disk) = self.disk.get() else { break };
            let mut found = Vec::new();
            let searched = disk.runs.find_in(backwards.runs, backwards.hash, &mut found);
            let kept = disk.files.first()..backwards.end;
            let found = found.into_iter().filter(|batch| kept.contains(batch));
            backwards.found.extend(found.map(|batch| (false, batch)));
            self.checked(searched);
        }
        backwards.next = backwards.found.pop();
    }

    /// The latest timestamp in a batch that is not kept any more, if there is such a batch.
    pub(crate) fn forgotten(&mut self) -> Option<Timestamp> {
        self.disk.get().and_then(|disk| disk.files.forgotten())
    }

    /// Whether a transaction that is not kept any more may have written a word to a key, or if none is named anything at all,
    /// without its being known if or when it committed.
    pub(crate) fn may_have_forgotten(&mut self, name: NameId, word: Option<Word>) -> bool {
        let hash = word.map(|word| name.mixed().hash_as(What::Unsure(word)));
        let unsure = &self.disk.unsure;
        hash.map_or(!unsure.is_empty(), |hash| unsure.may_have(hash)) && self.forgotten().is_some()
    }

    /// Whether there is a disk for what does not fit into memory.
    pub(crate) fn has_disk(&self) -> bool {
        self.disk.is_there()
    }

    /// Writes the older half of the batches that came since a number to disk, perhaps later, and says where the other half
    /// begins.
    pub(crate) fn write_half(&mut self, since: u32, later: bool) -> Result<u32, StreamError> {
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
        self.write(end, later)?;
        Ok(end.min(self.written.max(since)))
    }

    /// Lets go of the oldest batches that are on disk until so many bytes of batches are in memory.
    pub(crate) fn let_go(&mut self, most: usize) {
        while self.live_bytes > most
            && self.first < self.written
            && let Some(oldest) = self.live.pop_front()
        {
            self.live_bytes -= bytes_of(&oldest.history);
            self.live_bytes -= oldest.places.as_ref().map_or(0, Places::heap_bytes);
            self.live_bytes -= oldest.words.as_deref().map_or(0, size_of_val::<[u32]>);
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

    /// By snapshots: the first batch that is not on disk and in which a transaction waits for its place.
    fn placed_until(&self) -> u32 {
        let unwritten = self.live.iter().skip((self.written - self.first) as usize);
        let waits = |live: &Live| live.places.as_ref().is_some_and(Places::wait);
        self.written + unwritten.take_while(|live| !waits(live)).count() as u32
    }

    /// Writes batches up to a number to disk, if they are not there yet.
    fn write(&mut self, end: u32, later: bool) -> Result<(), StreamError> {
        let from = self.written;
        let end = end.min(self.placed_until());
        if from >= end || !self.disk.is_there() {
            return Ok(());
        }
        let needs_start = self.needs_start;
        let live = self.live.range((from - self.first) as usize..(end - self.first) as usize);
        let batches = (from..).zip(live).map(|(number, live)| {
            let (history, arrived) = (live.history.clone(), live.arrived);
            let latest = live.places.as_ref().map_or(Some(live.latest), Places::latest);
            let latest = latest.unwrap_or(BEFORE_ALL);
            let places = live.places.as_ref().map(|places| places.given().clone());
            let newest = latest;
            Written { number, history, arrived, latest, newest, places, needs_start }
        });
        self.written = end;
        self.disk.write(batches.collect(), later)
    }

    /// From now on so many bytes may be kept on disk.
    pub(crate) fn limit(&mut self, keep: u64) {
        if let Some(disk) = self.disk.get() {
            disk.files.limit(keep);
        }
    }

    /// From now on checkpoints say what is needed of the disk.
    pub(crate) fn stay(&mut self) {
        if let Some(disk) = self.disk.get() {
            disk.files.stay();
            disk.runs.stay();
        }
    }

    /// Writes everything to disk, and says what a checkpoint has to say of it.
    pub(crate) fn save(&mut self) -> Result<Option<SavedBodies>, StreamError> {
        self.write(self.next(), false)?;
        let Some(disk) = self.disk.get() else { return Ok(None) };
        let (files, runs) = (disk.files.save()?, disk.runs.save()?);
        Ok(Some(SavedBodies { files, runs, unsure: self.disk.unsure.clone() }))
    }

    /// The checkpoint is there.
    pub(crate) fn saved(&mut self) {
        if let Some(disk) = self.disk.get() {
            disk.files.saved();
            disk.runs.saved();
        }
    }

    /// The batches as a checkpoint says; none is in memory.
    pub(crate) fn restore(&mut self, next: u32, saved: SavedBodies) -> Result<(), StreamError> {
        (self.first, self.written) = (next, next);
        self.disk.unsure = saved.unsure;
        let Some(disk) = self.disk.get() else { return Ok(()) };
        disk.files.restore(saved.files)?;
        disk.runs.restore(saved.runs)
    }

    /// Waits until all is written that was to be written.
    pub(crate) fn wait(&mut self) {
        self.disk.get();
    }

    /// What went wrong, if anything is known to have.
    pub(crate) fn take_error(&mut self) -> Result<(), StreamError> {
        self.disk.take_error()
    }

    /// The bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.live_bytes + self.at_hand_bytes + self.disk.bytes().0 + self.disk.unsure.heap_bytes()
    }

    /// The bytes on disk.
    pub(crate) fn on_disk(&self) -> u64 {
        self.disk.bytes().1
    }

    fn checked<T>(&mut self, result: Result<T, StreamError>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(error) => {
                self.disk.error.get_or_insert(error);
                None
            }
        }
    }
}

fn bytes_of(batch: &History) -> usize {
    batch.heap_bytes() + size_of::<History>()
}
