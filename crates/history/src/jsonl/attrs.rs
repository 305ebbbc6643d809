//! Attributes of transactions, statements and operations.

use crate::attributes::MAX_ATTRIBUTES;
use crate::error::Fault;
use crate::jsonl::member::{member, named_twice, pair};
use crate::jsonl::reserved;
use crate::pool::Pool;
use crate::text::Json;
use crate::value::Value;

/// An attribute object: names and values, with what JSON cannot name under `"$row"` in pairs.
pub(super) fn attributes(
    json: &mut Json<'_>,
    pool: &mut Pool,
    mut add: impl FnMut(usize, Value, Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut pairs_seen = false;
    json.begin_object()?;
    while let Some((at, name)) = member(json)? {
        if name != reserved::PAIRS {
            let value = json.value(pool)?;
            add(at, pool.text(&name), value)?;
            continue;
        }
        if std::mem::replace(&mut pairs_seen, true) {
            return Err(named_twice(at, &name));
        }
        json.begin_array()?;
        while json.next_item()? {
            let at = json.offset();
            let (name, value) = pair(json, pool, "a pair of name and value")?;
            add(at, name, value)?;
        }
    }
    Ok(())
}

/// Notes the name of an attribute. A search among few: more than a history may have are refused
/// at once, so that a line of endless names is not searched again and again.
pub(super) fn add_name(names: &mut Vec<Value>, at: usize, name: Value) -> Result<(), Fault> {
    check_new(names.len(), names.contains(&name), at)?;
    names.push(name);
    Ok(())
}

pub(super) fn add_pair(
    pairs: &mut Vec<(Value, Value)>,
    at: usize,
    name: Value,
    value: Value,
) -> Result<(), Fault> {
    check_new(pairs.len(), pairs.iter().any(|(n, _)| *n == name), at)?;
    pairs.push((name, value));
    Ok(())
}

fn check_new(count: usize, twice: bool, at: usize) -> Result<(), Fault> {
    if twice {
        return Err(Fault::wrong(at, "the attribute is given twice"));
    }
    if count >= MAX_ATTRIBUTES {
        let limit = format!("more than {MAX_ATTRIBUTES} attributes, which is the limit");
        return Err(Fault::wrong(at, limit));
    }
    Ok(())
}
