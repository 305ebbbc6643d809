//! From bytes to batches: up to 500 transactions, or what came within 20 ms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agreed::Agreed;
use crate::decode::{Decoder, Trailer};
use crate::feed::Message;
use crate::frame::{Framed, Frames, MAX_LINE};
use crate::head::Head;
use crate::place::{LinePlace, Place, Tail};
use crate::room::Share;

/// The most lines of a batch.
const MOST_LINES: u64 = 500;
/// The most bytes of a batch, unless one line has more.
const MOST_BYTES: usize = 4 << 20;
/// How long a line waits for others.
pub(crate) const LINGER: Duration = Duration::from_millis(20);
/// How many warnings of one source are passed on.
const MOST_WARNINGS: usize = 5;

/// A byte order mark, which some editors write at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What the lines are a part of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Of {
    /// A pipe, or a connection that is told nothing.
    #[default]
    Stream,
    /// A file.
    File,
    /// A connection that is told which lines are safe: others come again.
    Acknowledged,
    /// A request. Others belong to the same source, and it is taken as a whole or not at all.
    Body,
}

/// Gathers the lines of one source.
pub(crate) struct Gather {
    frames: Frames,
    max_line: usize,
    lines: Lines,
    /// What it may take for a line that has begun, where several sources share that.
    share: Option<Share>,
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
    /// Whether a header has said that transactions are missing, and no line since that none are.
    open: bool,
    of: Of,
    /// Whether the last line that said anything may have been a promise.
    promised: bool,
    warned: usize,
}

impl Gather {
    /// Nothing yet. The name is for messages.
    pub(crate) fn new(name: &str, agreed: &Arc<Agreed>, head: Option<Arc<Head>>) -> Gather {
        let start = LinePlace { at_start: true, ..LinePlace::default() };
        Gather::at(&start, Decoder { name: name.to_owned(), agreed: Arc::clone(agreed), head })
    }

    /// The same, of a source of a kind.
    pub(crate) fn of(mut self, of: Of) -> Gather {
        self.lines.of = of;
        self
    }

    /// The same, with a share of what all sources may take for lines that have begun.
    pub(crate) fn sharing(self, share: Share) -> Gather {
        Gather { share: Some(share), ..self }
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
            open: place.open,
            of: Of::Stream,
            promised: false,
            warned: 0,
        };
        let frames = Frames::at(place.offset, place.skipping);
        Gather { frames, max_line: MAX_LINE, lines, share: None }
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
        if let Some(share) = &mut self.share
            && !share.takes(self.frames.begun())
        {
            let at = self.frames.skip();
            share.takes(0);
            self.lines.no_room(at, &mut out);
        }
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
        let last = Some(&rest[..]).filter(|rest| !rest.trim_ascii().is_empty());
        match last {
            Some(last) if self.lines.of == Of::Acknowledged => {
                self.lines.flush(&mut out);
                self.lines.push_unsafe(last, at, &mut out);
            }
            Some(last) => self.lines.push(last, (at, false), &mut out),
            None => {}
        }
        self.lines.flush(&mut out);
        if self.lines.of != Of::Body && self.lines.open {
            let name = &self.lines.decoder.name;
            out.push(Message::Incomplete(format!(
                "{name} has ended, and says nowhere that it is complete, but that it is not"
            )));
            self.lines.say_open(false, &mut out);
        }
        out
    }
}

impl Lines {
    /// Takes a line that ends at a place, with or without an end of its own.
    fn push(&mut self, line: &[u8], (at, ended): (u64, bool), out: &mut Vec<Message>) {
        let is_first = self.gone + self.waiting == 0;
        let marked = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first && self.of == Of::File);
        let line = marked.unwrap_or(line);
        let is_blank = line.trim_ascii().is_empty();
        if self.at_start && !is_blank {
            self.at_start = false;
            if has(line, b"\"isolde\"") && self.took_header(line, (at, ended), out) {
                return;
            }
        }
        let is_txn = has_member(line, b"\"ops\"") || has_member(line, b"\"stmts\"");
        // A promise speaks of what follows its batch.
        let too_many = self.waiting >= MOST_LINES || self.text.len() + line.len() > MOST_BYTES;
        if (self.promised && is_txn) || too_many {
            self.flush(out);
        }
        // A blank line between a promise and what breaks it hides nothing.
        self.promised = if is_blank { self.promised } else { !is_txn };
        self.since.get_or_insert_with(Instant::now);
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.waiting += 1;
        (self.offset, self.skipping, self.unended) = (at, false, !ended);
        // After the last line of a file another one may begin.
        if !is_txn && has_member(line, b"\"meta\"") {
            self.at_start = true;
            let trailer = self.decoder.trailer(line);
            self.close(&trailer, out);
            self.flush(out);
        }
    }

    /// Takes what the last line of a source says of it as a whole.
    fn close(&mut self, trailer: &Trailer, out: &mut Vec<Message>) {
        let (name, line) = (&self.decoder.name, self.gone + self.waiting);
        let other = trailer.initial.as_ref();
        if let Some(Err(why)) = other.map(|said| self.decoder.agreed.confirm(said)) {
            out.push(Message::Bad(format!("{name}:{line}:1: {why}")));
        }
        match trailer.complete {
            Some(true) => self.say_open(false, out),
            Some(false) => {
                let why = format!("{name}:{line} says that transactions are missing");
                out.push(Message::Incomplete(why));
            }
            None => {}
        }
    }

    /// A header says that transactions are missing, or a line that they are not.
    fn say_open(&mut self, open: bool, out: &mut Vec<Message>) {
        // What was said in an earlier request may be taken back in this one.
        let changes = self.open != open || self.of == Of::Body;
        if changes {
            out.push(if open { Message::Opened } else { Message::Closed });
        }
        self.open = open;
    }

    /// Takes a line that ends at a place without an end of its own, and will come again if it cannot be read now.
    fn push_unsafe(&mut self, line: &[u8], at: u64, out: &mut Vec<Message>) {
        let (before, mut own) = (self.gone, Vec::new());
        self.push(line, (at, false), &mut own);
        self.flush(&mut own);
        if !own.iter().any(|message| matches!(message, Message::Bad(_))) {
            out.extend(own);
            return;
        }
        self.gone = before;
        let (name, line) = (&self.decoder.name, before + 1);
        out.push(Message::Notice(format!(
            "{name} has ended within line {line}, which was not acknowledged"
        )));
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
                let head = Arc::new(head);
                let agreed = match self.of {
                    Of::Body => self.decoder.agreed.is_agreeable(&head),
                    _ => self.decoder.agreed.agree(&head),
                };
                if let Err(why) = agreed {
                    let (name, line) = (&self.decoder.name, self.gone + 1);
                    out.push(Message::Bad(format!("{name}:{line}:1: {why}")));
                }
                out.extend(self.decoder.agreed.overrules(&head).map(Message::Notice));
                if head.is_open() {
                    self.say_open(true, out);
                }
                self.decoder.head = Some(head);
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

    /// There is no room for a line that has begun.
    fn no_room(&mut self, at: u64, out: &mut Vec<Message>) {
        self.flush(out);
        self.gone += 1;
        (self.offset, self.skipping, self.at_start) = (at, true, false);
        let (name, line) = (&self.decoder.name, self.gone);
        out.push(Message::Bad(format!(
            "{name}:{line}:1: too many long lines come at a time, and there is no room for this one"
        )));
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
            open: self.open,
            head: self.head,
            tail: Tail::of(&self.text[..end]),
        })
    }
}

fn has(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line, word).is_some()
}

/// Whether a word is there as the name of a member, and not only as a value.
fn has_member(line: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find_iter(line, name).any(|at| {
        let rest = line.get(at + name.len()..).unwrap_or_default();
        rest.trim_ascii_start().first() == Some(&b':')
    })
}
