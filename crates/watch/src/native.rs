//! A native file that grows, block by block.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use isolde_history::{Followed, JsonlWriter, NativeFollower};

use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, LINGER};
use crate::growing::Growing;
use crate::said::Said;

/// Two handles of one file: the reader has one, and this thread asks the other whether it is still the same file.
#[derive(Clone)]
struct Both(Arc<Mutex<Growing>>);

/// Lines that were written and not taken yet.
#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<u8>>>);

impl Both {
    fn file(&self) -> MutexGuard<'_, Growing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Both {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file().read(buffer)
    }
}

impl Tape {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Follows the file. Its blocks become lines, and those batches: a block's names are numbers of the file as a whole,
/// which a batch alone could not resolve.
pub(crate) fn run(
    file: Growing,
    said: &Arc<Said>,
    until_end: bool,
    feed: &Feed,
) -> Result<(), Over> {
    let (name, file) = (file.name(), Both(Arc::new(Mutex::new(file))));
    let mut follower = NativeFollower::new(file.clone(), &name);
    let tape = Tape::default();
    let mut lines = JsonlWriter::new(tape.clone());
    let mut gather = Gather::new(&name, said, None);
    loop {
        if feed.is_over() {
            return Err(Over);
        }
        let followed = follower.read_block(&mut lines);
        feed.send_all(gather.push(&tape.take()))?;
        match followed {
            Ok(Followed::Block(_)) => {}
            Ok(Followed::Ended) => break,
            Ok(Followed::Waiting) => {
                feed.send_all(gather.flush())?;
                if let Some(trouble) = file.file().trouble() {
                    return feed.send(Message::Failed(trouble));
                }
                if until_end {
                    break;
                }
                thread::sleep(LINGER);
            }
            Err(error) => {
                feed.send_all(gather.flush())?;
                return feed.send(Message::Failed(error.to_string()));
            }
        }
    }
    feed.send_all(gather.end())?;
    feed.send(Message::Ended)
}
