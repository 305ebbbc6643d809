//! Loading large EDN files on all cores.
//!
//! The file is cut at lines that begin with `{`. Each core scans the events of a piece; they are
//! paired one after another, which is cheap; then each core makes transactions of its share. The
//! result is the same as that of reading from beginning to end. Whatever does not fit this plan (a
//! cut inside of a string, single objects, an error) is left to the plain reader, which also knows
//! how to complain.

use std::num::NonZero;
use std::thread;

use crate::builder::HistoryBuilder;
use crate::error::{Fault, ReadError};
use crate::formats::jepsen::event::{LogEvent, scan_event};
use crate::formats::jepsen::interpret::{Interpreter, Reader};
use crate::formats::jepsen::operations::Standard;
use crate::formats::jepsen::pairing::{Paired, Step};
use crate::formats::jepsen::read::{edn_holds_lists, read_edn};
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Edn;

/// How much text a core gets at a time.
const PIECE: usize = if cfg!(test) { 200 } else { 1 << 20 };

pub(super) fn load_edn(source: &Source) -> Result<HistoryBuilder, ReadError> {
    let input = source.file()?;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let cores = if cfg!(test) { 2 } else { cores };
    if cores > 1
        && input.bytes.len() > 2 * PIECE
        && let Some(builder) = load_on(cores, input)
    {
        return Ok(builder);
    }
    let mut builder = HistoryBuilder::new();
    read_edn(source, &mut builder)?;
    Ok(builder)
}

type Dialect<'a> = Standard<'a, Edn<'a>>;

fn load_on(cores: usize, input: &Input) -> Option<HistoryBuilder> {
    let mut edn = Edn::new(&input.bytes);
    let mut start = edn.offset().ok()?;
    if edn.cursor.peek() != Some(b'{') {
        return None;
    }
    let lists = edn_holds_lists(&input.bytes);
    let dialect: Dialect<'_> = Standard::new(&input.bytes, lists);
    let mut builder = HistoryBuilder::new();
    let mut pairing = Reader::new(input, dialect.clone(), &mut builder).pairing;
    while start < input.bytes.len() {
        let mut cuts = vec![start];
        for _ in 0..cores {
            start = next_cut(&input.bytes, start);
            cuts.push(start);
        }
        let events = scan(&input.bytes, &cuts)?;
        let mut reader = Reader::resume(input, dialect.clone(), pairing, &mut builder);
        let paired = pair(&mut reader, events)?;
        pairing = reader.pairing;
        for part in interpret(cores, &input.bytes, &dialect, &paired)? {
            builder.append(part).ok()?;
        }
    }
    let mut reader = Reader::resume(input, dialect, pairing, &mut builder);
    reader.finish().ok()?;
    Some(builder)
}

/// The transactions that end in these events; whatever else they are is pushed at once.
fn pair<'a>(
    reader: &mut Reader<'a, '_, Dialect<'a>>,
    events: Vec<Vec<LogEvent>>,
) -> Option<Vec<Paired>> {
    let mut paired = Vec::new();
    for event in events.into_iter().flatten() {
        if event.function.is_single() {
            return None;
        }
        match reader.pairing.next(event, reader.sink.pool()).ok()? {
            Step::Wait => {}
            Step::Transaction(transaction) => paired.push(transaction),
            Step::Other(placed) => reader.other(placed).ok()?,
            Step::Initial(event) => reader.initial(&event).ok()?,
        }
    }
    Some(paired)
}

/// Where the piece that starts here ends.
fn next_cut(bytes: &[u8], start: usize) -> usize {
    let Some(rest) = bytes.get(start + PIECE..) else { return bytes.len() };
    memchr::memmem::find(rest, b"\n{").map_or(bytes.len(), |at| start + PIECE + at + 1)
}

/// The events of each piece.
fn scan(bytes: &[u8], cuts: &[usize]) -> Option<Vec<Vec<LogEvent>>> {
    let scanned = thread::scope(|scope| {
        let piece = |cut: &[usize]| {
            let (start, end) = (cut[0], cut[1]);
            scope.spawn(move || scan_piece(bytes.get(..end)?, start).ok())
        };
        let threads: Vec<_> = cuts.windows(2).map(piece).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>()
    });
    scanned.into_iter().collect()
}

fn scan_piece(bytes: &[u8], start: usize) -> Result<Vec<LogEvent>, Fault> {
    let mut edn = Edn::at(bytes, start);
    let mut events = Vec::new();
    while edn.offset()? < bytes.len() {
        events.push(scan_event(&mut edn)?);
    }
    Ok(events)
}

/// The transactions of paired events, as parts in their order.
fn interpret(
    cores: usize,
    bytes: &[u8],
    dialect: &Dialect<'_>,
    paired: &[Paired],
) -> Option<Vec<HistoryBuilder>> {
    let parts = thread::scope(|scope| {
        let share = |paired| {
            let mut interpreter = Interpreter::new(bytes, dialect.clone());
            scope.spawn(move || -> Option<HistoryBuilder> {
                let mut builder = HistoryBuilder::new();
                for paired in paired {
                    interpreter.transaction(paired, builder.pool()).ok()?;
                    builder.transaction(&interpreter.draft).ok()?;
                }
                // The plain reader has the words for it.
                interpreter.silent.is_none().then_some(builder)
            })
        };
        let threads: Vec<_> =
            paired.chunks(paired.len().div_ceil(cores).max(1)).map(share).collect();
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Vec<_>>()
    });
    parts.into_iter().collect()
}
