//! From bytes to batches: up to 500 transactions, or what came within 20 ms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decode::{Decoder, Head};
use crate::feed::Message;
use crate::frame::{Framed, Frames, MAX_LINE};
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
        let decoder = Decoder { name: name.to_owned(), said: Arc::clone(said), head };
        let lines = Lines {
            decoder,
            text: Vec::new(),
            gone: 0,
            waiting: 0,
            since: None,
            at_start: true,
            promised: false,
            warned: 0,
        };
        Gather { frames: Frames::default(), max_line: MAX_LINE, lines }
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

    /// Takes bytes, and gives what is ready.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Vec<Message> {
        let mut out = Vec::new();
        let lines = &mut self.lines;
        let max = self.max_line;
        self.frames.push(piece, max, &mut |framed| match framed {
            Framed::Line(line) => lines.push(line, &mut out),
            Framed::TooLong => lines.too_long(max, &mut out),
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
        let rest = self.frames.rest();
        if !rest.trim_ascii().is_empty() {
            self.lines.push(&rest, &mut out);
        }
        self.lines.flush(&mut out);
        out
    }
}

impl Lines {
    fn push(&mut self, line: &[u8], out: &mut Vec<Message>) {
        let is_blank = line.trim_ascii().is_empty();
        if self.at_start && !is_blank {
            self.at_start = false;
            if has(line, b"\"isolde\"") && self.took_header(line, out) {
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
        // After the last line of a file another one may begin.
        if !is_txn && has(line, b"\"meta\"") {
            self.flush(out);
            self.at_start = true;
        }
    }

    /// Whether the line is a header, or one that cannot be read.
    fn took_header(&mut self, line: &[u8], out: &mut Vec<Message>) -> bool {
        self.flush(out);
        match self.decoder.header(line, self.gone + 1) {
            Ok(None) => return false,
            Ok(Some(head)) => self.decoder.head = Some(Arc::new(head)),
            Err(error) => out.push(Message::Bad(error.to_string())),
        }
        self.gone += 1;
        true
    }

    fn too_long(&mut self, max: usize, out: &mut Vec<Message>) {
        self.flush(out);
        self.gone += 1;
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
        self.text.clear();
        let left = MOST_WARNINGS.saturating_sub(self.warned);
        self.warned += decoded.warnings.len();
        out.extend(decoded.warnings.into_iter().take(left).map(Message::Notice));
        out.extend(decoded.bad.iter().map(|error| Message::Bad(error.to_string())));
        out.extend(decoded.batch.map(Message::batch));
    }
}

fn has(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line, word).is_some()
}
