//! From bytes to operations: each part of the file by itself, on all cores.

use std::ops::Range;

use crate::error::Fault;
use crate::ids::{Key, SessionId};
use crate::in_order::in_order;
use crate::op::{Effect, OpCode, OpKind};
use crate::pool::Pool;
use crate::text::Cursor;

/// The transaction number of aborted operations.
pub(super) const ABORTED: i64 = -1;

/// Consecutive lines of one session and transaction.
#[derive(Clone, Copy)]
pub(super) struct LineRun {
    /// Where the first line begins, counted from the beginning of the part.
    pub(super) line: u32,
    /// In the pool of the part.
    pub(super) session: SessionId,
    /// The number of the transaction, or [`ABORTED`].
    pub(super) txn: i64,
    /// Where the operations of the run end, as a number of operations of the part.
    pub(super) end: u32,
}

/// What one part of the file says: operations as columns, and the sessions and transactions that ran
/// them.
pub(super) struct PlumePart {
    /// Where it begins in the file.
    pub(super) start: usize,
    pub(super) pool: Pool,
    pub(super) codes: Vec<OpCode>,
    pub(super) keys: Vec<Key>,
    pub(super) payloads: Vec<u64>,
    pub(super) runs: Vec<LineRun>,
    /// Where the first write of 0 stands in the file.
    pub(super) zero_write: Option<usize>,
    last_session: u64,
}

/// How to divide a file.
#[derive(Clone, Copy)]
pub(super) struct Split {
    /// For how many threads.
    pub(super) threads: usize,
    /// The least number of bytes that is worth a part.
    pub(super) least: usize,
    /// The greatest: positions in a part are 32 bits.
    pub(super) most: usize,
}

impl Split {
    /// Two parts for each core, so that one slow part does not keep the others waiting.
    pub(super) fn for_this_machine() -> Split {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Split { threads, least: 1 << 20, most: 1 << 30 }
    }

    /// Ranges of whole lines that cover the file.
    fn ranges(self, bytes: &[u8]) -> Vec<Range<usize>> {
        let even = bytes.len() / (2 * self.threads.max(1)) + 1;
        let step = even.clamp(self.least.max(1), self.most);
        let mut ranges = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let rest = bytes.get(start + step..).unwrap_or_default();
            let end = match memchr::memchr(b'\n', rest) {
                Some(newline) => start + step + newline + 1,
                None => bytes.len(),
            };
            ranges.push(start..end);
            start = end;
        }
        ranges
    }
}

/// The parts of a file, in order; or the first fault.
pub(super) fn scan(bytes: &[u8], split: Split) -> Result<Vec<PlumePart>, Fault> {
    let ranges = split.ranges(bytes);
    let mut parts = Vec::with_capacity(ranges.len());
    in_order(
        &ranges,
        |range| scan_part(bytes, range.clone()),
        |_, part| {
            parts.push(part?);
            Ok(())
        },
    )?;
    Ok(parts)
}

fn scan_part(bytes: &[u8], range: Range<usize>) -> Result<PlumePart, Fault> {
    let mut part = PlumePart::new(&range);
    let mut pos = range.start;
    while pos < range.end {
        let line = match fast_line(bytes.get(pos..).unwrap_or_default()) {
            Some((line, len)) => {
                part.push(&line, pos);
                pos += len;
                continue;
            }
            None => careful_line(bytes, pos)?,
        };
        let Some((line, end)) = line else { break };
        part.push(&line, pos);
        pos = end;
    }
    Ok(part)
}

/// One line.
struct PlumeLine {
    write: bool,
    key: u64,
    value: u64,
    session: u64,
    txn: i64,
}

/// The line that a text begins with, and its length with its end; `None` for whatever is not
/// plain, which [`careful_line`] then judges.
#[inline]
fn fast_line(text: &[u8]) -> Option<(PlumeLine, usize)> {
    let write = match text {
        [b'r', b'(', ..] => false,
        [b'w', b'(', ..] => true,
        _ => return None,
    };
    let mut at = 2;
    let key = fast_number(text, &mut at, b',')?;
    let value = fast_number(text, &mut at, b',')?;
    let session = fast_number(text, &mut at, b',')?;
    let txn = if text.get(at..)?.starts_with(b"-1)") {
        at += 3;
        ABORTED
    } else {
        i64::try_from(fast_number(text, &mut at, b')')?).ok()?
    };
    let end = match text.get(at..)? {
        [b'\n', ..] => at + 1,
        [b'\r', b'\n', ..] => at + 2,
        _ => return None,
    };
    Some((PlumeLine { write, key, value, session, txn }, end))
}

/// A number of up to 19 digits, which cannot overflow, and the byte that must follow it.
#[inline]
fn fast_number(text: &[u8], at: &mut usize, end: u8) -> Option<u64> {
    let start = *at;
    let mut number = 0u64;
    loop {
        let byte = *text.get(*at)?;
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let digits = *at - start;
            *at += 1;
            return (byte == end && (1..=19).contains(&digits)).then_some(number);
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        *at += 1;
    }
}

/// The line at a position and where it ends; `None` if nothing but ends of lines follows.
#[cold]
fn careful_line(bytes: &[u8], pos: usize) -> Result<Option<(PlumeLine, usize)>, Fault> {
    if bytes.iter().skip(pos).all(|b| matches!(b, b'\r' | b'\n')) {
        return Ok(None);
    }
    let mut cursor = Cursor { bytes, pos };
    let line = spelled_line(&mut cursor).map_err(|fault| {
        let last = memchr::memchr(b'\n', bytes.get(pos..).unwrap_or_default()).is_none();
        if last && fault.offset >= bytes.len() {
            fault.hint("the file ends in the middle of a line: it was probably cut off")
        } else {
            fault
        }
    })?;
    Ok(Some((line, cursor.pos)))
}

fn spelled_line(cursor: &mut Cursor<'_>) -> Result<PlumeLine, Fault> {
    let write = match cursor.peek() {
        Some(b'r') => false,
        Some(b'w') => true,
        Some(b'\r' | b'\n') => {
            return Err(cursor.expected("r(key,value,session,txn) or w(...)"))
                .map_err(|fault| fault.hint("only the end of the file may have empty lines"));
        }
        _ => return Err(cursor.expected("r(key,value,session,txn) or w(...)")),
    };
    cursor.pos += 1;
    cursor.expect(b'(', "'(' after the r or w")?;
    let key = cursor.unsigned("a key, a number")?;
    cursor.expect(b',', "',' after the key")?;
    let value = cursor.unsigned("a value, a number")?;
    cursor.expect(b',', "',' after the value")?;
    let session = cursor.unsigned("a session, a number")?;
    cursor.expect(b',', "',' after the session")?;
    let at = cursor.pos;
    let txn = cursor.integer("a transaction, a number")?;
    cursor.expect(b')', "')' after the transaction")?;
    if txn < ABORTED {
        return Err(Fault::expected(at, "the number of a transaction, or -1")
            .hint("-1 marks aborted operations; no other negative number means anything"));
    }
    cursor.eat(b'\r');
    if !cursor.at_end() {
        cursor.expect(b'\n', "the end of the line")?;
    }
    Ok(PlumeLine { write, key, value, session, txn })
}

impl PlumePart {
    fn new(range: &Range<usize>) -> PlumePart {
        // No line is shorter than `r(0,0,0,0)` and its end, so the columns never grow: they take
        // address space for the shortest lines, and memory only for what there is.
        let lines = range.len() / 11 + 1;
        PlumePart {
            start: range.start,
            pool: Pool::new(),
            codes: Vec::with_capacity(lines),
            keys: Vec::with_capacity(lines),
            payloads: Vec::with_capacity(lines),
            runs: Vec::new(),
            zero_write: None,
            last_session: 0,
        }
    }

    #[inline]
    fn push(&mut self, line: &PlumeLine, pos: usize) {
        let kind = if line.write { OpKind::Write } else { OpKind::Read };
        let name = self.pool.uint(line.key);
        self.keys.push(self.pool.key(name));
        self.payloads.push(self.pool.uint(line.value).to_bits());
        self.codes.push(OpCode::new(kind, Effect::Done));
        if line.write && line.value == 0 && self.zero_write.is_none() {
            self.zero_write = Some(pos);
        }
        let end = self.codes.len() as u32;
        match self.runs.last_mut() {
            Some(run) if run.txn == line.txn && self.last_session == line.session => run.end = end,
            _ => self.begin_run(line, pos, end),
        }
    }

    fn begin_run(&mut self, line: &PlumeLine, pos: usize, end: u32) {
        let name = self.pool.uint(line.session);
        let session = self.pool.session(name);
        self.last_session = line.session;
        self.runs.push(LineRun { line: (pos - self.start) as u32, session, txn: line.txn, end });
    }
}
