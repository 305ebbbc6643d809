//! dbcop's binary format, `history.bincode`: little-endian, every number and length 64 bits wide.
//!
//! ```text
//! id, n_node, n_variable, n_transaction, n_event      parameters of the workload
//! info, start, end                                    texts: a length, then UTF-8
//! number of sessions
//!   number of transactions
//!     number of events
//!       write (1 byte), variable, value, success (1 byte)
//!     success (1 byte)
//! ```
//!
//! Every key is 0 before the first transaction. A transaction without success has aborted; an event
//! without success has not taken place, and what a read would have returned is not known.

mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::format::Format;
use crate::formats::dbcop_common::head;
use crate::source::Source;

pub(crate) static FORMAT: Format = Format {
    name: "dbcop-bincode",
    title: "dbcop's binary history, which PolySI, AWDIT and VeriStrong read too",
    example: "history.bincode: 5 numbers, \"PostgreSQL\", \"2022-07-22T23:12:34+08:00\", …",
    looks_like,
    read: read::read,
    load: None,
    write: Some(write::write),
    write_folder: None,
};

/// More than any parameter of a real workload.
const PARAMETER_LIMIT: u64 = 1 << 40;

fn looks_like(source: &Source) -> bool {
    let Ok(header) = read::Bytes::new(head(source)).header() else { return false };
    header.parameters.iter().all(|&n| n < PARAMETER_LIMIT)
        && is_timestamp(header.start)
        && is_timestamp(header.end)
}

/// Whether a text starts like `2022-07-22T23:12:34`, in digits and in between.
fn is_timestamp(text: &str) -> bool {
    const PATTERN: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let fits = |(&b, &p): (&u8, &u8)| if p == b'0' { b.is_ascii_digit() } else { b == p };
    bytes.len() > PATTERN.len() && bytes.len() < 64 && bytes.iter().zip(PATTERN).all(fits)
}
