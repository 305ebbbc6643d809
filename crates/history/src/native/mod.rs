//! `.isolde`: the native binary format.
//!
//! ```text
//! file    = magic version block* [footer trailer]
//! block   = kind compression 0 0  stored-length raw-length checksum  body
//! body    = names that the block introduces, columns of its transactions, facts about the run
//! footer  = a block that lists the others (offset, transactions, operations, time span)
//! trailer = offset of the footer, end magic
//! ```
//!
//! Blocks are only ever appended, each by one write; each carries the names it introduces, and
//! nothing that was written depends on what comes later. A recorder that is killed therefore loses
//! at most the block in flight: a file without its trailer is read up to its last complete block,
//! with a warning, and the history is marked incomplete. The body is specified in
//! `docs/history-format.md`.
//!
//! A newer version may add attributes freely: attribute columns carry their own names, and a name
//! that this version does not know is kept and written back. Whatever else changes the layout gets a
//! new version number, which this version refuses by name.

mod block;
mod column;
mod follow;
mod frame;
mod read;
#[cfg(test)]
mod tests;
mod varint;
mod write;

use crate::format::Format;
use crate::source::Source;

pub use follow::{Followed, NativeFollower};
pub use write::{NativeWriter, pack_history};

pub(crate) static FORMAT: Format = Format {
    name: "isolde",
    title: "Isolde's native binary file: compressed columns, safe to append to",
    example: "\\x89ISOLDE\\n ... (binary)",
    looks_like: |source| matches!(source, Source::File(input) if input.bytes.starts_with(&frame::MAGIC)),
    read: read::read,
    load: Some(read::load),
    write: Some(|history, mut out| {
        let mut writer = NativeWriter::new(&mut out)?;
        history.replay(&mut writer)?;
        writer.finish()?;
        Ok(())
    }),
    write_folder: None,
};

/// How many bytes a native file unpacks to.
#[cfg(feature = "files")]
pub(crate) fn unpacked_len(source: &Source) -> u64 {
    source.files().iter().map(|input| frame::unpacked_len(&input.bytes)).sum()
}

/// Where the blocks of a file are.
#[cfg(test)]
pub(crate) fn block_ranges(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let frame = frame::scan(bytes).map(|frame| frame.blocks).unwrap_or_default();
    frame.iter().map(|block| block.offset..block.end()).collect()
}
