//! From pieces of bytes to whole lines.

/// The longest line, and the longest body of a request: its end must come before memory does.
pub const MAX_LINE: usize = 64 << 20;

/// Cuts a stream of bytes into lines. A line that is not complete yet is kept until its end comes.
#[derive(Default)]
pub(crate) struct Frames {
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped.
    skipping: bool,
    /// Where what has not been cut yet begins, in the whole stream of bytes.
    at: u64,
}

/// What was found.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Framed<'b> {
    /// A line without its end.
    Line(&'b [u8]),
    /// A line that is longer than is allowed; it was left out. Its end may not have come yet.
    TooLong {
        /// Whether it has.
        ended: bool,
    },
}

impl Frames {
    /// Goes on at a place in the stream of bytes, perhaps within a line that is left out.
    pub(crate) fn at(at: u64, skipping: bool) -> Frames {
        Frames { begun: Vec::new(), skipping, at }
    }

    /// Takes a piece, and tells each line that ends in it, and where what follows it begins.
    pub(crate) fn push(&mut self, piece: &[u8], max: usize, each: &mut dyn FnMut(Framed<'_>, u64)) {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            self.at += (self.begun.len() + end + 1) as u64;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.begun.len() + line.len() > max {
                each(Framed::TooLong { ended: true }, self.at);
            } else if self.begun.is_empty() {
                each(Framed::Line(line), self.at);
            } else {
                self.begun.extend_from_slice(line);
                each(Framed::Line(&self.begun), self.at);
            }
            self.begun.clear();
        }
        if self.skipping {
            self.at += rest.len() as u64;
            return;
        }
        if self.begun.len() + rest.len() > max {
            self.at += (self.begun.len() + rest.len()) as u64;
            self.begun = Vec::new();
            self.skipping = true;
            each(Framed::TooLong { ended: false }, self.at);
        } else {
            self.begun.extend_from_slice(rest);
        }
    }

    /// How many bytes of a line are here whose end has not come.
    pub(crate) fn begun(&self) -> usize {
        self.begun.len()
    }

    /// Leaves out the line that has begun, and says where it is.
    pub(crate) fn skip(&mut self) -> u64 {
        self.at += std::mem::take(&mut self.begun).len() as u64;
        self.skipping = true;
        self.at
    }

    /// What is left of a line that was never ended, and where it ends.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, u64) {
        self.skipping = false;
        self.at += self.begun.len() as u64;
        (std::mem::take(&mut self.begun), self.at)
    }
}
