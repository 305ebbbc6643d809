//! Batches on disk, each in the native format, in files of some dozen megabytes.
//!
//! Beside each file stands another with one record of fixed length for each batch: where it is, when it came, and how far
//! timestamps had come by then. So a batch costs nothing in memory once it is on disk.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isolde_history::{Format, History, HistoryBuilder, Input, Source, Timestamp, pack_history};

use crate::error::StreamError;
use crate::pack::{Pack as _, packed};
use crate::places::Given;

/// How large a file becomes: an eighth of what may be kept, so that little goes at once, within these bounds.
const FILE: std::ops::RangeInclusive<u64> = 1 << 10..=64 << 20;
/// But there are no more files than this: each is open, and a process may not have very many open.
const MOST_FILES: u64 = 128;
/// So many batches with timestamps far beyond all others are looked at whenever any is.
const MOST_FAR: usize = 64;
/// Bytes of a record.
const RECORD: u64 = 40;

/// The files, the oldest of which go when there are too many bytes.
pub(crate) struct BatchFiles {
    folder: PathBuf,
    keep: u64,
    file_len: u64,
    files: VecDeque<BatchFile>,
    /// The number of the next batch, and of the next file.
    next: u32,
    next_file: u32,
    bytes: u64,
    /// The latest timestamp in any batch so far, but for those that lie far beyond all others.
    newest: Timestamp,
    /// The earliest one in the first batch.
    oldest: Option<Timestamp>,
    /// Batches with timestamps that do: few, which are always looked at, and the latest in each.
    far: Vec<(u32, Timestamp)>,
    /// The latest timestamp in a batch that is not kept any more.
    forgotten: Option<Timestamp>,
    /// Files that go with the next checkpoint, if there are any: until then the last one needs them.
    condemned: Option<Vec<u32>>,
}

struct BatchFile {
    name: u32,
    first: u32,
    bodies: File,
    records: File,
    len: u64,
    /// The latest timestamp in this file or an earlier one.
    newest: Timestamp,
}

/// What a checkpoint says of the files: name, first batch, length, latest timestamp of each.
pub(crate) struct SavedBatchFiles {
    files: Vec<(u32, u32, u64, Timestamp)>,
    next: u32,
    next_file: u32,
    newest: Timestamp,
    oldest: Option<Timestamp>,
    far: Vec<(u32, Timestamp)>,
    forgotten: Option<Timestamp>,
}

packed!(SavedBatchFiles { files, next, next_file, newest, oldest, far, forgotten });

impl SavedBatchFiles {
    /// The names of the files.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(|(name, ..)| names(*name))
    }
}

/// A batch on its way to the disk.
pub(crate) struct Written {
    pub(crate) number: u32,
    pub(crate) history: Arc<History>,
    pub(crate) arrived: i64,
    pub(crate) latest: Timestamp,
    /// The latest in this batch or an earlier one, once it is marked.
    pub(crate) newest: Timestamp,
    /// By snapshots: the places of its transactions.
    pub(crate) places: Option<Arc<Vec<Given>>>,
    /// Whether a transaction without a start stands nowhere.
    pub(crate) needs_start: bool,
}

impl Written {
    /// The times of its transactions.
    fn times(&self) -> Vec<Timestamp> {
        match &self.places {
            Some(places) => places.iter().filter_map(|p| p.start.max(p.commit)).collect(),
            None => times(&self.history).collect(),
        }
    }
}

/// A batch that was read again.
pub(crate) struct ReadAgain {
    pub(crate) history: History,
    /// By snapshots: the places of its transactions.
    pub(crate) places: Option<Arc<Vec<Given>>>,
}

/// What is known of a batch without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BatchRecord {
    offset: u64,
    len: u32,
    /// How many of these bytes say what places its transactions were given.
    places: u32,
    /// When it came.
    pub(crate) arrived: i64,
    /// The latest timestamp in this batch or an earlier one, but for those that lie far beyond all others.
    pub(crate) newest: Timestamp,
}

/// How large a file becomes where so much may be kept.
fn file_len(keep: u64) -> u64 {
    (keep / 8).clamp(*FILE.start(), *FILE.end()).max(keep / MOST_FILES)
}

impl BatchFiles {
    /// Files in a folder, which has to be there.
    pub(crate) fn new(folder: PathBuf, keep: u64) -> BatchFiles {
        BatchFiles {
            folder,
            keep,
            file_len: file_len(keep),
            files: VecDeque::new(),
            next: 0,
            next_file: 0,
            bytes: 0,
            newest: Timestamp { physical: i64::MIN, logical: i64::MIN },
            oldest: None,
            far: Vec::new(),
            forgotten: None,
            condemned: None,
        }
    }

    /// From now on so many bytes may be kept.
    pub(crate) fn limit(&mut self, keep: u64) {
        (self.keep, self.file_len) = (keep, file_len(keep));
    }

    /// Writes the next batch, which has been marked.
    pub(crate) fn write(&mut self, batch: &Written) -> Result<(), StreamError> {
        let Written { arrived, .. } = *batch;
        let mut bytes = encode(&batch.history).map_err(|error| self.error(error))?;
        let history_len = bytes.len();
        if let Some(places) = &batch.places {
            places.iter().for_each(|given| given.pack(&mut bytes));
        }
        let places = (bytes.len() - history_len) as u32;
        if self.files.back().is_none_or(|file| file.len >= self.file_len) {
            self.begin()?;
        }
        let (newest, number) = (batch.newest, self.next);
        let Some(file) = self.files.back_mut() else {
            return Err(self.error(io::Error::other("there is no file")));
        };
        let (offset, len) = (file.len, bytes.len() as u32);
        let record = BatchRecord { offset, len, places, arrived, newest };
        let at = u64::from(number - file.first) * RECORD;
        let written = file.bodies.write_all_at(&bytes, file.len);
        let written = written.and_then(|()| file.records.write_all_at(&record.to_bytes(), at));
        file.len += bytes.len() as u64;
        file.newest = newest;
        written.map_err(|error| self.error(error))?;
        self.next += 1;
        self.bytes += bytes.len() as u64 + RECORD;
        Ok(())
    }

    /// Notes how late the times of a batch are that is going to be written next. One clock that is wrong must not make
    /// everything look late.
    pub(crate) fn mark(&mut self, batch: &mut Written) {
        let latest = batch.latest;
        let near = match self.is_far(latest) && self.far.len() < MOST_FAR {
            false => Some(latest),
            true => {
                self.far.push((batch.number, latest));
                batch.times().into_iter().filter(|time| !self.is_far(*time)).max()
            }
        };
        if self.oldest.is_none() {
            self.oldest = batch.times().into_iter().min();
        }
        self.newest = self.newest.max(near.unwrap_or(self.newest));
        batch.newest = self.newest;
    }

    /// Whether a timestamp lies very much further ahead than all timestamps so far lie apart.
    fn is_far(&self, time: Timestamp) -> bool {
        let apart = self
            .oldest
            .map_or(0, |old| i128::from(self.newest.physical) - i128::from(old.physical));
        let ahead = i128::from(time.physical) - i128::from(self.newest.physical);
        apart > 0 && ahead > apart * 1024
    }

    /// Whether a batch has timestamps that lie far beyond all others.
    pub(crate) fn has_far(&self, batch: u32) -> bool {
        self.far.iter().any(|(number, _)| *number == batch)
    }

    /// Whether any batch has.
    pub(crate) fn has_any_far(&self) -> bool {
        !self.far.is_empty()
    }

    /// The latest timestamp in any batch so far, but for those that lie far beyond all others.
    pub(crate) fn newest(&self) -> Timestamp {
        self.newest
    }

    /// Reads a batch again, and what places its transactions were given, if they were given any; `None` if it is not kept
    /// any more.
    pub(crate) fn read(&self, batch: u32) -> Result<Option<ReadAgain>, StreamError> {
        let Some(record) = self.record(batch)? else { return Ok(None) };
        let Some(file) = self.file(batch) else { return Ok(None) };
        let mut bytes = vec![0; record.len as usize];
        file.bodies.read_exact_at(&mut bytes, record.offset).map_err(|error| self.error(error))?;
        let places = bytes.split_off((record.len - record.places.min(record.len)) as usize);
        let (mut rest, mut given) = (&places[..], Vec::new());
        while !rest.is_empty() {
            let torn = || self.error(io::Error::other("a batch on disk cannot be read"));
            given.push(Given::unpack(&mut rest).ok_or_else(torn)?);
        }
        let places = (!given.is_empty()).then(|| Arc::new(given));
        let history = decode(bytes).map_err(|error| self.error(error))?;
        Ok(Some(ReadAgain { history, places }))
    }

    /// What is known of a batch; `None` if it is not kept any more.
    pub(crate) fn record(&self, batch: u32) -> Result<Option<BatchRecord>, StreamError> {
        let Some(file) = self.file(batch) else { return Ok(None) };
        let mut bytes = [0; RECORD as usize];
        let at = u64::from(batch - file.first) * RECORD;
        file.records.read_exact_at(&mut bytes, at).map_err(|error| self.error(error))?;
        Ok(Some(BatchRecord::from_bytes(&bytes)))
    }

    /// The first batch that is kept.
    pub(crate) fn first(&self) -> u32 {
        self.files.front().map_or(self.next, |file| file.first)
    }

    /// The latest timestamp in a batch that is not kept any more.
    pub(crate) fn forgotten(&self) -> Option<Timestamp> {
        self.forgotten
    }

    /// The bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the oldest files while there are more bytes than may be, with so many of others beside.
    pub(crate) fn forget_oldest(&mut self, others: u64) {
        while self.bytes + others > self.keep && self.files.len() > 1 {
            let Some(file) = self.files.pop_front() else { break };
            let end = self.files.front().map_or(self.next, |next| next.first);
            let is_gone = |(number, _): &(u32, Timestamp)| *number < end;
            let gone = self.far.iter().filter(|far| is_gone(far)).map(|(_, latest)| *latest);
            self.forgotten = self.forgotten.max(gone.max()).max(Some(file.newest));
            self.far.retain(|far| !is_gone(far));
            self.bytes -= file.len + u64::from(end - file.first) * RECORD;
            match &mut self.condemned {
                Some(condemned) => condemned.push(file.name),
                None => remove(&self.folder, file.name),
            }
        }
    }

    /// From now on checkpoints say which files are needed.
    pub(crate) fn stay(&mut self) {
        self.condemned.get_or_insert_default();
    }

    /// What a checkpoint says of the files. All that was written is safe then.
    pub(crate) fn save(&self) -> Result<SavedBatchFiles, StreamError> {
        let mut files = Vec::new();
        for file in &self.files {
            let safe = file.bodies.sync_data().and_then(|()| file.records.sync_data());
            safe.map_err(|error| self.error(error))?;
            files.push((file.name, file.first, file.len, file.newest));
        }
        let BatchFiles { next, next_file, newest, oldest, forgotten, .. } = *self;
        let far = self.far.clone();
        Ok(SavedBatchFiles { files, next, next_file, newest, oldest, far, forgotten })
    }

    /// The checkpoint is there.
    pub(crate) fn saved(&mut self) {
        let condemned = self.condemned.iter_mut().flat_map(std::mem::take);
        condemned.for_each(|name| remove(&self.folder, name));
    }

    /// The files as a checkpoint says. What came after it comes once more.
    pub(crate) fn restore(&mut self, saved: SavedBatchFiles) -> Result<(), StreamError> {
        self.stay();
        for (name, first, len, newest) in saved.files {
            let [bodies, records] = paths(&self.folder, name).map(|path| open_again(&path));
            let bodies = bodies.map_err(|error| self.error(error))?;
            let records = records.map_err(|error| self.error(error))?;
            self.bytes += len;
            self.files.push_back(BatchFile { name, first, bodies, records, len, newest });
        }
        self.bytes += u64::from(saved.next - self.files.front().map_or(0, |f| f.first)) * RECORD;
        (self.next, self.next_file) = (saved.next, saved.next_file);
        (self.newest, self.forgotten) = (saved.newest, saved.forgotten);
        (self.oldest, self.far) = (saved.oldest, saved.far);
        Ok(())
    }

    fn file(&self, batch: u32) -> Option<&BatchFile> {
        if batch >= self.next {
            return None;
        }
        let at = self.files.partition_point(|file| file.first <= batch);
        self.files.get(at.checked_sub(1)?)
    }

    fn begin(&mut self) -> Result<(), StreamError> {
        let name = self.next_file;
        let [bodies, records] = paths(&self.folder, name).map(|path| open_new(&path));
        let bodies = bodies.map_err(|error| self.error(error))?;
        let records = records.map_err(|error| self.error(error))?;
        self.next_file += 1;
        let (first, newest) = (self.next, self.newest);
        self.files.push_back(BatchFile { name, first, bodies, records, len: 0, newest });
        Ok(())
    }

    fn error(&self, error: io::Error) -> StreamError {
        StreamError::Spill { folder: self.folder.display().to_string(), error }
    }
}

impl Drop for BatchFiles {
    fn drop(&mut self) {
        if self.condemned.is_none() {
            self.files.iter().for_each(|file| remove(&self.folder, file.name));
        }
    }
}

impl BatchRecord {
    fn to_bytes(self) -> [u8; RECORD as usize] {
        let mut bytes = [0; RECORD as usize];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.arrived.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.newest.physical.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.newest.logical.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.places.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD as usize]) -> BatchRecord {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        BatchRecord {
            offset: word(0),
            len: word(8) as u32,
            places: (word(32) >> 32) as u32,
            arrived: word(12) as i64,
            newest: Timestamp { physical: word(20) as i64, logical: word(28) as i64 },
        }
    }
}

/// All timestamps in a batch.
fn times(batch: &History) -> impl Iterator<Item = Timestamp> {
    batch.txns().flat_map(|txn| [txn.start_ts(), txn.commit_ts()]).flatten()
}

fn names(name: u32) -> [String; 2] {
    [format!("batches-{name:06}"), format!("records-{name:06}")]
}

fn paths(folder: &Path, name: u32) -> [PathBuf; 2] {
    names(name).map(|name| folder.join(name))
}

/// A file that cannot be removed takes room; it is not read any more.
fn remove(folder: &Path, name: u32) {
    for path in paths(folder, name) {
        let _ = fs::remove_file(path);
    }
}

/// A file of our own for reading and writing.
pub(crate) fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// A file of our own that is there.
pub(crate) fn open_again(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// A batch in the native format.
pub(crate) fn encode(batch: &History) -> io::Result<Vec<u8>> {
    pack_history(batch).map_err(io::Error::other)
}

/// A batch from the native format.
pub(crate) fn decode(bytes: Vec<u8>) -> io::Result<History> {
    let native = Format::named("isolde").ok_or_else(|| io::Error::other("no native format"))?;
    let source = Source::File(Input::new("a batch on disk", bytes));
    native.load(&source).map(HistoryBuilder::finish).map_err(io::Error::other)
}
