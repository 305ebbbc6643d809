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
}

/// What was found.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Framed<'b> {
    /// A line without its end.
    Line(&'b [u8]),
    /// A line that is longer than is allowed; it was left out.
    TooLong,
}

impl Frames {
    /// Takes a piece, and tells each line that ends in it.
    pub(crate) fn push(&mut self, piece: &[u8], max: usize, each: &mut dyn FnMut(Framed<'_>)) {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.begun.len() + line.len() > max {
                each(Framed::TooLong);
            } else if self.begun.is_empty() {
                each(Framed::Line(line));
            } else {
                self.begun.extend_from_slice(line);
                each(Framed::Line(&self.begun));
            }
            self.begun.clear();
        }
        if self.skipping {
            return;
        }
        if self.begun.len() + rest.len() > max {
            self.begun = Vec::new();
            self.skipping = true;
            each(Framed::TooLong);
        } else {
            self.begun.extend_from_slice(rest);
        }
    }

    /// What is left of a line that was never ended.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.skipping = false;
        std::mem::take(&mut self.begun)
    }
}
