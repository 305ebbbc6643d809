//! The frame of a native file: where its blocks are, and whether they are whole.

use crate::error::Fault;
use crate::native::varint::{self, VarintReader};

/// The first byte is no text, the last is a line end: a file that was mangled as text does not match.
pub(crate) const MAGIC: [u8; 8] = *b"\x89ISOLDE\n";
/// The layout that this version reads and writes.
pub(crate) const VERSION: u32 = 1;
pub(crate) const FILE_HEADER_LEN: usize = 12;
const END_MAGIC: [u8; 8] = *b"ISOLDEnd";
pub(crate) const TRAILER_LEN: usize = 16;

pub(crate) const BLOCK_HEADER_LEN: usize = 16;
/// The largest body of a block, before compression.
pub(crate) const MAX_BODY: usize = 256 << 20;
/// The most that all bodies of a file may take together, before compression: a small file must
/// not unpack to more than a machine holds.
const MAX_TOTAL: u64 = 16 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum BlockKind {
    Data = 1,
    Footer = 2,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Compression {
    None = 0,
    Zstd = 1,
}

/// A block as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    pub(crate) offset: usize,
    pub(crate) kind: BlockKind,
    pub(crate) compression: Compression,
    pub(crate) raw_len: usize,
    checksum: u32,
    header: [u8; 12],
    pub(crate) bytes: &'a [u8],
}

impl Stored<'_> {
    /// Whether the bytes are those that were written.
    pub(crate) fn is_whole(&self) -> bool {
        checksum(&self.header, self.bytes) == self.checksum
    }

    pub(crate) fn end(&self) -> usize {
        self.offset + BLOCK_HEADER_LEN + self.bytes.len()
    }
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(header), body)
}

/// The bytes of a file's beginning.
pub(crate) fn file_header() -> [u8; FILE_HEADER_LEN] {
    let mut header = [0; FILE_HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..].copy_from_slice(&VERSION.to_le_bytes());
    header
}

/// The bytes before a block's body.
pub(crate) fn block_header(
    kind: BlockKind,
    compression: Compression,
    raw_len: usize,
    stored: &[u8],
) -> [u8; BLOCK_HEADER_LEN] {
    let mut header = [0; BLOCK_HEADER_LEN];
    header[0] = kind as u8;
    header[1] = compression as u8;
    header[4..8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    header[8..12].copy_from_slice(&(raw_len as u32).to_le_bytes());
    let sum = checksum(&header[..12], stored);
    header[12..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// The bytes of a file's end.
pub(crate) fn trailer(footer_offset: u64) -> [u8; TRAILER_LEN] {
    let mut trailer = [0; TRAILER_LEN];
    trailer[..8].copy_from_slice(&footer_offset.to_le_bytes());
    trailer[8..].copy_from_slice(&END_MAGIC);
    trailer
}

/// What a file consists of.
pub(crate) struct Frame<'a> {
    pub(crate) blocks: Vec<Stored<'a>>,
    /// Where the complete part ends, if there is more than that.
    pub(crate) torn_at: Option<usize>,
    /// What the footer says, if there is one.
    index: Index,
}

impl Frame<'_> {
    /// How many transactions to expect: a hint, and no more than the bodies could hold.
    pub(crate) fn txns(&self) -> usize {
        self.expect(|e| e.txns)
    }

    /// How many operations to expect: a hint, and no more than the bodies could hold.
    pub(crate) fn ops(&self) -> usize {
        self.expect(|e| e.ops)
    }

    fn expect(&self, count: fn(&IndexEntry) -> u64) -> usize {
        let said = self.index.entries.iter().map(count).fold(0, u64::saturating_add);
        let bytes: usize = self.blocks.iter().map(|b| b.raw_len).sum();
        // A transaction or an operation takes at least one byte.
        usize::try_from(said).map_or(bytes, |said| said.min(bytes))
    }
}

/// Finds the blocks of a file.
///
/// A file that ends with a trailer was finished: whatever is wrong inside it is damage, and an
/// error. A file that does not was cut, and everything up to its last complete block is good.
pub(crate) fn scan(bytes: &[u8]) -> Result<Frame<'_>, Fault> {
    check_header(bytes)?;
    let finished = bytes.ends_with(&END_MAGIC);
    let mut blocks = Vec::new();
    let mut pos = FILE_HEADER_LEN;
    let mut total = 0u64;
    loop {
        let block = match stored_block(bytes, pos) {
            Ok(block) if block.is_whole() => block,
            Ok(_) if finished => return Err(damaged(pos, "its checksum does not match")),
            Err(complaint) if finished => return Err(damaged(pos, complaint)),
            _ => return Ok(Frame { blocks, torn_at: Some(pos), index: Index::default() }),
        };
        if block.kind == BlockKind::Footer {
            return finish(bytes, block, blocks);
        }
        total += block.raw_len as u64;
        if total > MAX_TOTAL {
            return Err(Fault::wrong(
                pos,
                format!("the file unpacks to more than {MAX_TOTAL} bytes"),
            ));
        }
        pos = block.end();
        blocks.push(block);
    }
}

/// How many bytes the blocks of a file unpack to, as their headers say.
#[cfg(feature = "files")]
pub(super) fn unpacked_len(bytes: &[u8]) -> u64 {
    let mut pos = FILE_HEADER_LEN;
    let mut total = 0;
    while let Ok(block) = stored_block(bytes, pos) {
        total += block.raw_len as u64;
        pos = block.end();
    }
    total
}

/// Complains unless the bytes begin as a file of this version does.
pub(super) fn check_header(bytes: &[u8]) -> Result<(), Fault> {
    if !bytes.starts_with(&MAGIC) {
        return Err(Fault::expected(0, "the beginning of a native file"));
    }
    let version = bytes.get(8..FILE_HEADER_LEN).and_then(|b| b.try_into().ok());
    let version = version.map(u32::from_le_bytes);
    match version {
        Some(VERSION) => Ok(()),
        Some(newer) => Err(Fault::wrong(8, format!("the file has layout version {newer}"))
            .hint(format!("this isolde reads version {VERSION}"))),
        None => Err(Fault::expected(8, "the version of the file")),
    }
}

/// What a block says of itself before its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHeader {
    pub(crate) kind: BlockKind,
    compression: Compression,
    pub(crate) stored_len: usize,
    raw_len: usize,
    checksum: u32,
    /// What the checksum covers, beside the body.
    covered: [u8; 12],
}

/// What the header of a block says; the complaint if it makes no sense.
pub(super) fn read_block_header(
    header: &[u8; BLOCK_HEADER_LEN],
) -> Result<BlockHeader, &'static str> {
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let kind = match header[0] {
        1 => BlockKind::Data,
        2 => BlockKind::Footer,
        _ => return Err("its kind is unknown"),
    };
    let compression = match header[1] {
        0 => Compression::None,
        1 => Compression::Zstd,
        _ => return Err("its compression is unknown"),
    };
    let (stored_len, raw_len) = (number(4) as usize, number(8) as usize);
    // What does not get smaller is not compressed.
    if raw_len > MAX_BODY || stored_len > MAX_BODY {
        return Err("it is larger than blocks may be");
    }
    let mut covered = [0; 12];
    covered.copy_from_slice(&header[..12]);
    let checksum = number(12);
    Ok(BlockHeader { kind, compression, stored_len, raw_len, checksum, covered })
}

impl BlockHeader {
    /// The block that it begins, which stands at an offset of the file.
    pub(super) fn block(self, offset: usize, bytes: &[u8]) -> Stored<'_> {
        let BlockHeader { kind, compression, raw_len, checksum, covered, .. } = self;
        Stored { offset, kind, compression, raw_len, checksum, header: covered, bytes }
    }
}

fn stored_block(bytes: &[u8], offset: usize) -> Result<Stored<'_>, &'static str> {
    let header: &[u8; BLOCK_HEADER_LEN] = bytes
        .get(offset..)
        .and_then(|rest| rest.first_chunk())
        .ok_or("it ends within the header")?;
    let header = read_block_header(header)?;
    let start = offset + BLOCK_HEADER_LEN;
    let body = bytes.get(start..start + header.stored_len).ok_or("it ends within the body")?;
    Ok(header.block(offset, body))
}

pub(super) fn damaged(offset: usize, complaint: &str) -> Fault {
    Fault::wrong(offset, format!("the block that starts here is damaged: {complaint}"))
}

/// The footer must be the end, and list what came before it.
fn finish<'a>(
    bytes: &[u8],
    footer: Stored<'_>,
    blocks: Vec<Stored<'a>>,
) -> Result<Frame<'a>, Fault> {
    let trailer_at = footer.end();
    let rest = &bytes[trailer_at..];
    if rest != trailer(footer.offset as u64) {
        if rest.len() < TRAILER_LEN {
            return Ok(Frame { blocks, torn_at: Some(footer.offset), index: Index::default() });
        }
        return Err(Fault::wrong(trailer_at, "something follows the end of the file"));
    }
    let index = check_footer(&footer, blocks.iter().map(|b| b.offset as u64))?;
    Ok(Frame { blocks, torn_at: None, index })
}

/// What the footer says, which must list the blocks at these offsets and no others.
pub(super) fn check_footer(
    footer: &Stored<'_>,
    offsets: impl Iterator<Item = u64>,
) -> Result<Index, Fault> {
    let index = Index::decode(footer.bytes).unwrap_or_default();
    let listed = index.entries.iter().map(|e| e.offset);
    if footer.compression != Compression::None || !listed.eq(offsets) {
        return Err(damaged(footer.offset, "the footer does not list the blocks before it"));
    }
    Ok(index)
}

/// What the footer says of each block.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Index {
    pub(crate) entries: Vec<IndexEntry>,
}

/// What the footer says of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IndexEntry {
    pub(crate) offset: u64,
    pub(crate) txns: u64,
    pub(crate) ops: u64,
    /// The earliest beginning and the latest end of its transactions.
    pub(crate) span: Option<(i64, i64)>,
}

impl Index {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::put(&mut out, self.entries.len() as u64);
        for e in &self.entries {
            for n in [e.offset, e.txns, e.ops, u64::from(e.span.is_some())] {
                varint::put(&mut out, n);
            }
            if let Some((from, to)) = e.span {
                varint::put(&mut out, varint::zigzag(from));
                varint::put(&mut out, varint::zigzag(to));
            }
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Index> {
        let mut reader = VarintReader::new(bytes);
        let count = reader.get()?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let (offset, txns, ops) = (reader.get()?, reader.get()?, reader.get()?);
            let span = match reader.get()? {
                0 => None,
                1 => Some((varint::unzigzag(reader.get()?), varint::unzigzag(reader.get()?))),
                _ => return None,
            };
            entries.push(IndexEntry { offset, txns, ops, span });
        }
        reader.at_end().then_some(Index { entries })
    }
}
