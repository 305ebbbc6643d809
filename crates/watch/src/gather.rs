//! From bytes to batches: up to 500 transactions, or what came within 20 ms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decode::{Decoder, Head};
use crate::feed::Message;
use crate::frame::{Framed, Frames, MAX_LINE};
use crate::place::{LinePlace, Place, Tail};
use crate::said::Said;

/// The most lines of a batch.
const MOST_LINES: u64 = 500;
/// The most bytes of a batch, unless one line has more.
const MOST_BYTES: usize = 4 << 20;
/// How long a line waits for others.
pub(crate) const LINGER: Duration = Duration::from_millis(20);
/// How many warnings of one source are passed on.
const MOST_WARNINGS: usize = 5;

/// Gathers the lines of one source.
pub(crate) struct Gather {
    frames: Frames,
    max_line: usize,
    lines: Lines,
}

/// Lines on their way into a batch.
struct Lines {
    decoder: Decoder,
    text: Vec<u8>,
    /// How many lines have gone before those that wait.
    gone: u64,
    /// Where what follows those that wait begins, and whether that is within a line that is left out.
    offset: u64,
    skipping: bool,
    /// Whether the last of those that wait has no end of its own in the source.
    unended: bool,
    /// Where the header is, and the number of its line.
    head: Option<(u64, u64)>,
    /// How many wait.
    waiting: u64,
    since: Option<Instant>,
    /// Whether the next line that says anything may be a header.
    at_start: bool,
    /// Whether the last line may have been a promise.
    promised: bool,
    warned: usize,
}

impl Gather {
    /// Nothing yet. The name is for messages.
    pub(crate) fn new(name: &str, said: &Arc<Said>, head: Option<Arc<Head>>) -> Gather {
        let start = LinePlace { at_start: true, ..LinePlace::default() };
        Gather::at(&start, Decoder { name: name.to_owned(), said: Arc::clone(said), head })
    }

    /// Goes on at a place, where the decoder knows what the header says.
    pub(crate) fn at(place: &LinePlace, decoder: Decoder) -> Gather {
        let lines = Lines {
            decoder,
            text: Vec::new(),
            gone: place.lines,
            offset: place.offset,
            skipping: place.skipping,
            unended: false,
            head: place.head,
            waiting: 0,
            since: None,
            at_start: place.at_start,
            promised: false,
            warned: 0,
        };
        let frames = Frames::at(place.offset, place.skipping);
        Gather { frames, max_line: MAX_LINE, lines }
    }

    /// The same with another limit, for tests.
    #[cfg(test)]
    pub(crate) fn with_max_line(mut self, max: usize) -> Gather {
        self.max_line = max;
        self
    }

    /// What the header said, if there was one.
    pub(crate) fn head(&self) -> Option<Arc<Head>> {
        self.lines.decoder.head.clone()
    }

    /// Where the header is that came last, if one came.
    pub(crate) fn head_offset(&self) -> Option<u64> {
        self.lines.head.map(|(offset, _)| offset)
    }

    /// How many lines have been passed on.
    pub(crate) fn passed(&self) -> u64 {
        self.lines.gone
    }

    /// Takes bytes, and gives what is ready.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<Message> {
        let mut out = Vec::new();
        let lines = &mut self.lines;
        let max = self.max_line;
        self.frames.push(piece, max, &mut |framed, at| match framed {
            Framed::Line(line) => lines.push(line, (at, true), &mut out),
            Framed::TooLong { ended } => lines.too_long(max, (at, ended), &mut out),
        });
        self.flush_if_due(&mut out);
        out
    }

    /// How long to wait for more before what is there must go.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.lines.since.map(|since| LINGER.saturating_sub(since.elapsed()))
    }

    /// Adds what has waited long enough.
    pub(crate) fn flush_if_due(&mut self, out: &mut Vec<Message>) {
        if self.patience().is_some_and(|left| left.is_zero()) {
            self.lines.flush(out);
        }
    }

    /// What waits, whether or not it has waited long enough.
    pub(crate) fn flush(&mut self) -> Vec<Message> {
        let mut out = Vec::new();
        self.lines.flush(&mut out);
        out
    }

    /// The source has ended. A last line without an end counts if it can be read.
    pub(crate) fn end(&mut self) -> Vec<Message> {
        let mut out = Vec::new();
        let (rest, at) = self.frames.rest();
        if !rest.trim_ascii().is_empty() {
            self.lines.push(&rest, (at, false), &mut out);
        }
        self.lines.flush(&mut out);
        out
    }
}

impl Lines {
    /// Takes a line that ends at a place, with or without an end of its own.
    fn push(&mut self, line: &[u8], (at, ended): (u64, bool), out: &mut Vec<Message>) {
        let is_blank = line.trim_ascii().is_empty();
        if self.at_start && !is_blank {
            self.at_start = false;
            if has(line, b"\"isolde\"") && self.took_header(line, (at, ended), out) {
                return;
            }
        }
        let is_txn = has(line, b"\"ops\"") || has(line, b"\"stmts\"");
        // A promise speaks of what follows its batch.
        let too_many = self.waiting >= MOST_LINES || self.text.len() + line.len() > MOST_BYTES;
        if (self.promised && is_txn) || too_many {
            self.flush(out);
        }
        self.promised = !is_txn && !is_blank;
        self.since.get_or_insert_with(Instant::now);
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.waiting += 1;
        (self.offset, self.skipping, self.unended) = (at, false, !ended);
        // After the last line of a file another one may begin.
        if !is_txn && has(line, b"\"meta\"") {
            self.at_start = true;
            self.flush(out);
        }
    }

    /// Whether the line is a header, or one that cannot be read.
    fn took_header(
        &mut self,
        line: &[u8],
        (at, ended): (u64, bool),
        out: &mut Vec<Message>,
    ) -> bool {
        self.flush(out);
        match self.decoder.header(line, self.gone + 1) {
            Ok(None) => return false,
            Ok(Some(head)) => {
                self.decoder.head = Some(Arc::new(head));
                let begins = at.saturating_sub(line.len() as u64 + u64::from(ended));
                self.head = Some((begins, self.gone + 1));
            }
            Err(error) => out.push(Message::Bad(error.to_string())),
        }
        self.gone += 1;
        (self.offset, self.skipping) = (at, false);
        true
    }

    fn too_long(&mut self, max: usize, (at, ended): (u64, bool), out: &mut Vec<Message>) {
        self.flush(out);
        self.gone += 1;
        (self.offset, self.skipping) = (at, !ended);
        self.at_start = false;
        let (name, line) = (&self.decoder.name, self.gone);
        out.push(Message::Bad(format!("{name}:{line}:1: the line is longer than {max} bytes")));
    }

    fn flush(&mut self, out: &mut Vec<Message>) {
        self.since = None;
        self.promised = false;
        if self.waiting == 0 {
            return;
        }
        let decoded = self.decoder.lines(&self.text, self.gone + 1);
        self.gone += std::mem::take(&mut self.waiting);
        let place = self.place();
        self.text.clear();
        let left = MOST_WARNINGS.saturating_sub(self.warned);
        self.warned += decoded.warnings.len();
        out.extend(decoded.warnings.into_iter().take(left).map(Message::Notice));
        out.extend(decoded.bad.iter().map(|error| Message::Bad(error.to_string())));
        out.extend(decoded.batch.map(|batch| Message::batch_at(batch, place)));
    }

    /// The place behind the lines that waited.
    fn place(&self) -> Place {
        let end = self.text.len().saturating_sub(usize::from(self.unended));
        Place::Lines(LinePlace {
            offset: self.offset,
            lines: self.gone,
            skipping: self.skipping,
            at_start: self.at_start,
            head: self.head,
            tail: Tail::of(&self.text[..end]),
        })
    }
}

fn has(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line, word).is_some()
}
