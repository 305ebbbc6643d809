//! Reading a native file: on all cores into a history, or block by block into any sink.

use crate::builder::HistoryBuilder;
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError, SinkError};
use crate::in_order::in_order;
use crate::native::block::{self, Block};
use crate::native::frame::{self, Compression, Stored};
use crate::pool::Pool;
use crate::remap::Remap;
use crate::session_event::around_transactions;
use crate::sink::Sink;
use crate::source::{Input, Source};

/// Reads the blocks one after another; never more than one is held.
pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let fail = |fault| input.binary_error(fault);
    let frame = frame::scan(&input.bytes).map_err(fail)?;
    let mut pool = Pool::new();
    let mut map = Remap::default();
    let mut draft = TxnDraft::default();
    for stored in &frame.blocks {
        let block = decode(stored).map_err(fail)?;
        introduce(&block, &mut pool, stored).map_err(fail)?;
        sink.pool().adopt_more(&pool, &mut map);
        push_block(&block, &pool, &map, sink, &mut draft)
            .map_err(|e| fail(Fault::sink(stored.offset, &e)))?;
    }
    if let Some(at) = frame.torn_at {
        say_torn(input, frame.blocks.len(), at, input.bytes.len() - at, sink);
    }
    Ok(())
}

/// Passes on what a block says, whose names are those of the pool.
pub(super) fn push_block(
    block: &Block,
    pool: &Pool,
    map: &Remap,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<(), SinkError> {
    if let Some(meta) = &block.meta {
        *sink.meta() = meta.mapped(map);
    }
    let (first, last) = around_transactions(pool, &block.events);
    for event in first {
        sink.event(event.mapped(map))?;
    }
    for txn in 0..block.columns.txn_count() {
        block.columns.draft(txn, draft)?;
        draft.remap(map);
        sink.transaction(draft)?;
    }
    for event in last {
        sink.event(event.mapped(map))?;
    }
    for (key, versions) in &block.orders {
        let versions: Vec<_> = versions.iter().map(|&v| map.value(v)).collect();
        sink.version_order(map.key(*key), &versions)?;
    }
    Ok(())
}

/// Reads the whole file on all cores: they unpack and decode blocks, which are joined in their order,
/// so that few are held at a time.
pub(super) fn load(source: &Source) -> Result<HistoryBuilder, ReadError> {
    let input = source.file()?;
    let fail = |fault| input.binary_error(fault);
    let frame = frame::scan(&input.bytes).map_err(fail)?;
    let mut builder = HistoryBuilder::new();
    let (txns, ops) = (frame.txns(), frame.ops());
    builder.columns.reserve(txns, ops);
    in_order(&frame.blocks, decode, |stored, block| {
        let first = builder.columns.op_count() == 0;
        join(&mut builder, stored, block?)?;
        if first {
            builder.columns.reserve_evidence(txns, ops);
        }
        Ok(())
    })
    .map_err(fail)?;
    if let Some(at) = frame.torn_at {
        say_torn(input, frame.blocks.len(), at, input.bytes.len() - at, &mut builder);
    }
    Ok(builder)
}

fn join(builder: &mut HistoryBuilder, stored: &Stored<'_>, block: Block) -> Result<(), Fault> {
    introduce(&block, &mut builder.pool, stored)?;
    if let Some(meta) = block.meta {
        builder.meta = meta;
    }
    builder.events.extend(block.events);
    for (key, versions) in block.orders {
        builder.order(key, versions).map_err(|e| Fault::sink(stored.offset, &e))?;
    }
    let appended = builder.columns.append(&block.columns, &Remap::default());
    appended.map_err(|e| Fault::sink(stored.offset, &e))
}

/// Adds the names of a block to the pool that holds those of the blocks before it.
pub(super) fn introduce(block: &Block, pool: &mut Pool, stored: &Stored<'_>) -> Result<(), Fault> {
    block.introduce(pool).ok_or_else(|| {
        Fault::wrong(stored.offset, "the block's names do not follow those of the blocks before it")
    })
}

/// Unpacks and decodes a block.
pub(super) fn decode(stored: &Stored<'_>) -> Result<Block, Fault> {
    let body = unpack(stored)?;
    block::decode(body).map_err(|part| {
        Fault::wrong(
            stored.offset,
            format!("in the block that starts here, {part} cannot be decoded"),
        )
    })
}

fn unpack(stored: &Stored<'_>) -> Result<Vec<u8>, Fault> {
    let body = match stored.compression {
        Compression::None => stored.bytes.to_vec(),
        Compression::Zstd => unzstd(stored)?,
    };
    if body.len() != stored.raw_len {
        return Err(Fault::wrong(
            stored.offset,
            "the block's body has not the length that it says",
        ));
    }
    Ok(body)
}

#[cfg(feature = "zstd")]
fn unzstd(stored: &Stored<'_>) -> Result<Vec<u8>, Fault> {
    // The length is at most `frame::MAX_BODY`, and not trusted beyond that.
    zstd::bulk::decompress(stored.bytes, stored.raw_len)
        .map_err(|e| Fault::wrong(stored.offset, format!("the block does not unpack: {e}")))
}

#[cfg(not(feature = "zstd"))]
fn unzstd(stored: &Stored<'_>) -> Result<Vec<u8>, Fault> {
    Err(Fault::wrong(stored.offset, "the block is compressed, and this build cannot unpack it"))
}

/// Tells that a file ends after so many blocks without its end: `rest` bytes from there on are of no use.
pub(super) fn say_torn(input: &Input, blocks: usize, at: usize, rest: usize, sink: &mut dyn Sink) {
    sink.meta().complete = false;
    let read = match blocks {
        0 => "no block of it is complete".to_owned(),
        1 => "1 complete block was read".to_owned(),
        _ => format!("{blocks} complete blocks were read"),
    };
    let left = match rest {
        0 => "nothing follows".to_owned(),
        1 => "1 byte after that is of no use".to_owned(),
        _ => format!("{rest} bytes after that are of no use"),
    };
    let mut warning = input.warning(format!("the file has no end: {read}, {left}"));
    warning.position = crate::Position::Byte(at as u64);
    sink.warn(warning);
}
