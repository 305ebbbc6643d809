//! A native file that grows, block by block.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use isolde_history::{
    Event, Followed, JsonlWriter, Key, Meta, NativeFollower, Pool, Sink, SinkError, TxnDraft,
    Value, Warning,
};

use crate::agreed::Agreed;
use crate::feed::{Feed, Message, Over};
use crate::gather::{Gather, LINGER, Of};
use crate::growing::Growing;
use crate::place::{BlockPlace, Place};

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

/// Passes on what is said of the whole file, and nothing else.
struct Skipping<'w>(&'w mut JsonlWriter<Tape>);

impl Sink for Skipping<'_> {
    fn pool(&mut self) -> &mut Pool {
        self.0.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.0.meta()
    }

    fn transaction(&mut self, _: &TxnDraft) -> Result<(), SinkError> {
        Ok(())
    }

    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, warning: Warning) {
        self.0.warn(warning);
    }
}

/// From blocks to lines, and from those to batches.
struct Blocks {
    tape: Tape,
    lines: JsonlWriter<Tape>,
    gather: Gather,
    /// Whether the header has been passed on.
    begun: bool,
    /// The blocks that have been read whole, and where they end.
    done: BlockPlace,
    /// How far an earlier watch had come.
    reached: BlockPlace,
}

impl Blocks {
    /// Reads the next block, if it is there. Those that an earlier watch had whole tell only their names.
    fn read(
        &mut self,
        follower: &mut NativeFollower<Both>,
        out: &mut Vec<Message>,
    ) -> Result<Followed, String> {
        let followed = match self.done.blocks < self.reached.blocks {
            true => follower.read_block(&mut Skipping(&mut self.lines)),
            false => follower.read_block(&mut self.lines),
        };
        self.gather(out);
        if let Ok(Followed::Block(_)) = followed {
            self.done.blocks += 1;
            self.done.bytes = follower.offset();
        }
        followed.map_err(|error| error.to_string())
    }

    /// The file is finished: what it says at its end of the whole.
    fn close(&mut self, out: &mut Vec<Message>) -> Result<(), String> {
        let lines = std::mem::replace(&mut self.lines, JsonlWriter::new(self.tape.clone()));
        lines.finish().map_err(|error| error.to_string())?;
        self.gather(out);
        Ok(())
    }

    /// The batches of the lines of a block, without those that an earlier watch had.
    fn gather(&mut self, out: &mut Vec<Message>) {
        let text = self.tape.take();
        let mut rest = &text[..];
        if !self.begun && !rest.is_empty() {
            self.begun = true;
            let header = after_lines(rest, 1);
            out.extend(self.gather.push(&rest[..header]));
            rest = &rest[header..];
        }
        let is_last = self.done.blocks == self.reached.blocks;
        let had = if is_last { self.reached.lines } else { 0 };
        let before = self.gather.passed();
        let mut batches = self.gather.push(&rest[after_lines(rest, had)..]);
        // No batch has lines of two blocks.
        batches.extend(self.gather.flush());
        for message in &mut batches {
            if let Message::Batch { place: Some(place), .. } = message
                && let Place::Lines(at) = place
            {
                let lines = had + (at.lines - before);
                *place = Place::Blocks(BlockPlace { lines, ..self.done.clone() });
            }
        }
        out.extend(batches);
    }
}

/// Where so many lines end.
fn after_lines(text: &[u8], lines: u64) -> usize {
    let mut ends = memchr::memchr_iter(b'\n', text);
    let last = lines.checked_sub(1).and_then(|before| ends.nth(before as usize));
    match (lines, last) {
        (0, _) => 0,
        (_, Some(end)) => end + 1,
        (_, None) => text.len(),
    }
}

/// Follows the file, from where an earlier watch had come. Its blocks become lines, and those batches: a block's names
/// are numbers of the file as a whole, which a batch alone could not resolve.
pub(crate) fn run(
    file: Growing,
    agreed: &Arc<Agreed>,
    reached: Option<BlockPlace>,
    until_end: bool,
    feed: &Feed,
) -> Result<(), Over> {
    let (name, file) = (file.name(), Both(Arc::new(Mutex::new(file))));
    let mut follower = NativeFollower::new(file.clone(), &name);
    let tape = Tape::default();
    let start = BlockPlace { blocks: 0, bytes: 0, lines: 0 };
    let mut blocks = Blocks {
        lines: JsonlWriter::new(tape.clone()),
        tape,
        gather: Gather::new(&name, agreed, None).of(Of::File),
        begun: false,
        reached: reached.unwrap_or_else(|| start.clone()),
        done: start,
    };
    loop {
        if feed.is_over() {
            return Err(Over);
        }
        let mut out = Vec::new();
        let followed = blocks.read(&mut follower, &mut out);
        let closed = match followed {
            Ok(Followed::Ended) => blocks.close(&mut out),
            _ => Ok(()),
        };
        feed.send_all(out)?;
        match closed.and(followed) {
            Ok(Followed::Block(_)) => {}
            Ok(Followed::Ended) => break,
            Ok(Followed::Waiting) => {
                if let Some(trouble) = file.file().trouble() {
                    return feed.send(Message::Failed(trouble));
                }
                if until_end {
                    break;
                }
                thread::sleep(LINGER);
            }
            Err(why) => return feed.send(Message::Failed(why)),
        }
    }
    // A file that was cut does not say that it is complete.
    feed.send_all(blocks.gather.end())?;
    feed.send(Message::Ended)
}
