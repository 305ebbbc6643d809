//! Whether a transaction whose commit got no answer took effect: its values are looked for in what its keys held.

use std::time::{Duration, Instant};

use super::gateway::Gateway;
use super::session::{key, numbers};
use crate::failure::Failure;
use crate::shown::Written;

/// How many versions are looked at, of all keys together.
const MOST: u32 = 10_000;
/// And for how long: the client that asks has nothing else to do meanwhile.
const PATIENCE: Duration = Duration::from_secs(3);

/// The revision that put one of the values under its key, if it is or was there. No other transaction wrote any of
/// them, so one is enough. Each version tells the revision that wrote it, and the one before is what was there before
/// that. Later versions of a list have the element, too: the first of them is what the transaction put. An error may
/// also mean that old versions were compacted away.
pub(super) fn revision_of(
    gateway: &mut Gateway,
    prefix: &str,
    writes: &[Written],
) -> Result<Option<i64>, Failure> {
    let (mut left, began) = (MOST, Instant::now());
    // A key that was written several times has the last value, and a transaction all of its keys or none.
    for write in writes.iter().rev() {
        let name = key(prefix, write.table, write.row);
        let mut found = gateway.get(&name, false)?;
        let mut has_it = None;
        while let Some(text) = &found.text {
            let there = numbers(text).is_some_and(|numbers| numbers.contains(&write.value));
            match (there, has_it) {
                (true, _) => has_it = Some(found.revision),
                (false, Some(_)) => break,
                (false, None) => {}
            }
            if left == 0 || began.elapsed() > PATIENCE {
                return Ok(None);
            }
            left -= 1;
            found = match found.revision {
                ..=1 => break,
                revision => gateway.get_at(&name, revision - 1)?,
            };
        }
        if has_it.is_some() {
            return Ok(has_it);
        }
    }
    Ok(None)
}
