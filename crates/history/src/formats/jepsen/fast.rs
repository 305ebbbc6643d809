//! The shape that almost every line of an EDN log has, byte by byte.
//!
//! ```text
//! {:index 0, :time 10, :type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1 2]]]}
//! ```
//!
//! Whatever deviates (another key, a string, a comment, a wide number, two spaces) is `None`, and the
//! scanners that know all of EDN take over from the beginning of the map or value. So this file
//! decides nothing: it only has to be right about what it accepts.

use crate::draft::TxnDraft;
use crate::formats::jepsen::event::{Function, LogEvent, Phase, Process};
use crate::pool::Pool;
use crate::value::Value;

/// The operation map at a byte, and where it ends.
#[inline]
pub(super) fn event(bytes: &[u8], start: usize) -> Option<(LogEvent, usize)> {
    let mut event = LogEvent::new(start);
    let mut at = start;
    let mut seen = 0u8;
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        let (bit, end) = field(bytes, at, &mut event)?;
        if seen & bit != 0 {
            return None;
        }
        seen |= bit;
        at = end;
        match bytes.get(at..at + 2)? {
            b", " => at += 2,
            [b' ', b':'] => at += 1,
            [b'}', _] => break,
            _ => return None,
        }
    }
    (seen & 1 != 0).then_some((event, at + 1))
}

/// One key and its value: a bit for the key, and where the value ends.
#[inline]
fn field(bytes: &[u8], at: usize, event: &mut LogEvent) -> Option<(u8, usize)> {
    match bytes.get(at..at + 3)? {
        b":ty" => {
            let at = literal(bytes, at, b":type :")?;
            let (phase, len) = match bytes.get(at)? {
                b'i' if literal(bytes, at, b"invoke").is_some() => (Phase::Invoke, 6),
                b'i' if literal(bytes, at, b"info").is_some() => (Phase::Info, 4),
                b'o' if literal(bytes, at, b"ok").is_some() => (Phase::Ok, 2),
                b'f' if literal(bytes, at, b"fail").is_some() => (Phase::Fail, 4),
                _ => return None,
            };
            event.phase = phase;
            Some((1, at + len))
        }
        b":pr" => {
            let (process, end) = number(bytes, literal(bytes, at, b":process ")?)?;
            event.process = Process::Client(process);
            Some((2, end))
        }
        b":f " => {
            event.f_at = at + 3;
            event.function = Function::Txn;
            Some((4, literal(bytes, at, b":f :txn")?))
        }
        b":va" => {
            let at = literal(bytes, at, b":value ")?;
            event.value_at = Some(at);
            Some((8, vector_end(bytes, at)?))
        }
        b":in" => {
            let (index, end) = number(bytes, literal(bytes, at, b":index ")?)?;
            event.index = Some(index);
            Some((16, end))
        }
        b":ti" => {
            let (time, end) = number(bytes, literal(bytes, at, b":time ")?)?;
            event.time = Some(time);
            Some((32, end))
        }
        _ => None,
    }
}

/// Where the literal ends, if it stands here.
#[inline]
fn literal(bytes: &[u8], at: usize, literal: &[u8]) -> Option<usize> {
    let end = at + literal.len();
    (bytes.get(at..end)? == literal).then_some(end)
}

/// A number without sign and of at most 17 digits, and where it ends.
#[inline]
fn number(bytes: &[u8], start: usize) -> Option<(i64, usize)> {
    let mut at = start;
    let mut n = 0i64;
    while let Some(digit @ b'0'..=b'9') = bytes.get(at) {
        n = n.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        at += 1;
    }
    let len = at - start;
    // `017` is octal to Clojure, and `17N`, `17.5` and `17/2` are other things altogether.
    let padded = len > 1 && bytes[start] == b'0';
    let ends = matches!(bytes.get(at), Some(b' ' | b',' | b']' | b'}'));
    ((1..=17).contains(&len) && !padded && ends).then_some((n, at))
}

/// Where a vector ends that holds nothing but vectors, keywords and numbers.
#[inline]
fn vector_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'[') {
        return None;
    }
    let mut depth = 0u32;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match CLASS[usize::from(byte)] {
            Class::Plain => {}
            Class::Open => depth += 1,
            Class::Close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            Class::Odd => return None,
        }
        if depth > 8 {
            return None;
        }
    }
    None
}

#[derive(Clone, Copy)]
enum Class {
    Plain,
    Open,
    Close,
    Odd,
}

/// Letters, digits, `:`, `-` and spaces are plain; anything that could begin something else is odd.
static CLASS: [Class; 256] = {
    let mut table = [Class::Odd; 256];
    let mut b = 0;
    while b < 128u8 {
        if b.is_ascii_alphanumeric() || b == b' ' || b == b':' || b == b'-' {
            table[b as usize] = Class::Plain;
        }
        b += 1;
    }
    table[b'[' as usize] = Class::Open;
    table[b']' as usize] = Class::Close;
    table
};

/// Adds the micro-operations of a committed transaction to the draft. `None`, with the draft in
/// any state, if they are not of the common shape.
#[inline]
pub(super) fn micro_operations(
    bytes: &[u8],
    start: usize,
    lists: bool,
    pool: &mut Pool,
    draft: &mut TxnDraft,
    elements: &mut Vec<Value>,
) -> Option<()> {
    let mut at = literal(bytes, start, b"[")?;
    loop {
        let (reads, key_at) = match bytes.get(at..at + 4)? {
            b"[:r " => (true, at + 4),
            b"[:w " if !lists => (false, at + 4),
            b"[:ap" if lists => (false, literal(bytes, at, b"[:append ")?),
            _ => return None,
        };
        let (key, end) = number(bytes, key_at)?;
        let key = pool.int_key(key);
        let value_at = literal(bytes, end, b" ")?;
        at = match (reads, lists) {
            (true, true) => {
                let end = list(bytes, value_at, elements)?;
                draft.list_read(key, Some(elements)).ok()?;
                end
            }
            (true, false) => {
                let (value, end) = number_or_nil(bytes, value_at)?;
                draft.read(key, value);
                end
            }
            (false, true) => {
                let (value, end) = number(bytes, value_at)?;
                draft.append(key, Value::small_int(value)?);
                end
            }
            (false, false) => {
                let (value, end) = number(bytes, value_at)?;
                draft.write(key, Value::small_int(value)?);
                end
            }
        };
        match bytes.get(at..at + 2)? {
            b"]]" => return Some(()),
            b"] " => at += 2,
            _ => return None,
        }
    }
}

#[inline]
fn number_or_nil(bytes: &[u8], at: usize) -> Option<(Value, usize)> {
    if bytes.get(at) == Some(&b'n') {
        let end = literal(bytes, at, b"nil")?;
        return (bytes.get(end) == Some(&b']')).then_some((Value::ABSENT, end));
    }
    let (value, end) = number(bytes, at)?;
    Some((Value::small_int(value)?, end))
}

/// A list of numbers, or nil, which is an empty one.
#[inline]
fn list(bytes: &[u8], at: usize, elements: &mut Vec<Value>) -> Option<usize> {
    elements.clear();
    if bytes.get(at) == Some(&b'n') {
        let end = literal(bytes, at, b"nil")?;
        return (bytes.get(end) == Some(&b']')).then_some(end);
    }
    let mut at = literal(bytes, at, b"[")?;
    if bytes.get(at) == Some(&b']') {
        return Some(at + 1);
    }
    loop {
        let (value, end) = number(bytes, at)?;
        elements.push(Value::small_int(value)?);
        match bytes.get(end)? {
            b' ' => at = end + 1,
            b']' => return Some(end + 1),
            _ => return None,
        }
    }
}
