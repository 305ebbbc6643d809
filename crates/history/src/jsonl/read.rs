//! Reading: line by line from memory or from a stream, or in parallel.

use std::io::{BufRead, Read};
use std::ops::Range;

use crate::builder::HistoryBuilder;
use crate::error::{Fault, ReadError, SinkError};
use crate::in_order::in_order;
use crate::jsonl::line::{LineReader, after_trailer};
use crate::jsonl::odd::{OddName, OddNames, Reporter};
use crate::jsonl::{contradictions, meta};
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Json;

/// The longest line that a stream may have: its end must come before memory does.
const MAX_LINE: u64 = 64 << 20;

/// How much text is read at a time: large beside the cost of joining it, small beside memory.
const CHUNK: usize = 4 << 20;

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    meta::assume(sink);
    let mut reader = LineReader::default();
    let read = read_all(&input.bytes, &mut reader, sink);
    read.map_err(|fault| input.text_error(fault))?;
    Reporter::default().report(reader.odd_names(), input, (0, 0), sink);
    Ok(())
}

fn read_all<S: Sink + ?Sized>(
    bytes: &[u8],
    reader: &mut LineReader,
    sink: &mut S,
) -> Result<(), Fault> {
    let mut pos = 0;
    while pos < bytes.len() {
        pos = reader.step(bytes, pos, sink)?;
    }
    Ok(())
}

/// Reads a history from a stream as its lines arrive, and never holds more than one of them: for
/// recorders that are still running. A line may have 64 MiB.
///
/// ```
/// use isolde_history::{HistoryBuilder, jsonl::read_lines};
/// let stream: &[u8] = br#"{"session":1,"ops":[["w","x",1]]}"#;
/// let mut builder = HistoryBuilder::new();
/// read_lines(stream, "<stdin>", &mut builder)?;
/// assert_eq!(builder.finish().txn_count(), 1);
/// # Ok::<(), isolde_history::ReadError>(())
/// ```
pub fn read_lines(stream: impl BufRead, name: &str, sink: &mut dyn Sink) -> Result<(), ReadError> {
    read_lines_up_to(MAX_LINE, stream, name, sink)
}

pub(super) fn read_lines_up_to(
    max_line: u64,
    mut stream: impl BufRead,
    name: &str,
    sink: &mut dyn Sink,
) -> Result<(), ReadError> {
    meta::assume(sink);
    let mut reader = LineReader::default();
    let mut input = Input::new(name, Vec::new());
    let mut reporter = Reporter::default();
    for lines_before in 0.. {
        input.bytes.clear();
        let fault = match stream.by_ref().take(max_line + 1).read_until(b'\n', &mut input.bytes) {
            Ok(0) => break,
            Ok(len) if len as u64 > max_line => {
                Fault::wrong(0, format!("the line is longer than {max_line} bytes"))
            }
            Ok(_) => match reader.step(&input.bytes, 0, sink) {
                Ok(_) => {
                    reporter.report(reader.odd_names(), &input, (0, lines_before), sink);
                    continue;
                }
                Err(fault) => fault,
            },
            Err(e) => Fault::wrong(0, format!("cannot read: {e}")),
        };
        let error = input.text_error(fault);
        return Err(ReadError { position: error.position.lines_later(lines_before), ..error });
    }
    Ok(())
}

pub(super) fn load(source: &Source) -> Result<HistoryBuilder, ReadError> {
    let input = source.file()?;
    let mut whole = load_chunks(input, CHUNK).map_err(|fault| input.text_error(fault))?;
    contradictions::warn(input, &mut whole);
    Ok(whole)
}

/// Reads chunks of about that size in parallel; the result does not depend on it.
pub(super) fn load_chunks(input: &Input, chunk: usize) -> Result<HistoryBuilder, Fault> {
    let bytes = &input.bytes[..];
    let chunks = split(bytes, chunk);
    let mut whole = HistoryBuilder::new();
    meta::assume(&mut whole);
    let [first, others @ ..] = &chunks[..] else { return Ok(whole) };
    let mut reader = LineReader::default();
    read_all(&bytes[first.clone()], &mut reader, &mut whole)?;
    let mut reporter = Reporter::default();
    reporter.report(reader.odd_names(), input, (first.start, 0), &mut whole);
    let mut trailer = reader.trailer;
    whole.reserve_for(bytes.len() as f64 / first.len().max(1) as f64);
    let read = |range: &Range<usize>| read_part(&bytes[range.clone()]);
    in_order(others, read, |range, part| {
        check_end(bytes, range.start, trailer.as_ref())?;
        let part = part.map_err(|fault| fault.shifted(range.start))?;
        let ended = part.trailer.map(|t| t.start + range.start..t.end + range.start);
        trailer = trailer.take().or(ended);
        whole.append(part.builder).map_err(|e| refused(&bytes[..range.end], range.start, &e))?;
        reporter.report(part.odd.into_iter(), input, (range.start, 0), &mut whole);
        Ok(())
    })?;
    if let Some(line) = trailer {
        apply_trailer(&bytes[line.clone()], line.start, &mut whole)?;
    }
    Ok(whole)
}

/// What a chunk holds; its places count from its beginning.
struct Chunk {
    builder: HistoryBuilder,
    trailer: Option<Range<usize>>,
    odd: Vec<OddName>,
}

/// Any chunk but the first, which has the header.
fn read_part(bytes: &[u8]) -> Result<Chunk, Fault> {
    let mut builder = HistoryBuilder::new();
    let mut reader = LineReader::past_the_header();
    read_all(bytes, &mut reader, &mut builder)?;
    let odd = reader.odd_names().collect();
    Ok(Chunk { builder, trailer: reader.trailer, odd })
}

/// What the history cannot take of a chunk. Which line it is, reading in order tells.
#[cold]
fn refused(bytes: &[u8], start: usize, error: &SinkError) -> Fault {
    let in_order = match error {
        SinkError::Refused(_) => {
            read_all(bytes, &mut LineReader::default(), &mut HistoryBuilder::new())
        }
        // Whatever the limit is, there is no room for twice as much.
        _ => Ok(()),
    };
    in_order.err().unwrap_or_else(|| Fault::sink(start, error))
}

/// Complains about the first line from `start` on that is not blank, if the file has ended before.
fn check_end(bytes: &[u8], start: usize, trailer: Option<&Range<usize>>) -> Result<(), Fault> {
    let rest = &bytes[start..];
    let Some(first) = rest.iter().position(|b| !b.is_ascii_whitespace()) else { return Ok(()) };
    if trailer.is_none() {
        return Ok(());
    }
    let line = memchr::memrchr(b'\n', &rest[..first]).map_or(0, |i| i + 1);
    Err(after_trailer().shifted(start + line))
}

/// Reads the trailer again: what its chunk learned from it was about that chunk only.
fn apply_trailer(line: &[u8], start: usize, whole: &mut HistoryBuilder) -> Result<(), Fault> {
    let mut json = Json::new(line);
    let odd = &mut OddNames::default();
    let read = json.begin_object().and_then(|()| meta::read_trailer(&mut json, whole, odd));
    read.map_err(|fault| fault.shifted(start))
}

/// Cuts at the first end of a line after every `chunk` bytes, but not before the first line that
/// says anything: it may be the header.
fn split(bytes: &[u8], chunk: usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let blank = bytes[start..].iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        let least = (start + blank + chunk.max(1)).min(bytes.len());
        let newline = memchr::memchr(b'\n', &bytes[least - 1..]);
        let end = newline.map_or(bytes.len(), |i| least + i);
        chunks.push(start..end);
        start = end;
    }
    chunks
}
