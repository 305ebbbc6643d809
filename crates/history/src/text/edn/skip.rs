//! Passing over values without interning them: comments, discarded values, values not asked for.

use crate::error::Fault;
use crate::text::edn::{Edn, MAX_DEPTH, atom, open_string, too_deep};

/// How many bytes are looked at together.
const BLOCK: usize = 256;

/// What has begun and not ended while values are skipped.
enum Open {
    /// `#_`: the value that follows does not count.
    Discard,
    /// `#tag`: the value that follows belongs to it.
    Tag,
    /// A collection: how it closes, whether it is a map, how many items it has so far.
    Collection { close: u8, is_map: bool, items: usize },
}

impl Edn<'_> {
    /// Skips a comment or a discarded value; `false` if neither comes next.
    #[cold]
    pub(super) fn skip_comment(&mut self) -> Result<bool, Fault> {
        if self.cursor.peek() == Some(b';') {
            self.cursor.line();
            return Ok(true);
        }
        let discards = self.cursor.eat_all(b"#_");
        if discards {
            self.skip_until_closed(vec![Open::Discard])?;
        }
        Ok(discards)
    }

    /// Skips the next value, whatever it is.
    pub fn skip_value(&mut self) -> Result<(), Fault> {
        self.skip_space()?;
        if self.small_int().is_some() || self.skip_plain_vector() {
            return Ok(());
        }
        self.skip_until_closed(Vec::new())
    }

    /// Skips a vector of vectors of plain words and numbers: what almost every skipped value is.
    /// `false`, and nothing happens, if there is anything else in it.
    ///
    /// Block by block, so that a value costs what it is long, not what the file is long.
    #[inline]
    fn skip_plain_vector(&mut self) -> bool {
        let rest = self.cursor.rest();
        if rest.first() != Some(&b'[') {
            return false;
        }
        let (mut depth, mut done) = (0usize, 0);
        for block in rest.chunks(BLOCK) {
            // Brackets count only where there are no strings, comments and the like.
            let odd = memchr::memchr3(b'"', b';', b'\\', block);
            let plain = &block[..odd.unwrap_or(block.len())];
            let odder = memchr::memchr3(b'#', b'(', b'{', plain);
            let plain = &plain[..odder.unwrap_or(plain.len())];
            for at in memchr::memchr2_iter(b'[', b']', plain) {
                depth = if plain[at] == b'[' { depth + 1 } else { depth - 1 };
                if depth == 0 {
                    self.cursor.pos += done + at + 1;
                    return true;
                }
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            if plain.len() < block.len() {
                return false;
            }
            done += block.len();
        }
        false
    }

    fn skip_until_closed(&mut self, mut open: Vec<Open>) -> Result<(), Fault> {
        let discards = !open.is_empty();
        loop {
            self.skip_blanks_and_comments();
            if self.skip_piece(&mut open)? {
                continue;
            }
            // A value has ended; what waited for it may have ended, too.
            loop {
                match open.last_mut() {
                    None => return Ok(()),
                    Some(Open::Tag) => drop(open.pop()),
                    Some(Open::Discard) => {
                        open.pop();
                        if open.is_empty() && discards {
                            return Ok(());
                        }
                        break;
                    }
                    Some(Open::Collection { items, .. }) => {
                        *items += 1;
                        break;
                    }
                }
            }
        }
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            match self.cursor.peek() {
                Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | 0x0c) => self.cursor.pos += 1,
                Some(b';') => drop(self.cursor.line()),
                _ => return,
            }
        }
    }

    /// Takes the beginning or the end of a collection, a tag, or a whole value; whether more has to
    /// come before a value has ended.
    fn skip_piece(&mut self, open: &mut Vec<Open>) -> Result<bool, Fault> {
        let (begins, len) = match self.cursor.rest() {
            [b'#', b'_', ..] => (Open::Discard, 2),
            [b'#', b'{', ..] => (collection(b'}', false), 2),
            [b'#', b'#', ..] => return self.atom().map(|_| false),
            [b'#', ..] => {
                atom::tag(&mut self.cursor)?;
                (Open::Tag, 0)
            }
            [b'[', ..] => (collection(b']', false), 1),
            [b'(', ..] => (collection(b')', false), 1),
            [b'{', ..] => (collection(b'}', true), 1),
            [b']' | b')' | b'}', ..] | [] => return self.skip_close(open).map(|()| false),
            [b'"', ..] => return self.skip_string().map(|()| false),
            _ => return self.atom().map(|_| false),
        };
        self.cursor.pos += len;
        open.push(begins);
        if open.len() > MAX_DEPTH {
            return Err(too_deep(self.cursor.pos));
        }
        Ok(true)
    }

    fn skip_close(&mut self, open: &mut Vec<Open>) -> Result<(), Fault> {
        match open.last() {
            Some(&Open::Collection { close, is_map, items }) => {
                if is_map && items % 2 == 1 {
                    return Err(self.cursor.expected("a value for the map's last key"));
                }
                if !self.cursor.eat(close) {
                    return Err(self.cursor.expected(format_args!("'{}'", char::from(close))));
                }
                open.pop();
                Ok(())
            }
            _ => Err(self.cursor.expected("an EDN value")),
        }
    }

    fn skip_string(&mut self) -> Result<(), Fault> {
        let start = self.cursor.pos + 1;
        self.cursor.pos = start;
        loop {
            let rest = self.cursor.rest();
            let stop = memchr::memchr2(b'"', b'\\', rest).ok_or_else(|| open_string(start))?;
            let escaped = rest[stop] == b'\\';
            self.cursor.pos += stop + 1 + usize::from(escaped);
            if !escaped {
                return Ok(());
            }
        }
    }
}

const fn collection(close: u8, is_map: bool) -> Open {
    Open::Collection { close, is_map, items: 0 }
}
