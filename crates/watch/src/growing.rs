//! A file that grows: it is read on as it grows, and given up when it is not the same file any more.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::agreed::Agreed;
use crate::decode::Decoder;
use crate::feed::{Feed, Message, Over};
use crate::frame::MAX_LINE;
use crate::gather::{Gather, LINGER, Of};
use crate::place::{LinePlace, Tail};

/// How much is read at a time.
const PIECE: usize = 256 << 10;

/// A file that may grow.
pub(crate) struct Growing {
    file: File,
    path: PathBuf,
    /// How far it has been read.
    read: u64,
}

impl Growing {
    /// Opens a file that is there.
    pub(crate) fn open(path: &Path) -> io::Result<Growing> {
        Ok(Growing { file: File::open(path)?, path: path.to_owned(), read: 0 })
    }

    /// The device and the number of the file; nothing if it is one that cannot be read again, such as a pipe.
    pub(crate) fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        let about = self.file.metadata()?;
        Ok(about.is_file().then(|| (about.dev(), about.ino())))
    }

    /// Whether it is the file of which so many bytes have been read; else a sentence that says why not.
    pub(crate) fn is_still(&self, identity: Option<(u64, u64)>, read: u64) -> Result<(), String> {
        let name = self.name();
        let about = self.file.metadata().map_err(|error| format!("{name}: {error}"))?;
        let len = about.len();
        if len < read {
            return Err(format!("{name} has shrunk: it has {len} bytes, and {read} were read"));
        }
        if identity.is_some_and(|file| file != (about.dev(), about.ino())) {
            return Err(replaced(&name));
        }
        Ok(())
    }

    /// Goes on at a place. What the header says is read once more.
    pub(crate) fn go_to(&mut self, place: &LinePlace) -> Result<Option<Vec<u8>>, String> {
        let name = self.name();
        let cannot = |error: io::Error| format!("{name}: cannot read: {error}");
        let mut before = vec![0; place.tail.len];
        let from = place.offset.saturating_sub(before.len() as u64);
        self.file.seek(SeekFrom::Start(from)).map_err(cannot)?;
        self.file.read_exact(&mut before).map_err(cannot)?;
        if Tail::of(&before) != place.tail {
            return Err(replaced(&name));
        }
        let head = place.head.map(|(offset, _)| self.line_at(offset)).transpose();
        let head = head.map_err(cannot)?;
        self.file.seek(SeekFrom::Start(place.offset)).map_err(cannot)?;
        self.read = place.offset;
        Ok(head)
    }

    fn line_at(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut line = Vec::new();
        BufReader::new(&self.file).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// What to call it.
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Why it cannot be read on, if it is not the file any more that it was.
    pub(crate) fn trouble(&self) -> Option<String> {
        let name = self.name();
        let own = match self.file.metadata() {
            Ok(own) => own,
            Err(error) => return Some(format!("{name}: {error}")),
        };
        // A pipe has no length, and no other of its name takes its place unseen.
        if !own.is_file() {
            return None;
        }
        if own.len() < self.read {
            let (len, read) = (own.len(), self.read);
            return Some(format!("{name} has shrunk: it has {len} bytes, and {read} were read"));
        }
        match fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => None,
            Ok(_) => Some(replaced(&name)),
            Err(error) => Some(format!("{name} has gone while it was read: {error}")),
        }
    }

    /// A gatherer of lines from a place on.
    pub(crate) fn gather_at(
        &mut self,
        place: &LinePlace,
        agreed: &Arc<Agreed>,
    ) -> Result<Gather, String> {
        let line = self.go_to(place)?;
        let mut decoder = Decoder { name: self.name(), agreed: Arc::clone(agreed), head: None };
        if let (Some(line), Some((_, number))) = (line, place.head) {
            let head = decoder.header(&line, number).map_err(|error| error.to_string())?;
            decoder.head = head.map(Arc::new);
        }
        Ok(Gather::at(place, decoder).of(Of::File))
    }

    /// Reads lines as they are written; to the end only if that is wanted.
    pub(crate) fn run(
        mut self,
        mut gather: Gather,
        until_end: bool,
        feed: &Feed,
    ) -> Result<(), Over> {
        let mut piece = vec![0; PIECE];
        loop {
            if feed.is_over() {
                return Err(Over);
            }
            match self.read(&mut piece) {
                Ok(0) => {
                    feed.send_all(gather.flush())?;
                    if let Some(trouble) = self.trouble() {
                        return feed.send(Message::Failed(trouble));
                    }
                    if until_end {
                        feed.send_all(gather.end())?;
                        return feed.send(Message::Ended);
                    }
                    thread::sleep(LINGER);
                }
                Ok(len) => feed.send_all(gather.push(&piece[..len]))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    feed.send_all(gather.flush())?;
                    let failed = format!("{}: cannot read: {error}", self.name());
                    return feed.send(Message::Failed(failed));
                }
            }
        }
    }
}

fn replaced(name: &str) -> String {
    format!("{name} was replaced by another file while it was read")
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.read += len as u64;
        Ok(len)
    }
}
