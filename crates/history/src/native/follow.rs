//! Following a native file while it is written, block by block.

use std::io::{ErrorKind, Read};

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::native::frame::{
    BLOCK_HEADER_LEN, BlockHeader, BlockKind, FILE_HEADER_LEN, MAGIC, TRAILER_LEN, check_footer,
    check_header, damaged, read_block_header, trailer,
};
use crate::native::read::{decode, introduce, push_block, say_torn};
use crate::pool::Pool;
use crate::remap::Remap;
use crate::sink::Sink;
use crate::source::Input;

/// How much is read at a time: a length that a file claims is believed only as far as bytes come.
const PIECE: usize = 256 * 1024;

/// What a call of [`NativeFollower::read_block`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Followed {
    /// A block was passed on, with so many transactions. There may be another one.
    Block(usize),
    /// Nothing more is there yet: no whole block. Ask again later.
    Waiting,
    /// The file is finished: nothing will ever follow.
    Ended,
}

/// Reads an `.isolde` file while a recorder writes it, block by block into any sink.
///
/// It holds one block at a time, and the names of the file. A block that is not whole yet is waited for;
/// what can never become a file is an error that says where, and from then on the answer to
/// every call.
///
/// ```
/// use isolde_history::{Followed, HistoryBuilder, NativeFollower, NativeWriter, Sink, TxnDraft, Value};
/// let mut writer = NativeWriter::new(Vec::new())?;
/// let mut txn = TxnDraft::default();
/// txn.reset(writer.pool().session(Value::from_u32(1)));
/// writer.transaction(&txn)?;
/// let file = writer.finish()?;
///
/// let mut builder = HistoryBuilder::new();
/// let mut follower = NativeFollower::new(&file[..], "run.isolde");
/// assert_eq!(follower.read_block(&mut builder)?, Followed::Block(1));
/// assert_eq!(follower.read_block(&mut builder)?, Followed::Ended);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NativeFollower<R> {
    stream: R,
    /// What to call the file, and what is there of the part that is read now.
    input: Input,
    part: Part,
    /// Where that part begins.
    offset: usize,
    /// Where the blocks so far began.
    blocks: Vec<u64>,
    pool: Pool,
    map: Remap,
    draft: TxnDraft,
    broken: Option<ReadError>,
}

/// What comes next in the file.
#[derive(Clone, Copy)]
enum Part {
    FileHeader,
    BlockHeader,
    /// The block that has this header, which stands before it.
    Block(BlockHeader),
    Nothing,
}

impl Part {
    /// How many bytes it has.
    fn len(&self) -> usize {
        match self {
            Part::FileHeader => FILE_HEADER_LEN,
            Part::BlockHeader => BLOCK_HEADER_LEN,
            Part::Block(header) => {
                let trailer = if header.kind == BlockKind::Footer { TRAILER_LEN } else { 0 };
                BLOCK_HEADER_LEN + header.stored_len + trailer
            }
            // Whatever follows the end is too much.
            Part::Nothing => 1,
        }
    }
}

impl<R: Read> NativeFollower<R> {
    /// Follows a stream from its beginning; the name is for messages. That a stream has nothing more
    /// to give now (as a file at its end, or a pipe that does not block) is not taken for its end.
    pub fn new(stream: R, name: &str) -> NativeFollower<R> {
        NativeFollower {
            stream,
            input: Input::new(name, Vec::new()),
            part: Part::FileHeader,
            offset: 0,
            blocks: Vec::new(),
            pool: Pool::new(),
            map: Remap::default(),
            draft: TxnDraft::default(),
            broken: None,
        }
    }

    /// Passes the next block on, if it is there.
    pub fn read_block(&mut self, sink: &mut dyn Sink) -> Result<Followed, ReadError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.advance(sink).map_err(|fault| {
            let error = self.input.binary_error(fault);
            self.broken = Some(error.clone());
            error
        })
    }

    /// Passes on all blocks that are there: [`Followed::Waiting`] or [`Followed::Ended`].
    pub fn read_blocks(&mut self, sink: &mut dyn Sink) -> Result<Followed, ReadError> {
        loop {
            match self.read_block(sink)? {
                Followed::Block(_) => {}
                done => return Ok(done),
            }
        }
    }

    /// How many bytes of the file have been passed on.
    pub fn offset(&self) -> u64 {
        self.offset as u64
    }

    /// Gives up waiting. If the file has not ended, the history is marked incomplete, with the warning
    /// that reading the whole file would give.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<(), ReadError> {
        let NativeFollower { input, part, offset, blocks, broken, .. } = self;
        if let Some(error) = broken {
            return Err(error);
        }
        match part {
            Part::FileHeader => check_header(&input.bytes).map_err(|f| input.binary_error(f)),
            Part::Nothing => Ok(()),
            Part::BlockHeader | Part::Block(_) => {
                say_torn(&input, blocks.len(), offset, input.bytes.len(), sink);
                Ok(())
            }
        }
    }

    fn advance(&mut self, sink: &mut dyn Sink) -> Result<Followed, Fault> {
        loop {
            if !self.fill()? {
                return Ok(match self.part {
                    Part::Nothing => Followed::Ended,
                    _ => Followed::Waiting,
                });
            }
            match self.part {
                Part::FileHeader => {
                    check_header(&self.input.bytes)?;
                    self.next(Part::BlockHeader);
                }
                Part::BlockHeader => {
                    let header = self.input.bytes.first_chunk().ok_or("it ends within the header");
                    let header = header.and_then(read_block_header);
                    // The block's bytes follow in the same buffer.
                    self.part = Part::Block(header.map_err(|e| damaged(self.offset, e))?);
                }
                Part::Block(header) if header.kind == BlockKind::Footer => {
                    self.footer(header)?;
                    self.next(Part::Nothing);
                    return Ok(Followed::Ended);
                }
                Part::Block(header) => {
                    let txns = self.block(header, sink)?;
                    self.blocks.push(self.offset as u64);
                    self.next(Part::BlockHeader);
                    return Ok(Followed::Block(txns));
                }
                Part::Nothing => {
                    return Err(Fault::wrong(self.offset, "something follows the end of the file"));
                }
            }
        }
    }

    /// Goes on behind the part that is done.
    fn next(&mut self, part: Part) {
        self.offset += self.input.bytes.len();
        self.input.bytes.clear();
        self.part = part;
    }

    /// Reads until the part is there; `false` if the stream has no more to give.
    fn fill(&mut self) -> Result<bool, Fault> {
        let bytes = &mut self.input.bytes;
        while bytes.len() < self.part.len() {
            let before = bytes.len();
            bytes.resize(before + (self.part.len() - before).min(PIECE), 0);
            let read = self.stream.read(&mut bytes[before..]);
            bytes.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => {
                    let at = self.offset + bytes.len();
                    return Err(Fault::wrong(at, format!("cannot read: {e}")));
                }
            }
            // What begins as another file does will not become one of ours.
            if matches!(self.part, Part::FileHeader)
                && !MAGIC.iter().zip(&*bytes).all(|(a, b)| a == b)
            {
                return Err(Fault::expected(0, "the beginning of a native file"));
            }
        }
        Ok(true)
    }

    fn block(&mut self, header: BlockHeader, sink: &mut dyn Sink) -> Result<usize, Fault> {
        let body = self.input.bytes.get(BLOCK_HEADER_LEN..).unwrap_or_default();
        let stored = header.block(self.offset, body);
        if !stored.is_whole() {
            return Err(damaged(self.offset, "its checksum does not match"));
        }
        let block = decode(&stored)?;
        introduce(&block, &mut self.pool, &stored)?;
        sink.pool().adopt_more(&self.pool, &mut self.map);
        let pushed = push_block(&block, &self.pool, &self.map, sink, &mut self.draft);
        pushed.map_err(|e| Fault::sink(self.offset, &e))?;
        Ok(block.columns.txn_count())
    }

    /// Checks the footer and the trailer behind it.
    fn footer(&self, header: BlockHeader) -> Result<(), Fault> {
        let rest = self.input.bytes.get(BLOCK_HEADER_LEN..).unwrap_or_default();
        let (body, end) = rest.split_at(header.stored_len.min(rest.len()));
        let stored = header.block(self.offset, body);
        if !stored.is_whole() {
            return Err(damaged(self.offset, "its checksum does not match"));
        }
        if end != trailer(self.offset as u64) {
            let at = self.offset + BLOCK_HEADER_LEN + body.len();
            return Err(Fault::wrong(at, "the end of the file does not say where its footer is"));
        }
        check_footer(&stored, self.blocks.iter().copied()).map(drop)
    }
}
