//! dbcop's little language for histories made by hand, `.hist`.
//!
//! ```text
//! // Session 0
//! [x:=1 y:=2] [y==2 x:=3]
//! ---
//! [x==? y:=4]!
//! ```
//!
//! `x:=1` writes, `x==1` reads, `x==?` reads what no transaction has written yet, and so does `x==0`
//! where there is no `x:=0`. Brackets hold a transaction; one with `!` behind it has not committed.
//! A line of dashes starts the next session.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::Outcome;
use crate::format::Format;
use crate::formats::dbcop_common::{LOOK_AT, head, read_versions};
use crate::ids::SessionId;
use crate::meta::InitialState;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Cursor;
use crate::value::Value;

pub(crate) static FORMAT: Format = Format {
    name: "dbcop-hist",
    title: "dbcop's text for histories made by hand",
    example: "[x:=1 y:=2] [y==2 x:=3]",
    looks_like,
    read,
    load: None,
    write: None,
    write_folder: None,
};

fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    sink.meta().initial = InitialState::every(Value::ABSENT);
    let read = |sink: &mut dyn Sink| history(&input.bytes, sink);
    read_versions(sink, read).map_err(|fault| input.text_error(fault))
}

fn history(bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Fault> {
    let mut cursor = Cursor::new(bytes);
    let mut draft = TxnDraft::default();
    let mut number = 0;
    loop {
        match next_part(&mut cursor)? {
            NextPart::Transaction => {
                let at = cursor.pos;
                draft.reset(session(sink, number));
                transaction(&mut cursor, sink.pool(), &mut draft)?;
                sink.transaction(&draft).map_err(|e| Fault::sink(at, &e))?;
            }
            NextPart::Separator => {
                // A session without transactions is one all the same.
                session(sink, number);
                number += 1;
            }
            NextPart::End => return Ok(()),
        }
    }
}

fn session(sink: &mut dyn Sink, number: i64) -> SessionId {
    let name = sink.pool().int(number);
    sink.pool().session(name)
}

/// What comes next outside of transactions.
enum NextPart {
    /// A transaction: the cursor stands on its bracket.
    Transaction,
    /// A line of dashes, which has been taken.
    Separator,
    End,
}

fn next_part(cursor: &mut Cursor<'_>) -> Result<NextPart, Fault> {
    skip_space_and_comments(cursor);
    match cursor.peek() {
        None => Ok(NextPart::End),
        Some(b'[') => Ok(NextPart::Transaction),
        Some(b'-') => {
            separator(cursor)?;
            Ok(NextPart::Separator)
        }
        Some(_) => Err(cursor.expected("a transaction in brackets, or a line of dashes")),
    }
}

/// Dashes alone on their line, but for a comment.
fn separator(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    const WHAT: &str = "a line of dashes alone between two sessions";
    let start = cursor.pos;
    let before = cursor.bytes.get(..start).unwrap_or_default();
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |i| i + 1);
    let indent = before.get(line_start..).unwrap_or_default();
    if !indent.iter().all(|b| matches!(b, b' ' | b'\t')) {
        return Err(Fault::expected(start, WHAT));
    }
    cursor.take_while(|b| b == b'-');
    cursor.skip_blanks();
    let rest = cursor.rest();
    let ends = rest.is_empty() || rest.starts_with(b"\n") || rest.starts_with(b"\r\n");
    if ends || rest.starts_with(b"//") { Ok(()) } else { Err(Fault::expected(start, WHAT)) }
}

/// Says whether there was a comment.
fn skip_space_and_comments(cursor: &mut Cursor<'_>) -> bool {
    let mut comment = false;
    loop {
        cursor.skip_space();
        if !cursor.rest().starts_with(b"//") {
            return comment;
        }
        cursor.line();
        comment = true;
    }
}

fn transaction(
    cursor: &mut Cursor<'_>,
    pool: &mut Pool,
    draft: &mut TxnDraft,
) -> Result<(), Fault> {
    let start = cursor.pos;
    cursor.expect(b'[', "'['")?;
    let mut apart = true;
    loop {
        let before = cursor.pos;
        skip_space_and_comments(cursor);
        apart |= cursor.pos > before;
        match cursor.peek() {
            Some(b']') => break,
            None => {
                let fault = Fault::wrong(start, "the transaction that starts here has no ']'");
                return Err(fault.hint("the file may be cut short"));
            }
            Some(_) if !apart => return Err(cursor.expected("a space before the next event")),
            Some(_) => event(cursor, pool, draft)?,
        }
        apart = false;
    }
    cursor.pos += 1;
    draft.outcome = if cursor.eat(b'!') { Outcome::Aborted } else { Outcome::Committed };
    Ok(())
}

fn event(cursor: &mut Cursor<'_>, pool: &mut Pool, draft: &mut TxnDraft) -> Result<(), Fault> {
    let start = cursor.pos;
    let name = variable(cursor)
        .ok_or_else(|| Fault::expected(start, "an event such as x:=1, x==1 or x==?, or ']'"))?;
    // Every byte of a variable is ASCII.
    let name = std::str::from_utf8(name).map_err(|_| Fault::expected(start, "a variable"))?;
    if cursor.eat_all(b":=") {
        let value = cursor.unsigned("the number to write")?;
        let key = pool.text_key(name);
        draft.write(key, pool.uint(value));
    } else if cursor.eat_all(b"==") {
        let value = if cursor.eat(b'?') {
            Value::ABSENT
        } else {
            pool.uint(cursor.unsigned("the number that was read, or '?'")?)
        };
        let key = pool.text_key(name);
        draft.read(key, value);
    } else {
        return Err(cursor.expected("':=' or '=='"));
    }
    Ok(())
}

fn variable<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    // dbcop's own parser takes digits in front, too.
    let name = cursor.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
    (!name.is_empty()).then_some(name)
}

/// The first event decides: neither JSON nor EDN has a `:=` or `==` right behind a word in
/// brackets. Empty transactions alone could be empty arrays, so they need a `!`, a comment or a line
/// of dashes beside them.
fn looks_like(source: &Source) -> bool {
    let bytes = head(source);
    let cut = bytes.len() == LOOK_AT;
    let mut cursor = Cursor::new(bytes);
    let mut transactions = false;
    let mut special = false;
    loop {
        special |= skip_space_and_comments(&mut cursor);
        match cursor.peek() {
            None => return transactions && special && !cut,
            Some(b'[') => cursor.pos += 1,
            Some(b'-') if separator(&mut cursor).is_ok() => {
                special |= transactions;
                continue;
            }
            Some(_) => return false,
        }
        skip_space_and_comments(&mut cursor);
        if !cursor.eat(b']') {
            return starts_event(&mut cursor);
        }
        transactions = true;
        special |= cursor.eat(b'!');
    }
}

fn starts_event(cursor: &mut Cursor<'_>) -> bool {
    variable(cursor).is_some()
        && (cursor.eat_all(b":=") || cursor.eat_all(b"=="))
        && cursor.peek().is_some_and(|b| b.is_ascii_digit() || b == b'?')
}

#[cfg(test)]
mod tests;
