//! Reading a native file: on all cores into a history, or block by block into any sink.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builder::HistoryBuilder;
use crate::columns::Remap;
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::native::block::{self, Block};
use crate::native::frame::{self, Compression, Frame, Stored};
use crate::pool::Pool;
use crate::sink::{Sink, SinkError};
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
        push_block(&block, &map, sink, &mut draft)
            .map_err(|e| fail(Fault::sink(stored.offset, &e)))?;
    }
    say_if_torn(input, &frame, sink);
    Ok(())
}

fn push_block(
    block: &Block,
    map: &Remap,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<(), SinkError> {
    if let Some(meta) = &block.meta {
        *sink.meta() = meta.mapped(map);
    }
    for event in &block.events {
        let (name, detail) = (map.value(event.name), map.value(event.detail));
        sink.event(crate::Event { name, detail, ..event.clone() })?;
    }
    for txn in 0..block.columns.txn_count() {
        block.columns.draft(txn, draft)?;
        draft.remap(map);
        sink.transaction(draft)?;
    }
    for (key, versions) in &block.orders {
        let versions: Vec<_> = versions.iter().map(|&v| map.value(v)).collect();
        sink.version_order(map.key(*key), &versions)?;
    }
    Ok(())
}

/// Reads the whole file: workers unpack and decode blocks, the columns are then joined in order.
pub(super) fn load(source: &Source) -> Result<HistoryBuilder, ReadError> {
    let input = source.file()?;
    let fail = |fault| input.binary_error(fault);
    let frame = frame::scan(&input.bytes).map_err(fail)?;
    let blocks = in_parallel(&frame.blocks, decode);
    let mut builder = HistoryBuilder::new();
    let mut columns = Vec::with_capacity(frame.blocks.len());
    for (stored, block) in frame.blocks.iter().zip(blocks) {
        let block = block.map_err(fail)?;
        introduce(&block, &mut builder.pool, stored).map_err(fail)?;
        builder.meta = block.meta.unwrap_or(builder.meta);
        builder.events.extend(block.events);
        builder.orders.extend(block.orders);
        columns.push(block.columns);
    }
    builder.columns.join(columns).map_err(|e| fail(Fault::sink(0, &e)))?;
    say_if_torn(input, &frame, &mut builder);
    Ok(builder)
}

fn introduce(block: &Block, pool: &mut Pool, stored: &Stored<'_>) -> Result<(), Fault> {
    block.introduce(pool).ok_or_else(|| {
        Fault::wrong(stored.offset, "the block's names do not follow those of the blocks before it")
    })
}

fn decode(stored: &Stored<'_>) -> Result<Block, Fault> {
    let body = unpack(stored)?;
    block::decode(body).map_err(|part| {
        Fault::wrong(stored.offset, format!("in the block that starts here, {part} make no sense"))
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

#[cfg(feature = "compression")]
fn unzstd(stored: &Stored<'_>) -> Result<Vec<u8>, Fault> {
    // The length is at most `frame::MAX_BODY`, and not trusted beyond that.
    zstd::bulk::decompress(stored.bytes, stored.raw_len)
        .map_err(|e| Fault::wrong(stored.offset, format!("the block does not unpack: {e}")))
}

#[cfg(not(feature = "compression"))]
fn unzstd(stored: &Stored<'_>) -> Result<Vec<u8>, Fault> {
    Err(Fault::wrong(stored.offset, "the block is compressed, and this build cannot unpack it"))
}

fn say_if_torn(input: &Input, frame: &Frame<'_>, sink: &mut dyn Sink) {
    let Some(at) = frame.torn_at else { return };
    sink.meta().complete = false;
    let mut warning = input.warning(format!(
        "the file was cut: {} complete blocks were read, the last {} bytes were not",
        frame.blocks.len(),
        input.bytes.len() - at
    ));
    warning.position = crate::Position::Byte(at as u64);
    sink.warn(warning);
}

/// Does the work for every item on as many threads as there are cores; results in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.push((i, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
