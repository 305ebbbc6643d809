//! TimeKiller's histories (the checkers Chronos and Aion): one JSON array of transactions with the
//! timestamps that the database gave them.
//!
//! ```text
//! [{"tid": 1, "sid": 7, "sts": {"p": 100, "l": 0}, "cts": {"p": 120, "l": 1},
//!   "ops": [{"t": "r", "k": 5, "v": null}, {"t": "w", "k": 5, "v": 42}], "rtts": 3}]
//! ```
//!
//! `tid` and `sid` name the transaction and its session, `sts` and `cts` are the start and commit
//! timestamps (physical time and a logical counter), `rtts` is when the record arrived, in
//! milliseconds. A history is either of plain values (`r`, `w`) or of lists (`r`, `a`): in the
//! latter a read of `null` is an empty list, in the former a write of `null` is a delete. Every key
//! is absent at first; or 0, if keys are read as 0 that no transaction writes, and none as null. The
//! order of the transactions of a session in the file is their order in the session.

mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::error::Fault;
use crate::format::Format;
use crate::source::Source;
use crate::text::Json;

use read::REQUIRED;

pub(crate) static FORMAT: Format = Format {
    name: "timekiller",
    title: "TimeKiller's histories with timestamps (Chronos, Aion)",
    example: r#"[{"tid":1,"sid":7,"sts":{"p":100,"l":0},"cts":{"p":120,"l":1},"ops":[...]}]"#,
    looks_like,
    read: read::read,
    load: None,
    write: Some(write::write),
    write_folder: None,
};

/// How much of a file is looked at to recognise it.
const HEAD: usize = 64 << 10;

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let head = input.bytes.get(..HEAD).unwrap_or(&input.bytes);
    let mut seen = [false; REQUIRED.len()];
    // Where the head ends, or the text is damaged, what has been seen until then must do.
    let _ = first_members(&mut Json::new(head), &mut seen);
    let [_, _, start, commit, _] = seen;
    (start || commit) && seen.iter().filter(|s| **s).count() >= 3
}

fn first_members(json: &mut Json<'_>, seen: &mut [bool; REQUIRED.len()]) -> Result<(), Fault> {
    json.begin_array()?;
    if !json.next_item()? {
        return Ok(());
    }
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        if let Some(i) = REQUIRED.iter().position(|m| *m == member) {
            seen[i] = true;
        }
        json.skip_value()?;
    }
    Ok(())
}
