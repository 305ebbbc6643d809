//! A pull parser for EDN, the notation of Clojure's data: no tree, no recursion, every complaint at
//! its byte.
//!
//! Values become [`Value`]s by one rule: `nil` is absent, vectors and lists are lists, maps are
//! rows; what the model has no word for (keywords, symbols, characters, ratios, sets, tagged
//! values, integers of more than 128 bits) is a symbol that keeps the source text word for word.

use std::borrow::Cow;

use crate::error::Fault;
use crate::pool::Pool;
use crate::text::cursor::{Cursor, utf8};
use crate::value::Value;

mod atom;
mod skip;

use atom::{Atom, is_delimiter};

/// How deep vectors, lists, maps and sets may nest.
pub const MAX_DEPTH: usize = 60;

/// What kind of EDN value comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdnKind {
    /// `nil`
    Nil,
    /// `true` or `false`
    Bool,
    /// An integer, a float, or a ratio.
    Number,
    /// `"..."`
    String,
    /// A keyword, a symbol, or a character.
    Word,
    /// `[...]` or `(...)`
    Sequence,
    /// `{...}`
    Map,
    /// `#{...}`
    Set,
    /// `#tag value`
    Tagged,
}

/// Reads EDN piece by piece.
///
/// ```
/// use isolde_history::text::Edn;
/// let mut edn = Edn::new(b"{:a [1 2], :b nil} ; done");
/// let mut sum = 0;
/// edn.begin_map()?;
/// while edn.next_item()? {
///     if edn.word("a keyword")? == b"a" {
///         edn.begin_sequence()?;
///         while edn.next_item()? {
///             sum += edn.integer("a number")?;
///         }
///     } else {
///         edn.skip_value()?;
///     }
/// }
/// edn.finish()?;
/// assert_eq!(sum, 3);
/// # Ok::<(), isolde_history::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Edn<'a> {
    /// Where we are.
    pub cursor: Cursor<'a>,
    /// How the collections we are in close, two bits each, the innermost in the lowest bits.
    open: u128,
    depth: usize,
}

const CLOSE: [u8; 4] = [b']', b')', b'}', 0];

impl<'a> Edn<'a> {
    /// At the beginning of a text.
    pub const fn new(bytes: &'a [u8]) -> Edn<'a> {
        Edn::at(bytes, 0)
    }

    /// At a byte of a text.
    pub const fn at(bytes: &'a [u8], pos: usize) -> Edn<'a> {
        Edn { cursor: Cursor { bytes, pos }, open: 0, depth: 0 }
    }

    /// The byte of the next value.
    #[inline]
    pub fn offset(&mut self) -> Result<usize, Fault> {
        self.skip_space()?;
        Ok(self.cursor.pos)
    }

    /// Skips whitespace, commas, comments and discarded values.
    #[inline]
    pub fn skip_space(&mut self) -> Result<(), Fault> {
        loop {
            match self.cursor.peek() {
                Some(b' ' | b',' | b'\n' | b'\t' | b'\r' | 0x0c) => self.cursor.pos += 1,
                Some(b';' | b'#') if self.skip_comment()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Looks at the next value without taking it.
    pub fn peek(&mut self) -> Result<EdnKind, Fault> {
        self.skip_space()?;
        let rest = self.cursor.rest();
        let digit_follows = rest.get(1).is_some_and(u8::is_ascii_digit);
        match rest.first() {
            Some(b'[' | b'(') => Ok(EdnKind::Sequence),
            Some(b'{') => Ok(EdnKind::Map),
            Some(b'"') => Ok(EdnKind::String),
            Some(b'0'..=b'9') => Ok(EdnKind::Number),
            Some(b'+' | b'-') if digit_follows => Ok(EdnKind::Number),
            Some(b'#') => Ok(match rest.get(1) {
                Some(b'{') => EdnKind::Set,
                Some(b'#') => EdnKind::Number,
                _ => EdnKind::Tagged,
            }),
            Some(_) => match self.clone().atom()? {
                Atom::Nil => Ok(EdnKind::Nil),
                Atom::Bool(_) => Ok(EdnKind::Bool),
                _ => Ok(EdnKind::Word),
            },
            None => Err(self.cursor.expected("an EDN value")),
        }
    }

    // ---- collections ----

    /// Enters a vector or a list.
    #[inline]
    pub fn begin_sequence(&mut self) -> Result<(), Fault> {
        self.skip_space()?;
        if self.cursor.eat(b'[') {
            self.enter(0)
        } else if self.cursor.eat(b'(') {
            self.enter(1)
        } else {
            Err(self.cursor.expected("'[' or '('"))
        }
    }

    /// Enters a map, whose items are keys and values in turn.
    #[inline]
    pub fn begin_map(&mut self) -> Result<(), Fault> {
        self.skip_space()?;
        self.cursor.expect(b'{', "'{'")?;
        self.enter(2)
    }

    #[inline]
    fn enter(&mut self, code: u128) -> Result<(), Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep(self.cursor.pos));
        }
        self.open = (self.open << 2) | code;
        self.depth += 1;
        Ok(())
    }

    /// Whether the collection we are in has another item. A map that ends after a key is noticed
    /// where the value is read.
    #[inline]
    pub fn next_item(&mut self) -> Result<bool, Fault> {
        self.skip_space()?;
        let close = CLOSE[(self.open & 3) as usize];
        match self.cursor.peek() {
            Some(b) if b == close => {
                self.cursor.pos += 1;
                self.open >>= 2;
                self.depth = self.depth.saturating_sub(1);
                Ok(false)
            }
            Some(b']' | b')' | b'}') | None => {
                Err(self.cursor.expected(format_args!("'{}'", char::from(close))))
            }
            Some(_) => Ok(true),
        }
    }

    /// Takes the tag of a tagged value, so that the value itself comes next.
    pub fn eat_tag(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        self.skip_space()?;
        match self.cursor.rest() {
            [b'#', b'{' | b'#', ..] => Ok(None),
            [b'#', ..] => atom::tag(&mut self.cursor).map(Some),
            _ => Ok(None),
        }
    }

    // ---- single values ----

    /// An integer of up to 18 digits, if that is what comes next: the common case, and fast.
    #[inline]
    pub fn small_int(&mut self) -> Option<i64> {
        let rest = self.cursor.rest();
        let negative = rest.first() == Some(&b'-');
        let start = usize::from(negative);
        let mut len = start;
        let mut n: i64 = 0;
        while let Some(d @ b'0'..=b'9') = rest.get(len) {
            n = n.wrapping_mul(10).wrapping_add(i64::from(d - b'0'));
            len += 1;
        }
        let digits = len - start;
        let padded = digits > 1 && rest.get(start) == Some(&b'0');
        let ends = rest.get(len).is_none_or(|&b| is_delimiter(b));
        if digits == 0 || digits > 18 || padded || !ends {
            return None;
        }
        self.cursor.pos += len;
        Some(if negative { -n } else { n })
    }

    /// Takes plain short numbers with one space after each, as long as the vector we are in has
    /// them. What it leaves, the other methods take: this one is only fast.
    pub(crate) fn small_ints(&mut self, out: &mut Vec<Value>) {
        let rest = self.cursor.rest();
        let (mut at, mut taken) = (0, 0);
        loop {
            let start = at;
            let mut n: i64 = 0;
            while let Some(d @ b'0'..=b'9') = rest.get(at) {
                n = n.wrapping_mul(10).wrapping_add(i64::from(d - b'0'));
                at += 1;
            }
            let digits = at - start;
            let next = rest.get(at).copied();
            if !(1..=17).contains(&digits)
                || (digits > 1 && rest[start] == b'0')
                || !matches!(next, Some(b' ' | b']'))
            {
                break;
            }
            let Some(value) = Value::small_int(n) else { break };
            out.push(value);
            taken = at;
            if next == Some(b']') {
                break;
            }
            at += 1;
        }
        self.cursor.pos += taken;
    }

    /// A whole number of up to 64 bits.
    #[inline]
    pub fn integer(&mut self, what: &str) -> Result<i64, Fault> {
        self.skip_space()?;
        if let Some(i) = self.small_int() {
            return Ok(i);
        }
        let at = self.cursor.pos;
        let is_number = self.peek().is_ok_and(|kind| kind == EdnKind::Number);
        match if is_number { self.atom()? } else { Atom::Nil } {
            Atom::Int(i) => i64::try_from(i)
                .map_err(|_| Fault::expected(at, format_args!("{what} of at most 64 bits"))),
            _ => Err(Fault::expected(at, what)),
        }
    }

    /// Takes `nil` if it comes next.
    #[inline]
    pub fn eat_nil(&mut self) -> Result<bool, Fault> {
        self.skip_space()?;
        let rest = self.cursor.rest();
        let hit = rest.starts_with(b"nil") && rest.get(3).is_none_or(|&b| is_delimiter(b));
        self.cursor.pos += if hit { 3 } else { 0 };
        Ok(hit)
    }

    /// The name of a keyword, without its colon, or of a symbol.
    #[inline]
    pub fn word(&mut self, what: &str) -> Result<&'a [u8], Fault> {
        self.skip_space()?;
        if self.cursor.eat(b':') {
            let name = self.token();
            return if name.is_empty() { Err(self.cursor.expected(what)) } else { Ok(name) };
        }
        match self.cursor.peek() {
            Some(b'"' | b'#' | b'[' | b'(' | b'{' | b'0'..=b'9') => Err(self.cursor.expected(what)),
            _ => self.symbol_word(what),
        }
    }

    #[cold]
    fn symbol_word(&mut self, what: &str) -> Result<&'a [u8], Fault> {
        let at = self.cursor.pos;
        match self.atom() {
            Ok(Atom::Word(text)) if !text.starts_with('\\') => Ok(text.as_bytes()),
            _ => Err(Fault::expected(at, what)),
        }
    }

    /// The bytes up to the next delimiter.
    #[inline]
    fn token(&mut self) -> &'a [u8] {
        atom::token(&mut self.cursor)
    }

    fn atom(&mut self) -> Result<Atom<'a>, Fault> {
        Atom::read(&mut self.cursor)
    }

    /// Any value, interned.
    #[inline]
    pub fn value(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        self.skip_space()?;
        match self.small_int() {
            Some(i) => Ok(pool.int(i)),
            None => self.odd_value(pool),
        }
    }

    /// Everything that is no short integer, on a stack of our own.
    fn odd_value(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        // Each open collection: where its parts start, where it stands, whether it is a map.
        let mut open: Vec<(usize, usize, bool)> = Vec::new();
        let mut parts: Vec<Value> = Vec::new();
        loop {
            let at = self.offset()?;
            match self.peek()? {
                EdnKind::Sequence => {
                    self.begin_sequence()?;
                    open.push((parts.len(), at, false));
                }
                EdnKind::Map => {
                    self.begin_map()?;
                    open.push((parts.len(), at, true));
                }
                kind => parts.push(self.scalar(kind, pool)?),
            }
            loop {
                let Some(&(start, at, is_map)) = open.last() else {
                    return parts.pop().ok_or_else(|| Fault::expected(at, "an EDN value"));
                };
                let end = self.offset()?;
                if self.next_item()? {
                    break;
                }
                let items = parts.get(start..).unwrap_or_default();
                let value = if is_map { row(pool, items, at, end)? } else { pool.list(items) };
                parts.truncate(start);
                parts.push(value);
                open.pop();
            }
        }
    }

    fn scalar(&mut self, kind: EdnKind, pool: &mut Pool) -> Result<Value, Fault> {
        match kind {
            EdnKind::String => Ok(pool.text(&self.string("a string")?)),
            EdnKind::Set | EdnKind::Tagged => {
                let source = self.verbatim()?;
                Ok(pool.symbol(source))
            }
            _ => Ok(match self.atom()? {
                Atom::Nil => Value::ABSENT,
                Atom::Bool(b) => Value::from_bool(b),
                Atom::Int(i) => pool.big(i),
                Atom::Float(f) => pool.float(f),
                Atom::Word(source) => pool.symbol(source),
            }),
        }
    }

    /// The source text of the next value.
    pub fn verbatim(&mut self) -> Result<&'a str, Fault> {
        let at = self.offset()?;
        self.skip_value()?;
        utf8(at, self.cursor.bytes.get(at..self.cursor.pos).unwrap_or_default())
    }

    /// Complains unless nothing but space and comments is left.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.skip_space()?;
        self.cursor.finish()
    }

    // ---- strings ----

    /// A string.
    pub fn string(&mut self, what: &str) -> Result<Cow<'a, str>, Fault> {
        self.skip_space()?;
        self.cursor.expect(b'"', what)?;
        let start = self.cursor.pos;
        let rest = self.cursor.rest();
        match memchr::memchr2(b'"', b'\\', rest).map(|i| (i, rest[i])) {
            Some((len, b'"')) => {
                self.cursor.pos += len + 1;
                utf8(start, &rest[..len]).map(Cow::Borrowed)
            }
            Some(_) => self.escaped_string(start).map(Cow::Owned),
            None => Err(open_string(start)),
        }
    }

    #[cold]
    fn escaped_string(&mut self, start: usize) -> Result<String, Fault> {
        let mut out = String::new();
        loop {
            let plain_at = self.cursor.pos;
            let plain = self.cursor.take_while(|b| b != b'"' && b != b'\\');
            out.push_str(utf8(plain_at, plain)?);
            if self.cursor.eat(b'"') {
                return Ok(out);
            }
            if !self.cursor.eat(b'\\') {
                return Err(open_string(start));
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let at = self.cursor.pos;
        let byte = self.cursor.peek();
        self.cursor.pos += usize::from(byte.is_some());
        Ok(match byte {
            Some(b @ (b'"' | b'\\')) => char::from(b),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(at),
            _ => return Err(Fault::expected(at, "one of \\\" \\\\ \\b \\f \\n \\r \\t \\u")),
        })
    }

    /// Java's strings are UTF-16, and so are their escapes.
    fn unicode_escape(&mut self, at: usize) -> Result<char, Fault> {
        let mut code = self.cursor.hex4(at)?;
        if (0xd800..0xdc00).contains(&code) && self.cursor.eat_all(b"\\u") {
            let low = self.cursor.hex4(at)?;
            let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400);
            let low = low.ok_or_else(|| Fault::expected(at, "the second half of a pair"))?;
            code = 0x10000 + ((code - 0xd800) << 10) + low;
        }
        char::from_u32(code).ok_or_else(|| Fault::expected(at, "a Unicode character"))
    }
}

fn too_deep(at: usize) -> Fault {
    Fault::wrong(at, format!("vectors, lists and maps nest more than {MAX_DEPTH} deep"))
}

fn open_string(start: usize) -> Fault {
    Fault::expected(start.saturating_sub(1), "a string that ends with '\"'")
}

fn row(pool: &mut Pool, parts: &[Value], at: usize, end: usize) -> Result<Value, Fault> {
    let (pairs, odd) = parts.as_chunks::<2>();
    if !odd.is_empty() {
        return Err(Fault::expected(end, "a value for the map's last key"));
    }
    let columns: Vec<(Value, Value)> = pairs.iter().map(|p| (p[0], p[1])).collect();
    let mut names: Vec<Value> = columns.iter().map(|c| c.0).collect();
    names.sort_unstable();
    if names.windows(2).any(|w| w[0] == w[1]) {
        return Err(Fault::wrong(at, "the map has a key twice"));
    }
    Ok(pool.row(&columns))
}

#[cfg(test)]
mod tests;
