//! Members of JSON objects that a format does not know.

use crate::error::Fault;
use crate::value::Value;

/// Hands over the members that this version does not know, each name once.
pub(crate) fn push_unknown(
    at: usize,
    unknown: &mut Vec<(Value, Value)>,
    mut push: impl FnMut(Value, Value),
) -> Result<(), Fault> {
    if unknown.is_empty() {
        return Ok(());
    }
    let mut names: Vec<Value> = unknown.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Fault::wrong(at, "a member's name is there twice"));
    }
    for (name, value) in unknown.drain(..) {
        push(name, value);
    }
    Ok(())
}
