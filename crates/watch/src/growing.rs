//! A file that grows: it is read on as it grows, and given up when it is not the same file any more.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, LINGER};
use crate::said::Said;

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
            Ok(_) => Some(format!("{name} was replaced by another file while it was read")),
            Err(error) => Some(format!("{name} has gone while it was read: {error}")),
        }
    }

    /// Reads lines as they are written; to the end only if that is wanted.
    pub(crate) fn run(
        mut self,
        said: &Arc<Said>,
        until_end: bool,
        feed: &Feed,
    ) -> Result<(), Over> {
        let mut gather = Gather::new(&self.name(), said, None);
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

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.read += len as u64;
        Ok(len)
    }
}
