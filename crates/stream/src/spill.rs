//! Batches on disk: files of a few dozen megabytes, each batch in the native format.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use isolde_history::{Format, History, HistoryBuilder, Input, NativeWriter, Source};

use crate::error::StreamError;

/// Where a batch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    segment: u32,
    offset: u64,
    len: u32,
}

/// How large a file becomes.
const SEGMENT: u64 = 32 << 20;

/// The files, the oldest of which go when there are too many bytes.
pub(crate) struct Spill {
    folder: PathBuf,
    keep: u64,
    segments: VecDeque<(File, u64)>,
    first: u32,
    bytes: u64,
}

impl Spill {
    /// Files in a folder, which has to be there.
    pub(crate) fn new(folder: PathBuf, keep: u64) -> Spill {
        Spill { folder, keep, segments: VecDeque::new(), first: 0, bytes: 0 }
    }

    /// Writes a batch.
    pub(crate) fn write(&mut self, batch: &History) -> Result<Place, StreamError> {
        let bytes = encode(batch).map_err(|error| self.error(error))?;
        if self.segments.back().is_none_or(|(_, len)| *len >= SEGMENT) {
            self.begin()?;
        }
        let folder = self.folder.display().to_string();
        let Some((file, len)) = self.segments.back_mut() else {
            return Err(self.error(io::Error::other("there is no file")));
        };
        let wrong = |error| StreamError::Spill { folder, error };
        file.write_all_at(&bytes, *len).map_err(wrong)?;
        let segment = self.first + self.segments.len() as u32 - 1;
        let Some((_, len)) = self.segments.back_mut() else {
            return Err(self.error(io::Error::other("there is no file")));
        };
        let place = Place { segment, offset: *len, len: bytes.len() as u32 };
        *len += bytes.len() as u64;
        self.bytes += bytes.len() as u64;
        self.forget_oldest();
        Ok(place)
    }

    /// Reads a batch again; `None` if it is not kept any more.
    pub(crate) fn read(&mut self, place: Place) -> Result<Option<History>, StreamError> {
        let Some(at) = place.segment.checked_sub(self.first) else { return Ok(None) };
        let Some((file, _)) = self.segments.get(at as usize) else { return Ok(None) };
        let mut bytes = vec![0; place.len as usize];
        file.read_exact_at(&mut bytes, place.offset).map_err(|error| self.error(error))?;
        decode(bytes).map(Some).map_err(|error| self.error(error))
    }

    /// The bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn begin(&mut self) -> Result<(), StreamError> {
        let path = self.path(self.first + self.segments.len() as u32);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path);
        self.segments.push_back((file.map_err(|error| self.error(error))?, 0));
        Ok(())
    }

    fn forget_oldest(&mut self) {
        while self.bytes > self.keep && self.segments.len() > 1 {
            let Some((_, len)) = self.segments.pop_front() else { break };
            // A file that cannot be removed takes room; it is not read any more.
            let _ = fs::remove_file(self.path(self.first));
            self.bytes -= len;
            self.first += 1;
        }
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.folder.join(format!("batches-{segment:06}"))
    }

    fn error(&self, error: io::Error) -> StreamError {
        StreamError::Spill { folder: self.folder.display().to_string(), error }
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        for segment in 0..self.segments.len() as u32 {
            let _ = fs::remove_file(self.path(self.first + segment));
        }
    }
}

fn encode(batch: &History) -> io::Result<Vec<u8>> {
    let mut writer = NativeWriter::new(Vec::new()).map_err(io::Error::other)?;
    batch.replay(&mut writer).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
}

fn decode(bytes: Vec<u8>) -> io::Result<History> {
    let native = Format::named("isolde").ok_or_else(|| io::Error::other("no native format"))?;
    let source = Source::File(Input::new("a batch on disk", bytes));
    native.load(&source).map(HistoryBuilder::finish).map_err(io::Error::other)
}
