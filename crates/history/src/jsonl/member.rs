//! Members of an object and parts of an array: what everything on a line is read with.

use std::borrow::Cow;

use crate::error::Fault;
use crate::pool::Pool;
use crate::text::Json;
use crate::value::Value;

/// What a line turns out to be once its members are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    Header,
    Transaction,
    Event,
    Order,
    Promise,
    Trailer,
}

impl LineKind {
    /// The kind that a member gives away. Every other member is a transaction's, or a promise's.
    pub(super) fn of_member(name: &str) -> LineKind {
        match name {
            "isolde" => LineKind::Header,
            "event" => LineKind::Event,
            "order" => LineKind::Order,
            "meta" => LineKind::Trailer,
            _ => LineKind::Transaction,
        }
    }
}

/// The name of the next member, and where it stands.
pub(super) fn member<'a>(json: &mut Json<'a>) -> Result<Option<(usize, Cow<'a, str>)>, Fault> {
    let mut at = json.offset();
    let Some(name) = json.next_member()? else { return Ok(None) };
    let bytes = json.cursor.bytes;
    at += bytes[at..].iter().position(|&b| b == b'"').unwrap_or(0);
    Ok(Some((at, name)))
}

/// Complains about a member that the object has already.
pub(super) fn once(seen: &mut u32, bit: u32, at: usize, name: &str) -> Result<(), Fault> {
    if *seen & (1 << bit) != 0 {
        return Err(named_twice(at, name));
    }
    *seen |= 1 << bit;
    Ok(())
}

#[cold]
pub(super) fn named_twice(at: usize, name: &str) -> Fault {
    Fault::wrong(at, format!("the object names \"{}\" twice", name.escape_debug()))
}

/// `[a,b]`
pub(super) fn pair(
    json: &mut Json<'_>,
    pool: &mut Pool,
    what: &str,
) -> Result<(Value, Value), Fault> {
    two(json, what, |json| json.value(pool))
}

/// An array of exactly two.
pub(super) fn two<T>(
    json: &mut Json<'_>,
    what: &str,
    mut part: impl FnMut(&mut Json<'_>) -> Result<T, Fault>,
) -> Result<(T, T), Fault> {
    let at = json.offset();
    let wrong = || Fault::expected(at, what);
    json.begin_array().map_err(|_| wrong())?;
    if !json.next_item()? {
        return Err(wrong());
    }
    let first = part(json)?;
    if !json.next_item()? {
        return Err(wrong());
    }
    let second = part(json)?;
    if json.next_item()? {
        return Err(wrong());
    }
    Ok((first, second))
}
