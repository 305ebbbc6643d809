//! The text that Plume, PolySI, IsoVista, MTC, C4 and AWDIT share: one operation a line.
//!
//! ```text
//! w(0,3,1,2)       write of value 3 to key 0, by session 1 in transaction 2
//! r(0,3,1,3)
//! w(7,9,0,-1)      an aborted operation
//! ```
//!
//! Lines of a session are in program order; lines of different sessions may interleave as they
//! like. A transaction is known by its number and belongs to one session; those of a session are in
//! the order of their first lines. One that comes back after the session's next one has begun goes
//! on, as PolySI and AWDIT have it, and the user is told. Every key starts with the value 0, so an
//! explicit write of 0 is that initial write: it is kept, and the user is told.
//!
//! The number -1 stands for every aborted transaction. What can be told apart is: lines with -1 of
//! one session, with no other line of that session between them, are one aborted transaction, and
//! it has no label.

#[cfg(test)]
pub(crate) mod check;
mod read;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use crate::format::Format;
use crate::source::Source;
use crate::text::Cursor;

pub(crate) static FORMAT: Format = Format {
    name: "plume",
    title: "text of Plume, PolySI, IsoVista, MTC and AWDIT",
    example: "w(key,value,session,txn)",
    looks_like,
    read: read::read,
    load: Some(read::load),
    write: Some(write::write),
    write_folder: None,
};

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    let mut cursor = Cursor::new(&input.bytes);
    (cursor.eat(b'r') || cursor.eat(b'w'))
        && cursor.eat(b'(')
        && cursor.unsigned("a key").is_ok()
        && cursor.eat(b',')
}
