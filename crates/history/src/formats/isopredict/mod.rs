//! The trace of IsoPredict: which transaction read from which, without values.
//!
//! ```text
//! WRITE KEY[x] Txn(1, 0)
//! READ KEY[x] Txn(2, 0) From(1, 0)
//! INSERT[5] to Set[3] Txn(1, 1)
//! CONTAINS[5] in Set[3] From(1, 1) Txn(2, 1)
//! DELETE KEY[5] From Set(3) Txn(1, 2)
//! ```
//!
//! `Txn(s, i)` is transaction `i` of session `s`. The transactions of a session are in order; lines
//! of different sessions may interleave. The recorder itself spells a delete
//! `DELETE[5] from Set[3] Txn(1, 2)`, and may leave `REPLAY ...` messages between the operations:
//! the one is read like the other, and the messages are left out with a warning.
//!
//! Since there are no values, each write gets one that names its transaction: `Txn(1, 0)` writes
//! `"1.0"`. A trace says only which transaction is read from, and that means its last write of the
//! key; the earlier ones are called `"1.0'1"`, `"1.0'2"` and so on, and only the transaction itself
//! can read them. A member of a set is a key, the list of set and member; inserting it is a write,
//! and asking for it a read. Deleting it is a write as well, with the attribute `deletes`: were it
//! a delete, a read could not tell which one it saw, although the trace says so.
//!
//! `(0, 0)` is the initial transaction, before all sessions. What it writes is the initial state
//! (unless it reads: then it is a transaction like the others, with a warning), and what is read
//! from it without having been written is absent, like everything that is read from a negative
//! session. To read from any other transaction that does not write the key is an error.

mod line;
mod read;
#[cfg(test)]
mod tests;

use crate::format::Format;
use crate::source::Source;
use crate::text::Cursor;

pub(crate) static FORMAT: Format = Format {
    name: "isopredict",
    title: "traces of IsoPredict",
    example: "READ KEY[x] Txn(2, 0) From(1, 0)",
    looks_like,
    read: read::read,
    load: None,
    write: None,
    write_folder: None,
};

/// How much of a file recognition looks at.
const BEGINNING: usize = 64 * 1024;

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let mut cursor = Cursor::new(input.bytes.get(..BEGINNING).unwrap_or(&input.bytes));
    while !cursor.at_end() {
        match line::line(&mut cursor) {
            Ok(line::TraceLine::Operation(_)) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}
