//! The text notation: histories that people type, read in documentation, and compare in tests.
//!
//! One transaction a line; it can say everything that the model holds.
//!
//! ```text
//! # A lost update: both read 0, both write.
//! initial 0
//! a: r(x,0) w(x,1)
//! b: r(x,0) w(x,2) abort
//! ```
//!
//! | a line | says |
//! |---|---|
//! | `a: r(x,0) w(x,1)` | session `a` committed a transaction of two operations |
//! | `a T7: ... abort` | it is called `T7` and was rolled back; `unknown` if the outcome is not known |
//! | `... @[5,9] ts(3,8) {level=serializable}` | its interval, timestamps and attributes, in that order |
//! | `[r(x,0) w(x,1)]@[5,6]{affected=1}` | one statement of two operations, its interval and attributes |
//! | `r(x,0){path=index}` | an operation with an attribute |
//! | `cas!(x,1,2)` `cas?(x,1,2)` | it failed; it is not known whether it failed |
//! | `initial 0`, `initial none`, `given x 5` | every key starts as 0; has no first version; `x` starts as 5 |
//! | `order x: 1 2 3` | the versions of `x`, oldest first |
//! | `event partition @[5,9] {node:n1}` | something on the time line |
//! | `meta server postgres`, `clock events`, `incomplete` | facts about the run |
//!
//! The operations are `r(k,v)`, `w(k,v)`, `append(k,v)`, `list(k,[v,...])`, `cas(k,old,new)`,
//! `insert(k,v)`, `delete(k)`, `pred(p,k=v,...)`, `savepoint(n)`, `rollback(n)` and `release(n)`.
//! Values are `7`, `1.5`, `x`, `"any text"`, `true`, `absent`, `null`, `_` (never learned), `0x00ff`,
//! `:x` (a symbol), `[1,2]` (a list) and `{a:1,b:2}` (a row). Unless a line says otherwise, every key
//! is absent at first.

mod literal;
mod read;
#[cfg(test)]
mod tests;
mod write;

use crate::format::Format;
use crate::history::History;
use crate::pool::Pool;
use crate::source::Source;
use crate::text::Cursor;
use crate::value::Value;

pub use literal::write_value;
pub use write::{
    Excerpt, excerpt_to_text, to_text, txn_name, write_op, write_txn, write_txn_briefly,
};

pub(crate) static FORMAT: Format = Format {
    name: "notation",
    title: "Isolde's text notation, for people",
    example: "a: r(x,0) w(x,1)",
    looks_like,
    read: read::read,
    load: None,
    write: Some(|history, out| Ok(out.write_all(to_text(history).as_bytes())?)),
    write_folder: None,
};

/// Reads a history from a text in this notation.
///
/// ```
/// let history = isolde_history::notation::parse("initial 0\na: r(x,0) w(x,1)\n")?;
/// assert_eq!(history.txn_count(), 1);
/// # Ok::<(), isolde_history::ReadError>(())
/// ```
pub fn parse(text: &str) -> Result<History, crate::ReadError> {
    let source = Source::File(crate::Input::new("<text>", text));
    Ok(FORMAT.load(&source)?.finish())
}

/// The first line that says anything must be one of ours, from beginning to end.
/// Reads one value, as the notation writes it: `0`, `absent`, `"a text"`, `[1,2]`.
pub fn parse_value(text: &str, pool: &mut Pool) -> Result<Value, crate::Fault> {
    let mut cursor = Cursor::new(text.as_bytes());
    let value = literal::read_value(&mut cursor, pool)?;
    cursor.skip_blanks();
    if cursor.at_end() { Ok(value) } else { Err(cursor.expected("the end of the value")) }
}

fn looks_like(source: &Source) -> bool {
    let Source::File(input) = source else { return false };
    // A transaction may be a long line: it is taken whole, wherever it ends.
    let lines = input.bytes.split(|&b| b == b'\n').take(64 * 1024).map(<[u8]>::trim_ascii);
    let Some(line) = lines.into_iter().find(|l| !l.is_empty() && !l.starts_with(b"#")) else {
        return false;
    };
    let mut scratch = crate::HistoryBuilder::new();
    read::line(line, &mut scratch, &mut read::State::default()).is_ok()
}
