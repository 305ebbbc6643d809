//! The body of a request: of a length that is said, or in chunks.

use std::io::{BufRead, ErrorKind, Read as _};

use super::request::{Answer, RequestHead};
use crate::room::Share;

/// The most bytes of a line between chunks.
const MOST_CHUNK_LINE: u64 = 4 << 10;
/// The most lines behind the last chunk.
const MOST_TRAILERS: usize = 100;

/// How much of a body is read at a time.
const PIECE: u64 = 256 << 10;

/// A body that was not read, and why.
#[derive(Debug)]
pub(crate) struct NoBody {
    pub(crate) status: u16,
    pub(crate) why: String,
    /// Whether its end did not come or was not waited for, so that the client knows that nothing was taken.
    pub(crate) cut: bool,
}

impl NoBody {
    fn wrong(status: u16, why: &str) -> NoBody {
        NoBody { status, why: why.to_owned(), cut: false }
    }

    fn cut(status: u16, why: &str) -> NoBody {
        NoBody { status, why: why.to_owned(), cut: true }
    }

    /// What is answered. Where the next request begins is not known.
    pub(crate) fn answer(&self) -> Answer {
        Answer::refusal(self.status, &self.why).last()
    }
}

/// A body on its way.
pub(crate) struct Body<'b> {
    max: usize,
    stream: &'b mut dyn BufRead,
    /// What all bodies together may take.
    share: &'b mut Share,
    bytes: Vec<u8>,
}

/// Reads the whole body. What comes in is believed only as far as it comes.
pub(crate) fn read_body(
    head: &RequestHead,
    max: usize,
    stream: &mut dyn BufRead,
    share: &mut Share,
) -> Result<Vec<u8>, NoBody> {
    let mut body = Body { max, stream, share, bytes: Vec::new() };
    if head.chunked {
        body.read_chunks()?;
    } else {
        let length = head.length.unwrap_or(0);
        if length > max as u64 {
            return Err(too_large(max));
        }
        body.read_exactly(length)?;
    }
    Ok(body.bytes)
}

/// The answer to a body that is too large.
fn too_large(max: usize) -> NoBody {
    let why = format!("the body has more than {max} bytes: send fewer transactions at a time");
    NoBody::wrong(413, &why)
}

fn ended() -> NoBody {
    NoBody::cut(400, "the body ends too early")
}

fn failed(error: &std::io::Error) -> NoBody {
    match error.kind() {
        ErrorKind::TimedOut => NoBody::cut(408, "the body comes too slowly"),
        _ => ended(),
    }
}

impl Body<'_> {
    fn read_exactly(&mut self, len: u64) -> Result<(), NoBody> {
        let mut left = len;
        while left > 0 {
            let piece = left.min(PIECE);
            if !self.share.takes_more(piece as usize) {
                return Err(NoBody::cut(503, "too much comes at a time: send it again later"));
            }
            let read = (&mut *self.stream).take(piece).read_to_end(&mut self.bytes);
            if read.map_err(|error| failed(&error))? as u64 != piece {
                return Err(ended());
            }
            left -= piece;
        }
        Ok(())
    }

    fn read_chunks(&mut self) -> Result<(), NoBody> {
        while self.chunk()? {}
        for _ in 0..MOST_TRAILERS {
            if chunk_line(self.stream)?.is_empty() {
                return Ok(());
            }
        }
        Err(NoBody::wrong(400, "too much follows the last chunk"))
    }

    /// Reads a chunk; not if it is the last one, which is empty.
    fn chunk(&mut self) -> Result<bool, NoBody> {
        let line = chunk_line(self.stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let digits = !size.is_empty() && size.bytes().all(|b| b.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| digits);
        let size = size.ok_or_else(|| NoBody::wrong(400, "expected the size of a chunk"))?;
        if size == 0 {
            return Ok(false);
        }
        if size > (self.max - self.bytes.len()) as u64 {
            return Err(too_large(self.max));
        }
        self.read_exactly(size)?;
        match chunk_line(self.stream)?.is_empty() {
            true => Ok(true),
            false => Err(NoBody::wrong(400, "a chunk is longer than its size")),
        }
    }
}

fn chunk_line(stream: &mut dyn BufRead) -> Result<String, NoBody> {
    let mut line = Vec::new();
    let read = stream.take(MOST_CHUNK_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| failed(&error))?;
    if line.last() != Some(&b'\n') {
        return Err(ended());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}
