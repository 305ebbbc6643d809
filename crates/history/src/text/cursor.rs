//! A position in a text, and the small things one reads there.

use crate::error::Fault;

/// Walks over the bytes of a text.
///
/// ```
/// use isolde_history::text::Cursor;
/// let mut c = Cursor::new(b"w(7,-3)");
/// assert!(c.eat(b'w'));
/// c.expect(b'(', "'('")?;
/// assert_eq!(c.unsigned("a key")?, 7);
/// c.expect(b',', "','")?;
/// assert_eq!(c.integer("a value")?, -3);
/// assert!(c.expect(b']', "']'").is_err());
/// # Ok::<(), isolde_history::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The whole text.
    pub bytes: &'a [u8],
    /// Where we are in it.
    pub pos: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub const fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, pos: 0 }
    }

    /// The next byte, if there is one.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// What has not been read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    /// Whether everything has been read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    /// Takes the next byte if it is this one.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.pos += usize::from(hit);
        hit
    }

    /// Takes the next bytes if they are these.
    #[inline]
    pub fn eat_all(&mut self, bytes: &[u8]) -> bool {
        let hit = self.rest().starts_with(bytes);
        if hit {
            self.pos += bytes.len();
        }
        hit
    }

    /// Takes this byte or complains.
    #[inline]
    pub fn expect(&mut self, byte: u8, what: &str) -> Result<(), Fault> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The complaint that something else was expected here.
    #[cold]
    pub fn expected(&self, what: impl std::fmt::Display) -> Fault {
        Fault::expected(self.pos, what)
    }

    /// Skips spaces and tabs.
    #[inline]
    pub fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    /// Skips spaces, tabs and ends of lines.
    #[inline]
    pub fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    /// Takes bytes as long as they satisfy a condition.
    #[inline]
    pub fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> &'a [u8] {
        let start = self.pos;
        while self.peek().is_some_and(&keep) {
            self.pos += 1;
        }
        &self.bytes[start..self.pos]
    }

    /// The rest of the line, without its end; the cursor moves past it.
    pub fn line(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        self.pos += line.len() + usize::from(end.is_some());
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// An unsigned decimal number of up to 64 bits.
    #[inline]
    pub fn unsigned(&mut self, what: &str) -> Result<u64, Fault> {
        let start = self.pos;
        let mut n: u64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let next = n.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0')));
            n = next.ok_or_else(|| Fault::expected(start, format!("{what} of at most 64 bits")))?;
            self.pos += 1;
        }
        if self.pos == start { Err(self.expected(what)) } else { Ok(n) }
    }

    /// A decimal number of up to 64 bits with its sign.
    #[inline]
    pub fn integer(&mut self, what: &str) -> Result<i64, Fault> {
        let start = self.pos;
        let negative = self.eat(b'-');
        let n = i128::from(self.unsigned(what)?);
        let n = if negative { -n } else { n };
        i64::try_from(n).map_err(|_| Fault::expected(start, format!("{what} of at most 64 bits")))
    }

    /// Four hex digits, of an escape that stands at `at`.
    pub(crate) fn hex4(&mut self, at: usize) -> Result<u32, Fault> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| Fault::expected(at, "four hex digits"))?;
            self.pos += 1;
        }
        Ok(code)
    }

    /// Complains unless everything has been read.
    pub fn finish(&self) -> Result<(), Fault> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end")) }
    }
}

/// Bytes that stand at `at` as a text.
pub(crate) fn utf8(at: usize, bytes: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(bytes).map_err(|e| Fault::expected(at + e.valid_up_to(), "UTF-8"))
}
