//! Values without parts: numbers, keywords, symbols, characters.

use crate::error::Fault;
use crate::text::cursor::{Cursor, utf8};

/// A value without parts that is no string.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Atom<'a> {
    Nil,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// A keyword, symbol, character, ratio, or a number too large for the others, word for word.
    Word(&'a str),
}

impl<'a> Atom<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Atom<'a>, Fault> {
        let at = cursor.pos;
        let rest = cursor.rest();
        let digit_follows = rest.get(1).is_some_and(u8::is_ascii_digit);
        match rest.first() {
            Some(b'0'..=b'9') => number(at, utf8(at, token(cursor))?),
            Some(b'+' | b'-') if digit_follows => number(at, utf8(at, token(cursor))?),
            Some(b'#') => symbolic_float(at, cursor),
            Some(b'\\') => character(at, cursor),
            Some(b':') if rest.get(1).is_none_or(|&b| is_delimiter(b)) => {
                Err(Fault::expected(at, "a keyword"))
            }
            Some(&b) if starts_word(b) => Ok(match utf8(at, token(cursor))? {
                "nil" => Atom::Nil,
                "true" => Atom::Bool(true),
                "false" => Atom::Bool(false),
                word => Atom::Word(word),
            }),
            _ => Err(Fault::expected(at, "an EDN value")),
        }
    }
}

/// `##Inf`, `##-Inf`, `##NaN`.
fn symbolic_float<'a>(at: usize, cursor: &mut Cursor<'a>) -> Result<Atom<'a>, Fault> {
    match token(cursor) {
        b"##Inf" => Ok(Atom::Float(f64::INFINITY)),
        b"##-Inf" => Ok(Atom::Float(f64::NEG_INFINITY)),
        b"##NaN" => Ok(Atom::Float(f64::NAN)),
        _ => Err(Fault::expected(at, "##Inf, ##-Inf or ##NaN")),
    }
}

/// `\a`, `\newline`, `\u0041`; the character itself may be a delimiter.
fn character<'a>(at: usize, cursor: &mut Cursor<'a>) -> Result<Atom<'a>, Fault> {
    if cursor.rest().len() < 2 {
        return Err(Fault::expected(at, "a character after '\\'"));
    }
    cursor.pos += 2;
    token(cursor);
    utf8(at, cursor.bytes.get(at..cursor.pos).unwrap_or_default()).map(Atom::Word)
}

/// The tag of a tagged value, from its `#` on.
pub(super) fn tag<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
    let at = cursor.pos;
    cursor.pos += 1;
    let tag = token(cursor);
    let sound = tag.first().is_some_and(|b| b.is_ascii_alphabetic() || *b >= 0x80);
    if sound { Ok(tag) } else { Err(Fault::expected(at, "an EDN value")) }
}

/// The bytes up to the next delimiter.
#[inline]
pub(super) fn token<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    cursor.take_while(|b| !is_delimiter(b))
}

/// Whether a byte ends a number, a keyword or a symbol.
#[inline]
pub(super) const fn is_delimiter(byte: u8) -> bool {
    DELIMITERS[byte as usize]
}

static DELIMITERS: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest: &[u8] = b" ,\n\t\r\x0c()[]{}\";";
    while let [byte, tail @ ..] = rest {
        table[*byte as usize] = true;
        rest = tail;
    }
    table
};

fn starts_word(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || b":.*+!-_?$%&=<>/|'".contains(&byte)
}

/// Clojure writes the addresses of objects so: `#object[java.lang.Object 0x1b2c "..."]`.
fn hexadecimal<'a>(text: &'a str, digits: &str) -> Option<Atom<'a>> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let number = i128::from_str_radix(&format!("{sign}{digits}"), 16);
    Some(number.map_or(Atom::Word(text), Atom::Int))
}

fn number(at: usize, text: &str) -> Result<Atom<'_>, Fault> {
    let complaint = || Fault::expected(at, "a number");
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = digits.strip_suffix('N').unwrap_or(digits);
    if let Some(hex) = whole.strip_prefix("0x").or_else(|| whole.strip_prefix("0X")) {
        return hexadecimal(text, hex).ok_or_else(complaint);
    }
    let is_whole = whole.bytes().all(|b| b.is_ascii_digit());
    if whole.len() > 1 && whole.starts_with('0') && is_whole {
        return Err(complaint().hint("numbers have no leading zeros in EDN"));
    }
    if is_whole {
        let source = text.strip_suffix('N').unwrap_or(text);
        return Ok(source.parse().map_or(Atom::Word(text), Atom::Int));
    }
    if let Some((top, bottom)) = digits.split_once('/') {
        let all = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        return if all(top) && all(bottom) { Ok(Atom::Word(text)) } else { Err(complaint()) };
    }
    let decimal = text.strip_suffix('M').unwrap_or(text);
    if !decimal.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) {
        return Err(complaint());
    }
    let float: f64 = decimal.parse().map_err(|_| complaint())?;
    Ok(if float.is_finite() { Atom::Float(float) } else { Atom::Word(text) })
}
