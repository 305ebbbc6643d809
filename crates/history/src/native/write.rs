//! Writing a native file, block by block, as things happen.

use std::io::Write;

use crate::builder::{HistoryBuilder, Warnings};
use crate::columns::Columns;
use crate::draft::TxnDraft;
use crate::error::{SinkError, Warning};
use crate::history::History;
use crate::ids::Key;
use crate::meta::{Event, Meta};
use crate::native::block::{self, Contents, NameCounts};
use crate::native::frame::{
    self, BlockKind, Compression, FILE_HEADER_LEN, Index, IndexEntry, MAX_BODY,
};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::value::Value;

/// A block is written when it has this many transactions ...
const BLOCK_TXNS: usize = 16 * 1024;
/// ... or this many operations and elements.
const BLOCK_OPS: usize = 512 * 1024;
/// Names beyond this many bytes go into blocks of their own.
const BLOCK_NAME_BYTES: usize = 16 << 20;
/// The largest single text, list or row.
const MAX_VALUE: usize = 64 << 20;

/// A recorder's file: everything pushed into it is on disk after the next
/// [`flush_block`](NativeWriter::flush_block), whatever happens to the process.
pub struct NativeWriter<W: Write> {
    out: W,
    offset: u64,
    /// What is not written yet; its pool holds all names of the file.
    part: HistoryBuilder,
    written: NameCounts,
    written_meta: Option<Meta>,
    index: Index,
    body: Vec<u8>,
    packed: Vec<u8>,
    block_txns: usize,
    compresses: bool,
}

/// A history as a native file in memory, to be read again soon: if it is small it is one block, made at once of its columns,
/// and nothing is compressed.
pub fn pack_history(history: &History) -> Result<Vec<u8>, SinkError> {
    let mut writer = NativeWriter::new(Vec::new())?;
    writer.compresses = false;
    let (pool, columns) = (history.pool(), history.columns());
    let upto = NameCounts::of(pool);
    let name_bytes: usize = (0..upto.values).map(|v| pool.entries().get(v).1.len() + 8).sum();
    let is_small = columns.txn_count() < BLOCK_TXNS
        && columns.op_count() + columns.elements.len() < BLOCK_OPS
        && name_bytes < BLOCK_NAME_BYTES;
    if !is_small {
        history.replay(&mut writer)?;
        return writer.finish();
    }
    let (events, orders) = (history.events(), history.version_orders());
    let contents = Contents { pool, columns, events, orders };
    let before = NameCounts::default();
    block::encode(&mut writer.body, &contents, before, upto, Some(history.meta()));
    let entry = index_entry(columns, writer.offset);
    writer.write_block(entry)?;
    writer.finish_file()
}

impl<W: Write> NativeWriter<W> {
    /// Starts a file.
    pub fn new(mut out: W) -> Result<NativeWriter<W>, SinkError> {
        out.write_all(&frame::file_header())?;
        Ok(NativeWriter {
            out,
            offset: FILE_HEADER_LEN as u64,
            part: HistoryBuilder::new(),
            written: NameCounts::default(),
            written_meta: None,
            index: Index::default(),
            body: Vec::new(),
            packed: Vec::new(),
            block_txns: BLOCK_TXNS,
            compresses: true,
        })
    }

    /// Writes a block after every so many transactions, rather than the usual 16384.
    #[must_use]
    pub fn with_block_size(mut self, txns: usize) -> NativeWriter<W> {
        self.block_txns = txns.clamp(1, BLOCK_TXNS);
        self
    }

    /// Writes everything pushed so far as a block of its own.
    pub fn flush_block(&mut self) -> Result<(), SinkError> {
        let upto = NameCounts::of(&self.part.pool);
        let meta = Some(&self.part.meta) != self.written_meta.as_ref();
        let idle = self.part.columns.txn_count() == 0
            && self.part.events.is_empty()
            && self.part.orders.is_empty();
        if idle && upto == self.written && !meta {
            return Ok(());
        }
        self.write_early_names(upto)?;
        let meta = meta.then(|| self.part.meta.clone());
        self.body.clear();
        let contents = Contents::from(&self.part);
        block::encode(&mut self.body, &contents, self.written, upto, meta.as_ref());
        let entry = index_entry(&self.part.columns, self.offset);
        self.write_block(entry)?;
        self.written = upto;
        self.written_meta = meta.or_else(|| self.written_meta.take());
        self.part.columns.clear();
        self.part.events.clear();
        self.part.orders.clear();
        Ok(())
    }

    /// Names too many for one block get blocks without transactions before it.
    fn write_early_names(&mut self, upto: NameCounts) -> Result<(), SinkError> {
        let mut bytes = 0;
        let mut next = self.written;
        while next.values < upto.values {
            let len = self.part.pool.entries().get(next.values).1.len();
            if len > MAX_VALUE {
                return Err(SinkError::limit("bytes in one value", MAX_VALUE as u64));
            }
            bytes += len + 8;
            next.values += 1;
            if bytes < BLOCK_NAME_BYTES {
                continue;
            }
            self.body.clear();
            block::encode_only_names(&mut self.body, &self.part.pool, self.written, next);
            self.write_block(IndexEntry { offset: self.offset, txns: 0, ops: 0, span: None })?;
            self.written = next;
            bytes = 0;
        }
        Ok(())
    }

    /// One block, one write: a process that dies leaves whole blocks behind.
    fn write_block(&mut self, entry: IndexEntry) -> Result<(), SinkError> {
        if self.body.len() > MAX_BODY {
            return Err(SinkError::limit("bytes in one block", MAX_BODY as u64));
        }
        let compression = match self.compresses {
            true => compress(&self.body, &mut self.packed)?,
            false => Compression::None,
        };
        let stored = match compression {
            Compression::None => &self.body,
            Compression::Zstd => &self.packed,
        };
        let header = frame::block_header(BlockKind::Data, compression, self.body.len(), stored);
        let mut bytes = Vec::with_capacity(header.len() + stored.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(stored);
        self.out.write_all(&bytes)?;
        self.offset += bytes.len() as u64;
        self.index.entries.push(entry);
        Ok(())
    }

    /// Writes what is left and the end of the file.
    pub fn finish(mut self) -> Result<W, SinkError> {
        self.flush_block()?;
        self.finish_file()
    }

    fn finish_file(mut self) -> Result<W, SinkError> {
        let footer = self.index.encode();
        let kind = BlockKind::Footer;
        let header = frame::block_header(kind, Compression::None, footer.len(), &footer);
        let mut bytes = header.to_vec();
        bytes.extend_from_slice(&footer);
        bytes.extend_from_slice(&frame::trailer(self.offset));
        self.out.write_all(&bytes)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// What the user should know, as far as there were warnings.
    pub fn warnings(&self) -> &Warnings {
        &self.part.warnings
    }
}

fn index_entry(c: &Columns, offset: u64) -> IndexEntry {
    let from = c.txn_begin.iter().map(|(_, t)| t).min();
    let to = c.txn_end.iter().map(|(_, t)| t).max();
    let (txns, ops) = (c.txn_count() as u64, c.op_count() as u64);
    IndexEntry { offset, txns, ops, span: from.zip(to) }
}

/// Fast compression; a body that does not shrink is stored as it is.
#[cfg(feature = "zstd")]
fn compress(body: &[u8], packed: &mut Vec<u8>) -> Result<Compression, SinkError> {
    *packed = zstd::bulk::compress(body, 1)?;
    Ok(if packed.len() < body.len() { Compression::Zstd } else { Compression::None })
}

#[cfg(not(feature = "zstd"))]
fn compress(_: &[u8], _: &mut Vec<u8>) -> Result<Compression, SinkError> {
    Ok(Compression::None)
}

impl<W: Write> Sink for NativeWriter<W> {
    fn pool(&mut self) -> &mut Pool {
        &mut self.part.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.part.meta
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.part.transaction(txn)?;
        let c = &self.part.columns;
        if c.txn_count() >= self.block_txns || c.op_count() + c.elements.len() >= BLOCK_OPS {
            self.flush_block()?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.part.event(event)
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.part.version_order(key, versions)
    }

    fn warn(&mut self, warning: Warning) {
        self.part.warn(warning);
    }
}
