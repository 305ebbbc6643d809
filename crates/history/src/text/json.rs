//! A pull parser for JSON: no tree, no recursion, every complaint at its byte.
//!
//! Values become [`Value`]s by one rule, the same in every file: `null` is absent, arrays are
//! lists, objects are rows; what JSON has no word for is an object with one member whose name starts
//! with `$` (see `docs/history-format.md`).

use std::borrow::Cow;

use crate::error::Fault;
use crate::pool::Pool;
use crate::text::cursor::{Cursor, utf8};
use crate::value::Value;

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 64;

/// What kind of JSON value comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or a sign.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// A JSON number, exact if it is whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// A whole number without point or exponent.
    Int(i128),
    /// Any other.
    Float(f64),
}

/// Reads JSON piece by piece.
///
/// ```
/// use isolde_history::text::Json;
/// let mut json = Json::new(br#"{"a": [1, 2], "b": null}"#);
/// let mut sum = 0;
/// json.begin_object()?;
/// while let Some(name) = json.next_member()? {
///     if name == "a" {
///         json.begin_array()?;
///         while json.next_item()? {
///             sum += json.integer("a number")?;
///         }
///     } else {
///         json.skip_value()?;
///     }
/// }
/// json.finish()?;
/// assert_eq!(sum, 3);
/// # Ok::<(), isolde_history::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Json<'a> {
    /// Where we are.
    pub cursor: Cursor<'a>,
    /// Whether the next item or member is the first of its array or object.
    first: bool,
}

impl<'a> Json<'a> {
    /// At the beginning of a text.
    pub const fn new(bytes: &'a [u8]) -> Json<'a> {
        Json { cursor: Cursor::new(bytes), first: false }
    }

    /// The byte of the next value.
    pub fn offset(&mut self) -> usize {
        self.cursor.skip_space();
        self.cursor.pos
    }

    /// Looks at the next value without taking it.
    pub fn peek(&mut self) -> Result<JsonKind, Fault> {
        self.cursor.skip_space();
        match self.cursor.peek() {
            Some(b'{') => Ok(JsonKind::Object),
            Some(b'[') => Ok(JsonKind::Array),
            Some(b'"') => Ok(JsonKind::String),
            Some(b'-' | b'0'..=b'9') => Ok(JsonKind::Number),
            Some(b't' | b'f') => Ok(JsonKind::Bool),
            Some(b'n') => Ok(JsonKind::Null),
            _ => Err(self.cursor.expected("a JSON value")),
        }
    }

    /// Enters an object.
    pub fn begin_object(&mut self) -> Result<(), Fault> {
        self.cursor.skip_space();
        self.cursor.expect(b'{', "'{'")?;
        self.first = true;
        Ok(())
    }

    /// The name of the next member of the object we are in, or `None` at its end.
    pub fn next_member(&mut self) -> Result<Option<Cow<'a, str>>, Fault> {
        if !self.next(b'}', "',' or '}'")? {
            return Ok(None);
        }
        self.cursor.skip_space();
        let name = self.string("a member's name in quotes")?;
        self.cursor.skip_space();
        self.cursor.expect(b':', "':'")?;
        Ok(Some(name))
    }

    /// Enters an array.
    pub fn begin_array(&mut self) -> Result<(), Fault> {
        self.cursor.skip_space();
        self.cursor.expect(b'[', "'['")?;
        self.first = true;
        Ok(())
    }

    /// Whether the array we are in has another item.
    #[inline]
    pub fn next_item(&mut self) -> Result<bool, Fault> {
        self.next(b']', "',' or ']'")
    }

    #[inline]
    fn next(&mut self, close: u8, what: &str) -> Result<bool, Fault> {
        self.cursor.skip_space();
        let first = std::mem::take(&mut self.first);
        if self.cursor.eat(close) {
            return Ok(false);
        }
        if !first {
            self.cursor.expect(b',', what)?;
            self.cursor.skip_space();
            if self.cursor.peek() == Some(close) {
                return Err(self.cursor.expected("a value after ','"));
            }
        }
        Ok(true)
    }

    /// A string.
    #[inline]
    pub fn string(&mut self, what: &str) -> Result<Cow<'a, str>, Fault> {
        self.cursor.skip_space();
        self.cursor.expect(b'"', what)?;
        let start = self.cursor.pos;
        let rest = self.cursor.rest();
        let stop = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
        match stop.map(|i| (i, rest[i])) {
            Some((len, b'"')) => {
                self.cursor.pos += len + 1;
                utf8(start, &rest[..len]).map(Cow::Borrowed)
            }
            Some((_, b'\\')) => self.escaped_string(start).map(Cow::Owned),
            Some((len, _)) => Err(Fault::expected(start + len, "no control character in a string")),
            None => Err(Fault::expected(start - 1, "a string that ends with '\"'")),
        }
    }

    #[cold]
    fn escaped_string(&mut self, start: usize) -> Result<String, Fault> {
        let mut out = String::new();
        loop {
            let plain_at = self.cursor.pos;
            let plain = self.cursor.take_while(|b| b != b'"' && b != b'\\' && b >= 0x20);
            out.push_str(utf8(plain_at, plain)?);
            match self.cursor.peek() {
                Some(b'"') => {
                    self.cursor.pos += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.cursor.pos += 1;
                    out.push(self.escape()?);
                }
                Some(_) => return Err(self.cursor.expected("no control character in a string")),
                None => return Err(Fault::expected(start - 1, "a string that ends with '\"'")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let at = self.cursor.pos;
        let Some(byte) = self.cursor.peek() else {
            return Err(self.cursor.expected("an escape after '\\'"));
        };
        self.cursor.pos += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(at),
            _ => return Err(Fault::expected(at, "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u")),
        })
    }

    fn unicode_escape(&mut self, at: usize) -> Result<char, Fault> {
        let high = self.cursor.hex4(at)?;
        let code = if (0xd800..0xdc00).contains(&high) {
            if !self.cursor.eat_all(b"\\u") {
                return Err(Fault::expected(at, "the second half of a surrogate pair"));
            }
            let low = self.cursor.hex4(at)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(Fault::expected(at, "the second half of a surrogate pair"));
            }
            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| Fault::expected(at, "a Unicode character"))
    }

    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<Number, Fault> {
        self.cursor.skip_space();
        let start = self.cursor.pos;
        let negative = self.cursor.eat(b'-');
        let digits = self.cursor.pos;
        let mut n: u64 = 0;
        let mut wide = false;
        while let Some(d @ b'0'..=b'9') = self.cursor.peek() {
            wide |= n > (u64::MAX - 9) / 10;
            n = n.wrapping_mul(10).wrapping_add(u64::from(d - b'0'));
            self.cursor.pos += 1;
        }
        let len = self.cursor.pos - digits;
        if len == 0 || (len > 1 && self.cursor.bytes[digits] == b'0') {
            return Err(Fault::expected(start, "a number"));
        }
        if wide || matches!(self.cursor.peek(), Some(b'.' | b'e' | b'E')) {
            return self.odd_number(start);
        }
        let n = i128::from(n);
        Ok(Number::Int(if negative { -n } else { n }))
    }

    /// Fractions, exponents, and integers of more than 64 bits.
    #[cold]
    fn odd_number(&mut self, start: usize) -> Result<Number, Fault> {
        let is_int = !matches!(self.cursor.peek(), Some(b'.' | b'e' | b'E'));
        if self.cursor.eat(b'.') {
            self.digits()?;
        }
        if self.cursor.eat(b'e') || self.cursor.eat(b'E') {
            let _ = self.cursor.eat(b'+') || self.cursor.eat(b'-');
            self.digits()?;
        }
        let text = &self.cursor.bytes[start..self.cursor.pos];
        let text = utf8(start, text)?;
        if is_int {
            let wide = text.parse::<i128>();
            return wide
                .map(Number::Int)
                .map_err(|_| Fault::expected(start, "an integer of at most 128 bits"));
        }
        let float = text.parse::<f64>().ok().filter(|f| f.is_finite());
        float.map(Number::Float).ok_or_else(|| Fault::expected(start, "a number a double can hold"))
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let digits = self.cursor.take_while(|b| b.is_ascii_digit());
        if digits.is_empty() { Err(self.cursor.expected("a digit")) } else { Ok(()) }
    }

    /// A whole number of up to 64 bits with its sign.
    #[inline]
    pub fn integer(&mut self, what: &str) -> Result<i64, Fault> {
        self.cursor.skip_space();
        let at = self.cursor.pos;
        if !matches!(self.cursor.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(Fault::expected(at, what));
        }
        match self.number()? {
            Number::Int(i) => i64::try_from(i)
                .map_err(|_| Fault::expected(at, format!("{what} of at most 64 bits"))),
            Number::Float(_) => Err(Fault::expected(at, format!("{what}, a whole number"))),
        }
    }

    /// A truth value.
    pub fn boolean(&mut self, what: &str) -> Result<bool, Fault> {
        self.cursor.skip_space();
        if self.cursor.eat_all(b"true") {
            Ok(true)
        } else if self.cursor.eat_all(b"false") {
            Ok(false)
        } else {
            Err(self.cursor.expected(what))
        }
    }

    /// Takes `null` if it comes next.
    pub fn eat_null(&mut self) -> bool {
        self.cursor.skip_space();
        self.cursor.eat_all(b"null")
    }

    /// Skips the next value, whatever it is.
    pub fn skip_value(&mut self) -> Result<(), Fault> {
        let mut open = Vec::new();
        loop {
            match self.peek()? {
                JsonKind::Object => {
                    self.begin_object()?;
                    open.push(b'}');
                }
                JsonKind::Array => {
                    self.begin_array()?;
                    open.push(b']');
                }
                _ => self.skip_scalar()?,
            }
            if open.len() > MAX_DEPTH {
                return Err(too_deep(self.cursor.pos));
            }
            loop {
                match open.last() {
                    None => return Ok(()),
                    Some(b'}') if self.next_member()?.is_some() => break,
                    Some(b']') if self.next_item()? => break,
                    Some(_) => open.pop(),
                };
            }
        }
    }

    fn skip_scalar(&mut self) -> Result<(), Fault> {
        match self.peek()? {
            JsonKind::String => self.string("a string").map(drop),
            JsonKind::Number => self.number().map(drop),
            JsonKind::Bool => self.boolean("true or false").map(drop),
            _ if self.eat_null() => Ok(()),
            _ => Err(self.cursor.expected("a JSON value")),
        }
    }

    /// Any value, interned.
    #[inline]
    pub fn value(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        match self.peek()? {
            JsonKind::Object | JsonKind::Array => self.composite(pool),
            _ => self.scalar(pool),
        }
    }

    #[inline]
    fn scalar(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        match self.peek()? {
            JsonKind::Number => Ok(match self.number()? {
                Number::Int(i) => pool.big(i),
                Number::Float(f) => pool.float(f),
            }),
            JsonKind::String => Ok(pool.text(&self.string("a string")?)),
            JsonKind::Bool => Ok(Value::from_bool(self.boolean("true or false")?)),
            _ if self.eat_null() => Ok(Value::ABSENT),
            _ => Err(self.cursor.expected("a JSON value")),
        }
    }

    /// Arrays and objects, on a stack of our own.
    #[cold]
    fn composite(&mut self, pool: &mut Pool) -> Result<Value, Fault> {
        // Each open array or object: where its parts start, where it stands, whether it is an object.
        let mut open: Vec<(usize, usize, bool)> = Vec::new();
        let mut parts: Vec<Value> = Vec::new();
        loop {
            let at = self.offset();
            match self.peek()? {
                kind @ (JsonKind::Object | JsonKind::Array) => {
                    self.cursor.pos += 1;
                    self.first = true;
                    open.push((parts.len(), at, kind == JsonKind::Object));
                }
                _ => parts.push(self.scalar(pool)?),
            }
            if open.len() > MAX_DEPTH {
                return Err(too_deep(at));
            }
            loop {
                let Some(&(start, at, is_object)) = open.last() else {
                    return parts.pop().ok_or_else(|| Fault::expected(at, "a JSON value"));
                };
                if is_object {
                    if let Some(name) = self.next_member()? {
                        parts.push(pool.text(&name));
                        break;
                    }
                } else if self.next_item()? {
                    break;
                }
                let value = if is_object {
                    object_value(pool, &parts[start..], at)?
                } else {
                    pool.list(&parts[start..])
                };
                parts.truncate(start);
                parts.push(value);
                open.pop();
            }
        }
    }

    /// Complains unless nothing but space is left.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.cursor.skip_space();
        self.cursor.finish()
    }
}

fn too_deep(at: usize) -> Fault {
    Fault::wrong(at, format!("arrays and objects nest more than {MAX_DEPTH} deep"))
}

/// A row, or one of the `$` forms for what JSON has no word for.
fn object_value(pool: &mut Pool, parts: &[Value], at: usize) -> Result<Value, Fault> {
    if let &[name, value] = parts
        && let Some(form) = pool.as_text(name).and_then(|n| n.strip_prefix('$'))
    {
        let form = form.to_owned();
        return special_value(pool, &form, value).ok_or_else(|| {
            Fault::wrong(at, format!("\"${form}\" is no special value"))
                .hint("\"$\", \"$bytes\", \"$symbol\", \"$float\" and \"$row\" are")
        });
    }
    let columns: Vec<(Value, Value)> = parts.chunks_exact(2).map(|p| (p[0], p[1])).collect();
    let mut names: Vec<Value> = columns.iter().map(|c| c.0).collect();
    names.sort_unstable();
    if names.windows(2).any(|w| w[0] == w[1]) {
        return Err(Fault::wrong(at, "the object names a member twice"));
    }
    Ok(pool.row(&columns))
}

fn special_value(pool: &mut Pool, form: &str, value: Value) -> Option<Value> {
    let text = pool.as_text(value).map(str::to_owned);
    match (form, text.as_deref()) {
        ("", Some("null")) => Some(Value::NULL),
        ("", Some("unobserved")) => Some(Value::UNOBSERVED),
        ("bytes", Some(hex)) => Some(pool.bytes(&unhex(hex)?)),
        ("symbol", Some(source)) => Some(pool.symbol(source)),
        ("float", Some("nan")) => Some(pool.float(f64::NAN)),
        ("float", Some("inf")) => Some(pool.float(f64::INFINITY)),
        ("float", Some("-inf")) => Some(pool.float(f64::NEG_INFINITY)),
        ("row", None) => {
            let crate::Datum::List(pairs) = pool.datum(value) else { return None };
            let pair = |v: Value| match pool.datum(v) {
                crate::Datum::List(p) if p.len() == 2 => p.iter().next().zip(p.iter().nth(1)),
                _ => None,
            };
            let columns: Option<Vec<_>> = pairs.iter().map(pair).collect();
            columns.map(|c| pool.row(&c))
        }
        _ => None,
    }
}

/// The bytes that a text of hex digits means.
pub(crate) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let digit = |b: u8| char::from(b).to_digit(16);
    let byte = |p: &[u8; 2]| Some((digit(p[0])? * 16 + digit(p[1])?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Datum;

    fn value(text: &str) -> Result<(Pool, Value), Fault> {
        let mut pool = Pool::new();
        let mut json = Json::new(text.as_bytes());
        let value = json.value(&mut pool)?;
        json.finish()?;
        Ok((pool, value))
    }

    #[test]
    fn accepts_what_serde_json_accepts_and_nothing_else() {
        let texts = [
            "1",
            "-0",
            "01",
            "1.5e3",
            "1.",
            ".5",
            "1e",
            "nul",
            "null ",
            "true",
            "\"a\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\x\"",
            "\"a",
            "[1,2,]",
            "[,1]",
            "[1 2]",
            "[]",
            "{}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{\"a\":{\"b\":[1,{\"c\":null}]}}",
            "{a:1}",
            "[1]]",
            "",
            "\"\u{1}\"",
            "-",
            "--1",
            "1 2",
            "[[[]]]",
            "\u{feff}1",
        ];
        for text in texts {
            let ours = value(text).map(drop);
            let theirs = serde_json::from_str::<serde_json::Value>(text).map(drop);
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{text}: {ours:?} {theirs:?}");
            let mut json = Json::new(text.as_bytes());
            let skipped = json.skip_value().and_then(|()| json.finish());
            assert_eq!(skipped.is_ok(), theirs.is_ok(), "skip {text}");
        }
    }

    #[test]
    fn special_forms() {
        let (pool, v) =
            value(r#"[null, {"$":"null"}, {"$bytes":"00ff"}, {"$symbol":":x"}]"#).unwrap();
        let Datum::List(parts) = pool.datum(v) else { panic!() };
        let data: Vec<_> = parts.iter().map(|v| pool.datum(v)).collect();
        let want = [Datum::Absent, Datum::Null, Datum::Bytes(&[0, 255]), Datum::Symbol(":x")];
        assert_eq!(data, want);
        assert!(value(r#"{"$nonsense":1}"#).is_err());
        let (pool, v) = value(r#"{"$row":[["$a",1]]}"#).unwrap();
        assert!(matches!(pool.datum(v), Datum::Row(r) if r.len() == 2));
    }

    #[test]
    fn wide_numbers_are_exact_or_refused() {
        let (pool, v) = value("18446744073709551615").unwrap();
        assert_eq!(pool.datum(v), Datum::Int(i128::from(u64::MAX)));
        assert!(value("999999999999999999999999999999999999999999").is_err());
        assert!(value("1e999").is_err());
    }

    #[test]
    fn deep_nesting_is_refused_not_overflowed() {
        let deep = "[".repeat(1_000_000);
        assert!(value(&deep).is_err());
        assert!(Json::new(deep.as_bytes()).skip_value().is_err());
    }

    #[test]
    fn a_member_named_twice_is_an_error() {
        assert!(value(r#"{"a":1,"a":2}"#).is_err());
    }
}
