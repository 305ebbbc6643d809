//! Leopard's traces: a folder in which each client thread has slices `loader-<thread>.<slice>.json`, each a
//! JSON array of what the thread did, and `init_data/table<N>.csv` the rows that were there before.
//!
//! ```text
//! {"threadID": "0-0-0", "transactionID": "0-0-0,0", "operationID": "0-0-0,0,1",
//!  "operationTraceType": "UPDATE", "startTimestamp": 1663798322622208619,
//!  "finishTimestamp": 1663798322632200949, "predicateLock": null,
//!  "traceLockMode": "EXCLUSIVE_LOCK", "readMode": "LOCKING_READ",
//!  "writeTupleList": [{"table": "0", "primaryKey": "0", "valueMap": {"v": "1"}}]}
//! ```
//!
//! How a trace becomes a history:
//!
//! * A thread is a session, a transaction one by its `transactionID`. A row is the key of table and primary
//!   key, its value a row of columns; the fact `rows` says that operations speak of columns.
//! * Texts that are whole numbers are numbers, in names and columns alike, since some traces write `"1"` and
//!   others `1`. Table `table3` is table 3. Members that are null are not there.
//! * `START` begins the transaction's interval, `COMMIT` and `ROLLBACK` end it. A `COMMIT` that failed or
//!   was never answered leaves the outcome unknown, unless `ROLLBACK` follows it.
//! * With a `savepoint`, `START` sets one, `ROLLBACK` goes back to it, `COMMIT` releases it.
//! * `valueMap` that is null says that the row is not there; without one, what was read is not known.
//! * What a statement was is kept as attribute `kind` where its operations do not say it. What `START` says
//!   beyond time and level are attributes of the transaction, what its end says is the attribute `ending`.
//! * `DDL`, `FAULT` and `DistributeSchedule` are events, with all that the trace says as detail.

mod read;
pub(crate) mod slices;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod words;
mod write;

use crate::error::Fault;
use crate::format::Format;
use crate::source::Source;
use crate::text::Json;

use slices::slice_of;

pub(crate) static FORMAT: Format = Format {
    name: "leopard",
    title: "Leopard's traces, a folder of loader-<thread>.<slice>.json and init_data/table<N>.csv",
    example: r#"[{"threadID":"0","transactionID":"0,0","operationTraceType":"START","startTimestamp":1,...}]"#,
    looks_like,
    read: read::read,
    load: None,
    write: Some(write::write),
    write_folder: Some(write::write_folder),
};

/// How much of a file is looked at to recognise it.
const HEAD: usize = 64 << 10;
/// Members of every operation, of which two tell the format, and the first one alone.
const TELLING: [&str; 4] = ["operationTraceType", "threadID", "transactionID", "operationID"];

fn looks_like(source: &Source) -> bool {
    match source {
        Source::File(input) => starts_with_operation(&input.bytes).unwrap_or(false),
        Source::Folder { files, .. } => {
            let mut slices = files.iter().filter(|file| slice_of(&file.name).is_some()).peekable();
            // A thread that did nothing says nothing of the others.
            let told = |bytes: &[u8]| starts_with_operation(bytes) != Some(false);
            slices.peek().is_some() && slices.all(|slice| told(&slice.bytes))
        }
    }
}

/// Whether the first thing in an array is an operation; `None` if nothing is in it, as far as it goes.
fn starts_with_operation(bytes: &[u8]) -> Option<bool> {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let mut seen = [false; TELLING.len()];
    let mut json = Json::new(head);
    if json.offset() == head.len() {
        return None;
    }
    // Where the head ends, or the text is damaged, what has been seen until then must do.
    match first_members(&mut json, &mut seen) {
        Ok(false) => None,
        _ => Some(seen[0] || seen.iter().filter(|seen| **seen).count() >= 2),
    }
}

/// Notes which members the first object has; `false` if there is none.
fn first_members(json: &mut Json<'_>, seen: &mut [bool; TELLING.len()]) -> Result<bool, Fault> {
    json.begin_array()?;
    if !json.next_item()? {
        json.finish()?;
        return Ok(false);
    }
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        if let Some(at) = TELLING.iter().position(|telling| *telling == member) {
            seen[at] = true;
        }
        json.skip_value()?;
    }
    Ok(true)
}
