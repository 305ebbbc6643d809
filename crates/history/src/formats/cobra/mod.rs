//! The binary logs of Cobra and its descendants: one file for each client, a folder for a run.
//!
//! A record is a letter and big-endian 64-bit numbers: `S` and `C` start and commit a transaction,
//! `W` is a write, `R` a read that names the transaction and the write it saw. Aborted transactions
//! are never logged. `T5.log` might hold
//!
//! ```text
//! S(1048588) R(writer=1048587, write=100002, key=166, hash=4) C(1048588)
//! ```
//!
//! There is no header: whether `S` and `C` end with a time in milliseconds, and whether a key is a
//! hash or a text with its length, shows only in which layout makes sense of every file.
//!
//! How the logs become a history:
//!
//! * The value of a write is its identifier, which is unique; a read's value is the identifier it
//!   names. The hash of the value says nothing more, unless a read's hash differs from that of the
//!   write: the value is then the list of identifier and hash, which no transaction wrote.
//! * Some identifiers are special. INIT is what was there before the run (the symbol `init`), NULL
//!   and DELETE are absence, MISSING is the symbol `missing`. The two of the garbage collector's
//!   fence are written again and again, so their value is the list of `gc-true` or `gc-false` and
//!   the writing transaction (`init` if the read says that it was there before the run).
//! * A read that saw a write which no log holds, a delete, or a write of another transaction than
//!   it says, keeps the transaction that it names as attribute `writer`.
//! * Times are taken between BEGIN and COMMIT, so they are no interval of the client's; they are
//!   kept as the attributes `start-time` and `commit-time`. A transaction's interval goes from the
//!   commit before it to the start after it in the same file.
//! * VeriStrong's variant does not know writers: if any read says so (or any identifier does), the
//!   values of the whole folder are the hashes, and identifiers that are known are kept as attribute
//!   `write-id`.

mod layout;
mod read;
mod record;
#[cfg(test)]
mod tests;

use crate::format::Format;
use crate::formats::cobra::record::{Layout, Record, Records};
use crate::source::Source;

pub(crate) static FORMAT: Format = Format {
    name: "cobra",
    title: "Cobra's binary logs, a folder with one file for each client",
    example: "T5.log: S(1048588) R(1048587, 100002, 166, 4) C(1048588)",
    looks_like,
    read: read::read,
    load: None,
    write: None,
    write_folder: None,
};

/// How much of the files recognition looks at, in all.
const LOOK_AT: usize = 64 << 10;

/// Every file starts with an `S`, and one of the first few with a transaction that commits under
/// the number with which it started: 64 bits that no text repeats by chance.
fn looks_like(source: &Source) -> bool {
    let files = source.files();
    let mut filled = files.iter().filter(|f| !f.bytes.is_empty());
    if !filled.all(|f| f.bytes.first() == Some(&b'S')) {
        return false;
    }
    let mut budget = LOOK_AT;
    for input in files {
        let len = input.bytes.len().min(budget);
        budget -= len;
        let cut = len < input.bytes.len();
        let start = input.bytes.get(..len).unwrap_or_default();
        if Layout::ALL.iter().any(|&layout| starts_with_transaction(start, layout, cut)) {
            return true;
        }
    }
    false
}

/// Whether the first transaction is whole, or fills all that we look at.
fn starts_with_transaction(bytes: &[u8], layout: Layout, cut: bool) -> bool {
    let mut records = Records::new(bytes, layout);
    let mut count = 0u32;
    loop {
        match records.next() {
            Ok(Some((_, Record::Commit(..)))) => return true,
            Ok(Some(_)) => count += 1,
            Ok(None) => return cut && count > 100,
            Err(fault) => {
                return cut && count > 100 && bytes.len() - fault.offset < LONGEST_RECORD;
            }
        }
    }
}

/// More than any record with a key of reasonable length takes.
const LONGEST_RECORD: usize = 1024;
