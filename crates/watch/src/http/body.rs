//! The body of a request: of a length that is said, or in chunks.

use std::io::{BufRead, Read as _};

use super::request::{Answer, RequestHead};

/// The most bytes of a line between chunks.
const MOST_CHUNK_LINE: u64 = 4 << 10;
/// The most lines behind the last chunk.
const MOST_TRAILERS: usize = 100;

/// Reads the whole body. What comes in is believed only as far as it comes.
pub(crate) fn read_body(
    head: &RequestHead,
    max: usize,
    stream: &mut dyn BufRead,
) -> Result<Vec<u8>, Answer> {
    let mut body = Vec::new();
    if head.chunked {
        read_chunks(max, stream, &mut body)?;
    } else {
        let length = head.length.unwrap_or(0);
        if length > max as u64 {
            return Err(too_large(max));
        }
        read_exactly(length, stream, &mut body)?;
    }
    Ok(body)
}

/// The answer to a body that is too large.
fn too_large(max: usize) -> Answer {
    let why = format!("the body has more than {max} bytes: send fewer transactions at a time");
    Answer::refusal(413, &why).last()
}

fn cut() -> Answer {
    Answer::refusal(400, "the body ends too early").last()
}

fn read_exactly(len: u64, stream: &mut dyn BufRead, body: &mut Vec<u8>) -> Result<(), Answer> {
    let read = stream.take(len).read_to_end(body).map_err(|_| cut())?;
    if read as u64 == len { Ok(()) } else { Err(cut()) }
}

fn read_chunks(max: usize, stream: &mut dyn BufRead, body: &mut Vec<u8>) -> Result<(), Answer> {
    loop {
        let line = chunk_line(stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let digits = !size.is_empty() && size.bytes().all(|b| b.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| digits);
        let wrong = || Answer::refusal(400, "expected the size of a chunk").last();
        let size = size.ok_or_else(wrong)?;
        if size == 0 {
            break;
        }
        if size > (max - body.len()) as u64 {
            return Err(too_large(max));
        }
        read_exactly(size, stream, body)?;
        if !chunk_line(stream)?.is_empty() {
            return Err(Answer::refusal(400, "a chunk is longer than its size").last());
        }
    }
    for _ in 0..MOST_TRAILERS {
        if chunk_line(stream)?.is_empty() {
            return Ok(());
        }
    }
    Err(Answer::refusal(400, "too much follows the last chunk").last())
}

fn chunk_line(stream: &mut dyn BufRead) -> Result<String, Answer> {
    let mut line = Vec::new();
    let read = stream.take(MOST_CHUNK_LINE).read_until(b'\n', &mut line);
    if read.is_err() || line.last() != Some(&b'\n') {
        return Err(cut());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}
