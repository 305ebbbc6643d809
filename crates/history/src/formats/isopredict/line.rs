//! One line of a trace.

use std::fmt;

use crate::error::Fault;
use crate::text::Cursor;

/// What a line says.
pub(super) enum TraceLine<'a> {
    Operation(TracedOperation<'a>),
    /// A message of the recorder.
    Replay,
    Blank,
}

/// An operation as the line spells it.
pub(super) struct TracedOperation<'a> {
    pub(super) action: TracedAction,
    pub(super) key: &'a str,
    /// The set that the key is a member of.
    pub(super) set: Option<&'a str>,
    pub(super) txn: Name,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TracedAction {
    Read(Name),
    Write,
    Delete,
}

/// What the trace calls a transaction: its session, and its number in the session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) session: i64,
    pub(super) number: i64,
}

impl Name {
    /// The transaction that wrote the initial state.
    pub(super) const INITIAL: Name = Name { session: 0, number: 0 };

    /// Whether reading from it can mean the initial state.
    pub(super) fn may_be_initial(self) -> bool {
        self == Name::INITIAL || self.session < 0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.session, self.number)
    }
}

/// Reads a line and its end.
pub(super) fn line<'a>(cursor: &mut Cursor<'a>) -> Result<TraceLine<'a>, Fault> {
    cursor.skip_blanks();
    let start = cursor.pos;
    let line = match cursor.take_while(|b| b.is_ascii_uppercase()) {
        b"READ" => operation(cursor, OperationShape { reads: true, deletes: false, set: None })?,
        b"WRITE" => operation(cursor, OperationShape { reads: false, deletes: false, set: None })?,
        b"INSERT" => {
            operation(cursor, OperationShape { reads: false, deletes: false, set: Some("to") })?
        }
        b"CONTAINS" => {
            operation(cursor, OperationShape { reads: true, deletes: false, set: Some("in") })?
        }
        b"DELETE" => {
            operation(cursor, OperationShape { reads: false, deletes: true, set: Some("from") })?
        }
        b"REPLAY" => {
            cursor.line();
            return Ok(TraceLine::Replay);
        }
        b"" if matches!(cursor.peek(), None | Some(b'\r' | b'\n')) => TraceLine::Blank,
        _ => {
            return Err(Fault::expected(start, "READ, WRITE, INSERT, CONTAINS or DELETE"));
        }
    };
    cursor.skip_blanks();
    cursor.eat(b'\r');
    if !cursor.at_end() {
        cursor.expect(b'\n', "the end of the line")?;
    }
    Ok(line)
}

/// What the operations have that their first word does not say.
#[derive(Clone, Copy)]
struct OperationShape {
    reads: bool,
    deletes: bool,
    /// The word before the set, if there is one.
    set: Option<&'static str>,
}

fn operation<'a>(cursor: &mut Cursor<'a>, form: OperationShape) -> Result<TraceLine<'a>, Fault> {
    cursor.skip_blanks();
    cursor.eat_all(b"KEY");
    let key = bracketed(cursor, "a key")?;
    let set = match form.set {
        None => None,
        Some(word) => Some(set_of(cursor, word)?),
    };
    let (txn, from) = transactions(cursor, form.reads)?;
    let action = match from {
        Some(from) => TracedAction::Read(from),
        None if form.deletes => TracedAction::Delete,
        None => TracedAction::Write,
    };
    Ok(TraceLine::Operation(TracedOperation { action, key, set, txn }))
}

fn set_of<'a>(cursor: &mut Cursor<'a>, word: &str) -> Result<&'a str, Fault> {
    cursor.skip_blanks();
    let at = cursor.pos;
    let found = cursor.take_while(|b| b.is_ascii_alphabetic());
    if !found.eq_ignore_ascii_case(word.as_bytes()) {
        return Err(Fault::expected(at, format_args!("'{word} Set[...]'")));
    }
    cursor.skip_blanks();
    if !cursor.eat_all(b"Set") {
        return Err(cursor.expected("'Set[...]'"));
    }
    bracketed(cursor, "a set")
}

/// A name in brackets, square or round.
fn bracketed<'a>(cursor: &mut Cursor<'a>, what: &str) -> Result<&'a str, Fault> {
    let close = match cursor.peek() {
        Some(b'[') => b']',
        Some(b'(') => b')',
        _ => return Err(cursor.expected(format_args!("{what} in brackets"))),
    };
    cursor.pos += 1;
    let at = cursor.pos;
    let name = cursor.take_while(|b| b != close && b != b'\n');
    if !cursor.eat(close) {
        let close = char::from(close);
        return Err(cursor.expected(format_args!("'{close}' after {what}")));
    }
    match std::str::from_utf8(name) {
        Ok("") => Err(Fault::expected(at, what)),
        Ok(name) => Ok(name),
        Err(_) => Err(Fault::expected(at, format_args!("{what} that is UTF-8 text"))),
    }
}

/// `Txn(s, i)` and, for reads, `From(s, i)`, in either order.
fn transactions(cursor: &mut Cursor<'_>, reads: bool) -> Result<(Name, Option<Name>), Fault> {
    let (mut txn, mut from) = (None, None);
    loop {
        cursor.skip_blanks();
        if txn.is_none() && cursor.eat_all(b"Txn") {
            let at = cursor.pos;
            let found = name(cursor)?;
            if found.session < 0 || found.number < 0 {
                return Err(Fault::expected(at, "a transaction with numbers from 0 on"));
            }
            txn = Some(found);
        } else if reads && from.is_none() && cursor.eat_all(b"From") {
            from = Some(name(cursor)?);
        } else {
            break;
        }
    }
    let txn = txn.ok_or_else(|| missing(cursor, "Txn(session, number)"))?;
    if reads && from.is_none() {
        return Err(missing(cursor, "From(session, number)"));
    }
    Ok((txn, from))
}

fn missing(cursor: &Cursor<'_>, what: &str) -> Fault {
    cut_off(cursor, cursor.expected(what))
}

fn name(cursor: &mut Cursor<'_>) -> Result<Name, Fault> {
    let result = spelled_name(cursor);
    result.map_err(|fault| cut_off(cursor, fault))
}

fn spelled_name(cursor: &mut Cursor<'_>) -> Result<Name, Fault> {
    cursor.expect(b'(', "'('")?;
    let session = cursor.integer("the number of a session")?;
    cursor.expect(b',', "','")?;
    cursor.skip_blanks();
    let number = cursor.integer("the number of a transaction")?;
    cursor.expect(b')', "')'")?;
    Ok(Name { session, number })
}

fn cut_off(cursor: &Cursor<'_>, fault: Fault) -> Fault {
    if cursor.at_end() {
        fault.hint("the file ends in the middle of a line: it was probably cut off")
    } else {
        fault
    }
}
