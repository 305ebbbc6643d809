//! The reader: one pass, nothing allocated by a length that the file claims.

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::Outcome;
use crate::formats::dbcop_common::{
    DbcopEvent, END, PARAMETERS, START, Tally, push_event, set_text,
};
use crate::meta::{InitialState, info};
use crate::sink::Sink;
use crate::source::Source;
use crate::value::Value;

/// The bytes of one event.
const EVENT_LEN: usize = 18;
/// The least that a transaction takes: the number of its events and its success.
const TRANSACTION_MIN: usize = 9;
/// The least that a session takes: the number of its transactions.
const SESSION_MIN: usize = 8;

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let mut bytes = Bytes::new(&input.bytes);
    sink.meta().initial = InitialState::every(Value::from_u32(0));
    let tally = history(&mut bytes, sink).map_err(|fault| input.binary_error(fault))?;
    tally.warn(input, sink);
    tally.warn_of_zeros(input, sink);
    Ok(())
}

fn history(bytes: &mut Bytes<'_>, sink: &mut dyn Sink) -> Result<Tally, Fault> {
    let header = bytes.header()?;
    set_header(sink, &header);
    let mut draft = TxnDraft::default();
    let mut tally = Tally::default();
    for number in 0..bytes.count("the number of sessions", SESSION_MIN)? {
        let name = sink.pool().uint(number);
        let session = sink.pool().session(name);
        for _ in 0..bytes.count("the number of transactions", TRANSACTION_MIN)? {
            let at = bytes.pos;
            draft.reset(session);
            let committed = transaction(bytes, sink, &mut draft)?;
            tally.count(committed, &draft);
            sink.transaction(&draft).map_err(|e| Fault::sink(at, &e))?;
        }
    }
    bytes.finish()?;
    Ok(tally)
}

fn set_header(sink: &mut dyn Sink, header: &Header<'_>) {
    let pool = sink.pool();
    let columns = PARAMETERS.iter().zip(header.parameters);
    let columns: Vec<(Value, Value)> =
        columns.map(|(name, n)| (pool.text(name), pool.uint(n))).collect();
    let (name, row) = (pool.text(info::PARAMETERS), pool.row(&columns));
    sink.meta().set(name, row);
    set_text(sink, info::SERVER, header.info);
    set_text(sink, START, header.start);
    set_text(sink, END, header.end);
}

fn transaction(
    bytes: &mut Bytes<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
) -> Result<bool, Fault> {
    for _ in 0..bytes.count("the number of events", EVENT_LEN)? {
        let event = DbcopEvent {
            write: bytes.flag("an event's kind: 0 (read) or 1 (write)")?,
            variable: bytes.number("a variable")?,
            value: bytes.number("a value")?,
            success: bytes.flag("an event's success: 0 or 1")?,
        };
        push_event(sink, draft, event);
    }
    let success = bytes.flag("a transaction's success: 0 or 1")?;
    draft.outcome = if success { Outcome::Committed } else { Outcome::Aborted };
    Ok(success)
}

/// What stands before the sessions.
pub(super) struct Header<'a> {
    pub(super) parameters: [u64; 5],
    pub(super) info: &'a str,
    pub(super) start: &'a str,
    pub(super) end: &'a str,
}

/// A position in the bytes.
pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Bytes<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes, pos: 0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    pub(super) fn header(&mut self) -> Result<Header<'a>, Fault> {
        let mut parameters = [0; PARAMETERS.len()];
        for (slot, name) in parameters.iter_mut().zip(PARAMETERS) {
            *slot = self.number(name)?;
        }
        let (info, start, end) = (self.text("info")?, self.text("start")?, self.text("end")?);
        Ok(Header { parameters, info, start, end })
    }

    #[inline]
    fn number(&mut self, what: &str) -> Result<u64, Fault> {
        let Some(bytes) = self.rest().first_chunk::<8>() else { return Err(self.cut(what)) };
        self.pos += 8;
        Ok(u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn flag(&mut self, what: &str) -> Result<bool, Fault> {
        match self.rest().first() {
            Some(&byte @ (0 | 1)) => {
                self.pos += 1;
                Ok(byte == 1)
            }
            Some(byte) => {
                Err(Fault::wrong(self.pos, format!("expected {what}, found the byte {byte}")))
            }
            None => Err(self.cut(what)),
        }
    }

    /// How many things follow, each of which takes so many bytes at least.
    #[inline]
    fn count(&mut self, what: &str, min_len: usize) -> Result<u64, Fault> {
        let at = self.pos;
        let count = self.number(what)?;
        let left = self.rest().len();
        if count > (left / min_len) as u64 {
            return Err(too_many(at, count, what, left));
        }
        Ok(count)
    }

    fn text(&mut self, what: &str) -> Result<&'a str, Fault> {
        let len = self.count(&format!("the length of \"{what}\""), 1)?;
        let at = self.pos;
        let (bytes, _) = self.rest().split_at_checked(len as usize).unwrap_or_default();
        self.pos += bytes.len();
        std::str::from_utf8(bytes)
            .map_err(|e| Fault::expected(at + e.valid_up_to(), format!("UTF-8 in \"{what}\"")))
    }

    fn finish(&self) -> Result<(), Fault> {
        let left = self.rest().len();
        if left == 0 {
            return Ok(());
        }
        Err(Fault::wrong(self.pos, format!("the history ends here, but {left} bytes follow")))
    }

    #[cold]
    fn cut(&self, what: &str) -> Fault {
        Fault::wrong(self.pos, format!("the file ends where {what} should be"))
            .hint("the file is cut short")
    }
}

#[cold]
fn too_many(at: usize, count: u64, what: &str, left: usize) -> Fault {
    Fault::wrong(at, format!("{what} is {count}, which does not fit into the {left} bytes left"))
        .hint("the file is cut short, or it is no history of dbcop's")
}
