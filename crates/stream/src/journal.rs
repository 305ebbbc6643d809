//! What a stream was told, written down before it is believed: so that it can go on after it was killed.
//!
//! In the folder are the state of the last checkpoint and a log of what came after it. Both begin with a version; what
//! another version wrote is refused. A checkpoint names its log, which is there before the checkpoint is: whenever the
//! stream is killed, one state and the log that goes with it are whole but for the last entry.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use isolde_history::History;

use crate::batch_files::{decode, encode};
use crate::error::StreamError;
use crate::pack::Pack;
use crate::settings::Restrictions;

/// What the state begins with: what it is, and the version.
const BEGINNING: &[u8; 16] = b"isolde state\0\0\0\x03";
const STATE: &str = "state";
/// A log so long is worth a checkpoint.
const LONG: u64 = 16 << 20;
/// Entries behind each other in a log: length, checksum, and what is in it.
const ENTRY_HEAD: usize = 8;

/// Where a stream writes down what it is told.
pub(crate) struct Journal {
    folder: PathBuf,
    log: File,
    number: u64,
    len: u64,
    /// How long it was when something was saved last.
    saved: u64,
    /// No batch makes it longer than this.
    most: Option<u64>,
    /// Whether something is not on the disk itself yet.
    unsafe_yet: bool,
    /// As long as this is open, no other stream writes to the folder.
    _lock: File,
}

/// Something that the stream was told.
pub(crate) enum Entry {
    /// A batch, with a mark.
    Batch { now: i64, mark: Vec<u8>, history: Box<History> },
    /// Time has passed.
    Tick { now: i64 },
    /// Something is missing in the stream.
    Incomplete { now: i64, why: String },
    /// Nothing more comes.
    Finish { now: i64 },
    /// From now on with another timeout, memory or disk.
    Restrictions(Restrictions),
    /// The caller wants to know this again, and knows what was told until then.
    Saved(Vec<u8>),
}

const BATCH: u8 = 1;
const TICK: u8 = 2;
const INCOMPLETE: u8 = 3;
const FINISH: u8 = 4;
const RESTRICTIONS: u8 = 5;
const SAVED: u8 = 6;

impl Journal {
    /// Begins in a folder that has no state.
    pub(crate) fn begin(folder: PathBuf) -> Result<Journal, StreamError> {
        let lock = lock(&folder)?;
        let log = File::create(log_path(&folder, 0)).map_err(|error| spilled(&folder, error))?;
        let (len, saved, most) = (0, 0, None);
        Ok(Journal { folder, log, number: 0, len, saved, most, unsafe_yet: false, _lock: lock })
    }

    /// Goes on in a folder, with the state that is there, if there is one.
    pub(crate) fn open(folder: PathBuf) -> Result<Option<(Journal, Vec<u8>)>, StreamError> {
        let bytes = match fs::read(folder.join(STATE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(spilled(&folder, error)),
        };
        let lock = lock(&folder)?;
        let Some(rest) = bytes.strip_prefix(BEGINNING) else {
            let known = bytes.get(..15) == BEGINNING.get(..15);
            let why = match known {
                true => "another version of Isolde wrote it",
                false => "it is not a state of Isolde",
            };
            return Err(Journal::is_broken(&folder, why));
        };
        let short = || Journal::is_broken(&folder, "it ends too early");
        let (sum, rest) = rest.split_first_chunk().ok_or_else(short)?;
        if u32::from_le_bytes(*sum) != crc32c::crc32c(rest) {
            return Err(Journal::is_broken(&folder, "its checksum is wrong"));
        }
        let mut input = rest;
        let number = u64::unpack(&mut input).ok_or_else(short)?;
        let path = log_path(&folder, number);
        let log = crate::batch_files::open_again(&path).map_err(|error| spilled(&folder, error))?;
        let state = input.to_vec();
        let (len, saved, most) = (0, 0, None);
        let journal =
            Journal { folder, log, number, len, saved, most, unsafe_yet: false, _lock: lock };
        Ok(Some((journal, state)))
    }

    /// Why a state cannot be used.
    pub(crate) fn is_broken(folder: &Path, why: &str) -> StreamError {
        StreamError::State { file: folder.join(STATE).display().to_string(), why: why.to_owned() }
    }

    /// The same of this one.
    pub(crate) fn broken(&self, why: &str) -> StreamError {
        Journal::is_broken(&self.folder, why)
    }

    /// Removes what came after the checkpoint, or was on its way out: all of our files but those.
    pub(crate) fn remove_others(&self, mut keep: Vec<String>) -> Result<(), StreamError> {
        keep.push(log_name(self.number));
        keep.sort_unstable();
        let ours = ["batches-", "records-", "keys-", "log-"];
        for file in fs::read_dir(&self.folder).map_err(|error| spilled(&self.folder, error))? {
            let file = file.map_err(|error| spilled(&self.folder, error))?;
            let Ok(name) = file.file_name().into_string() else { continue };
            if ours.iter().any(|ours| name.starts_with(ours)) && keep.binary_search(&name).is_err()
            {
                let _ = fs::remove_file(file.path());
            }
        }
        Ok(())
    }

    /// Hands on what was written down since the checkpoint, entry by entry. One that was not written to its end is none.
    pub(crate) fn replay(
        &mut self,
        mut tell: impl FnMut(Entry) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        let path = log_path(&self.folder, self.number);
        let file = File::open(path).map_err(|error| spilled(&self.folder, error))?;
        let mut left = file.metadata().map_err(|error| spilled(&self.folder, error))?.len();
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut whole = 0;
        while let Some(bytes) =
            next_entry(&mut input, left).map_err(|error| spilled(&self.folder, error))?
        {
            let entry = read_entry(&bytes).ok_or_else(|| self.broken("its log is broken"))?;
            let len = (ENTRY_HEAD + bytes.len()) as u64;
            (whole, left) = (whole + len, left - len);
            if matches!(entry, Entry::Saved(_)) {
                self.saved = whole;
            }
            tell(entry)?;
        }
        self.len = whole;
        self.log.set_len(whole).map_err(|error| spilled(&self.folder, error))
    }

    /// Writes down a batch.
    pub(crate) fn batch(
        &mut self,
        now: i64,
        mark: &[u8],
        batch: &History,
    ) -> Result<(), StreamError> {
        let body = encode(batch).map_err(|error| spilled(&self.folder, error))?;
        let entry = (mark.to_vec(), body).packed();
        if let Some(keep) = self.most
            && self.len + (ENTRY_HEAD + entry.len()) as u64 > keep
        {
            return Err(StreamError::LogFull { folder: self.folder.display().to_string(), keep });
        }
        self.append(BATCH, now, &entry)
    }

    /// From now on no batch makes the log longer than this.
    pub(crate) fn limit(&mut self, most: u64) {
        self.most = Some(most);
    }

    /// Writes down that something is missing.
    pub(crate) fn incomplete(&mut self, now: i64, why: &str) -> Result<(), StreamError> {
        self.append(INCOMPLETE, now, &why.to_owned().packed())
    }

    /// Writes down a time at which something was told.
    pub(crate) fn tick(&mut self, now: i64) -> Result<(), StreamError> {
        self.append(TICK, now, &[])
    }

    /// Writes down that nothing more comes.
    pub(crate) fn finish(&mut self, now: i64) -> Result<(), StreamError> {
        self.append(FINISH, now, &[])
    }

    /// Writes down with what timeout, memory and disk it goes on.
    pub(crate) fn restrictions(&mut self, to: Restrictions) -> Result<(), StreamError> {
        self.append(RESTRICTIONS, 0, &to.packed())
    }

    /// Writes down what the caller wants to know again, where the state as a whole is not written.
    pub(crate) fn saved(&mut self, saved: &[u8]) -> Result<(), StreamError> {
        self.append(SAVED, 0, saved)?;
        self.saved = self.len;
        self.make_safe()
    }

    fn append(&mut self, kind: u8, now: i64, rest: &[u8]) -> Result<(), StreamError> {
        let mut entry = vec![0; ENTRY_HEAD];
        (kind, now).pack(&mut entry);
        entry.extend_from_slice(rest);
        let len = (entry.len() - ENTRY_HEAD) as u32;
        let sum = crc32c::crc32c(&entry[ENTRY_HEAD..]);
        entry[..4].copy_from_slice(&len.to_le_bytes());
        entry[4..ENTRY_HEAD].copy_from_slice(&sum.to_le_bytes());
        use std::os::unix::fs::FileExt as _;
        let end = self.end().map_err(|error| spilled(&self.folder, error))?;
        self.log.write_all_at(&entry, end).map_err(|error| spilled(&self.folder, error))?;
        self.len = end + entry.len() as u64;
        self.unsafe_yet = true;
        Ok(())
    }

    /// Where the log ends.
    fn end(&self) -> io::Result<u64> {
        if self.len > 0 { Ok(self.len) } else { self.log.metadata().map(|about| about.len()) }
    }

    /// Everything that was written down is on the disk itself.
    pub(crate) fn make_safe(&mut self) -> Result<(), StreamError> {
        if std::mem::take(&mut self.unsafe_yet) {
            self.log.sync_data().map_err(|error| spilled(&self.folder, error))?;
        }
        Ok(())
    }

    /// Whether the log has become long.
    pub(crate) fn is_long(&self) -> bool {
        self.len - self.saved > LONG
    }

    /// Replaces the state, and begins a new log.
    pub(crate) fn checkpoint(&mut self, state: &[u8]) -> Result<(), StreamError> {
        let number = self.number + 1;
        let written = self.replace(number, state);
        self.log = written.map_err(|error| spilled(&self.folder, error))?;
        let _ = fs::remove_file(log_path(&self.folder, self.number));
        (self.number, self.len, self.saved, self.unsafe_yet) = (number, 0, 0, false);
        Ok(())
    }

    fn replace(&self, number: u64, state: &[u8]) -> io::Result<File> {
        let log = File::create(log_path(&self.folder, number))?;
        log.sync_all()?;
        let mut rest = number.packed();
        rest.extend_from_slice(state);
        let new = self.folder.join("state.new");
        let mut file = File::create(&new)?;
        file.write_all(BEGINNING)?;
        file.write_all(&crc32c::crc32c(&rest).to_le_bytes())?;
        file.write_all(&rest)?;
        file.sync_all()?;
        fs::rename(new, self.folder.join(STATE))?;
        File::open(&self.folder)?.sync_all()?;
        Ok(log)
    }
}

/// The next entry of so many bytes that are left; `None` if it is not there as a whole.
fn next_entry(input: &mut impl Read, left: u64) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; ENTRY_HEAD];
    if left < ENTRY_HEAD as u64 {
        return Ok(None);
    }
    input.read_exact(&mut head)?;
    let (len, sum) = head.split_at(4);
    let [len, sum] = [len, sum].map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
    if left - (ENTRY_HEAD as u64) < u64::from(len) {
        return Ok(None);
    }
    let mut entry = vec![0; len as usize];
    input.read_exact(&mut entry)?;
    Ok((crc32c::crc32c(&entry) == sum).then_some(entry))
}

fn read_entry(mut input: &[u8]) -> Option<Entry> {
    let (kind, now) = <(u8, i64)>::unpack(&mut input)?;
    match kind {
        BATCH => {
            let (mark, body) = <(Vec<u8>, Vec<u8>)>::unpack(&mut input)?;
            Some(Entry::Batch { now, mark, history: Box::new(decode(body).ok()?) })
        }
        TICK => Some(Entry::Tick { now }),
        INCOMPLETE => Some(Entry::Incomplete { now, why: String::unpack(&mut input)? }),
        FINISH => Some(Entry::Finish { now }),
        RESTRICTIONS => Some(Entry::Restrictions(Restrictions::unpack(&mut input)?)),
        SAVED => Some(Entry::Saved(input.to_vec())),
        _ => None,
    }
}

fn log_name(number: u64) -> String {
    format!("log-{number:06}")
}

fn log_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(log_name(number))
}

fn spilled(folder: &Path, error: io::Error) -> StreamError {
    StreamError::Spill { folder: folder.display().to_string(), error }
}

/// Takes the folder for this process alone.
fn lock(folder: &Path) -> Result<File, StreamError> {
    let file = File::create(folder.join("lock")).map_err(|error| spilled(folder, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StreamError::InUse { folder: folder.display().to_string() })
        }
        Err(TryLockError::Error(error)) => Err(spilled(folder, error)),
    }
}
