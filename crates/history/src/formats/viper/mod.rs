//! Viper's JSON logs: a folder of files `J<thread>.log`, one per session, and in each one line per
//! committed transaction.
//!
//! ```text
//! {"value": [["r", 1, 17, false], ["w", 2, 18, true]]}
//! {"value": [["i", 3, 19, 0, false, true], ["d", 1, 20, 17, false, true]]}
//! {"value": [["range", 1, "nil", [{"id": 2, "sk": 2, "val": 18}], []]]}
//! ```
//!
//! * `["r", key, value, isDead]`: a read. A dead read has met the tombstone of a deleted key.
//! * `["w", key, value, succ]`: a write, and whether it was done.
//! * `["i", key, value, seen, isDead, succ]`: an insert, which reads the key before it writes.
//! * `["d", key, tombstone, seen, isDead, succ]`: a delete, which reads the key as well.
//! * `["range", low, high, live, dead]`: all rows between two keys; `"nil"` is no bound.
//!
//! ViperBench can also write each operation as an object (`{"opType": "r", "key": 1, ...}`), with
//! the times of its request and its answer. The value 0 says that the key never existed. Deleted
//! keys keep their tombstone's identifier in the attribute `tombstone`, so that it stays known
//! which delete a read has met.
//!
//! Transactions that aborted are never logged, so the history is not complete.

mod dead;
mod initial;
mod operation;
mod read;
#[cfg(test)]
pub(crate) mod tests;

use crate::error::Fault;
use crate::format::Format;
use crate::source::{Input, Source};
use crate::text::Json;
use crate::text::json::JsonKind;

use read::is_log_name;

pub(crate) static FORMAT: Format = Format {
    name: "viper",
    title: "Viper's JSON logs, a folder of J<thread>.log",
    example: r#"{"value": [["r", 1, 17, false], ["w", 2, 18, true]]}"#,
    looks_like,
    read: read::read,
    load: None,
    write: None,
    write_folder: None,
};

/// How much of a file is looked at to recognise it.
const HEAD: usize = 64 << 10;

fn looks_like(source: &Source) -> bool {
    match source {
        Source::File(input) => starts_with_transaction(input),
        Source::Folder { files, .. } => {
            let logs = files.iter().filter(|f| is_log_name(&f.name));
            let mut used = logs.filter(|f| !head(f).trim_ascii().is_empty());
            used.next().is_some_and(starts_with_transaction)
        }
    }
}

fn head(input: &Input) -> &[u8] {
    input.bytes.get(..HEAD).unwrap_or(&input.bytes)
}

fn starts_with_transaction(input: &Input) -> bool {
    // Once an operation is seen that only Viper writes, damage further on is for the reader to
    // diagnose; but a member that only Jepsen writes may still follow.
    let mut operation_seen = false;
    let result = transaction_shape(&mut Json::new(head(input)), &mut operation_seen);
    result.unwrap_or(operation_seen)
}

fn transaction_shape(json: &mut Json<'_>, operation_seen: &mut bool) -> Result<bool, Fault> {
    let mut value_seen = false;
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        match &*member {
            "type" | "f" | "process" => {
                *operation_seen = false;
                return Ok(false);
            }
            "value" => {
                json.begin_array()?;
                value_seen = true;
                if json.next_item()? {
                    let mut ahead = json.clone();
                    *operation_seen = operation_shape(&mut ahead)?;
                    if !*operation_seen {
                        return Ok(false);
                    }
                    json.skip_value()?;
                    while json.next_item()? {
                        json.skip_value()?;
                    }
                }
            }
            _ => json.skip_value()?,
        }
    }
    Ok(value_seen)
}

/// Whether the next value is an operation as only Viper writes it.
fn operation_shape(json: &mut Json<'_>) -> Result<bool, Fault> {
    if json.peek()? == JsonKind::Object {
        json.begin_object()?;
        return Ok(json.next_member()?.is_some_and(|name| name == "opType"));
    }
    json.begin_array()?;
    if !json.next_item()? || json.peek()? != JsonKind::String {
        return Ok(false);
    }
    let kinds = match &*json.string("an operation")? {
        "r" | "w" => "kib",
        "i" | "d" => "kiibb",
        "range" => "kka",
        _ => return Ok(false),
    };
    for want in kinds.bytes() {
        if !json.next_item()? || !is_of_kind(want, json.peek()?) {
            return Ok(false);
        }
        if want == b'a' {
            return Ok(true);
        }
        json.skip_value()?;
    }
    Ok(!json.next_item()?)
}

fn is_of_kind(want: u8, found: JsonKind) -> bool {
    match want {
        b'k' => matches!(found, JsonKind::Number | JsonKind::String),
        b'i' => found == JsonKind::Number,
        b'b' => found == JsonKind::Bool,
        _ => found == JsonKind::Array,
    }
}
