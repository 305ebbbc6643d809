//! One line: what kind it is, and what it says.

use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::jsonl::member::{LineKind, member, named_twice, once};
use crate::jsonl::odd::OddName;
use crate::jsonl::scratch::Scratch;
use crate::jsonl::{fast, meta, ops, promise, txn};
use crate::meta::Event;
use crate::sink::Sink;
use crate::text::Json;
use crate::value::Value;

/// Reads line after line into a sink.
#[derive(Default)]
pub(super) struct LineReader {
    draft: TxnDraft,
    scratch: Scratch,
    /// Whether the next line cannot be the first of the file, where the header stands.
    started: bool,
    /// Where the line that ends the file was, if there was one.
    pub(super) trailer: Option<std::ops::Range<usize>>,
}

impl LineReader {
    /// Reads on in the middle of a file.
    pub(super) fn past_the_header() -> LineReader {
        LineReader { started: true, ..LineReader::default() }
    }

    /// The odd names that have been found since the last time.
    pub(super) fn odd_names(&mut self) -> impl Iterator<Item = OddName> {
        self.scratch.odd.found.drain(..)
    }

    /// Reads the line that starts at `start` and says where the next one does. Only the end of the
    /// input may lack the end of its line.
    pub(super) fn step<S: Sink + ?Sized>(
        &mut self,
        bytes: &[u8],
        start: usize,
        sink: &mut S,
    ) -> Result<usize, Fault> {
        let rest = bytes.get(start..).unwrap_or_default();
        if self.trailer.is_none()
            && let Some(len) =
                fast::transaction(rest, sink.pool(), &mut self.draft, &mut self.scratch.elements)
        {
            self.started = true;
            sink.transaction(&self.draft).map_err(|e| Fault::sink(start, &e))?;
            return Ok(start + len);
        }
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        let next = start + line.len() + usize::from(end.is_some());
        if line.trim_ascii().is_empty() {
            return Ok(next);
        }
        let odd_before = self.scratch.odd.found.len();
        let read = self.line(line, sink);
        for odd in &mut self.scratch.odd.found[odd_before..] {
            odd.offset += start;
        }
        match read {
            Ok(LineKind::Trailer) => self.trailer = Some(start..start + line.len()),
            Ok(_) => {}
            Err(fault) if end.is_none() => return Err(torn(fault, line).shifted(start)),
            Err(fault) => return Err(fault.shifted(start)),
        }
        self.started = true;
        Ok(next)
    }

    fn line<S: Sink + ?Sized>(&mut self, line: &[u8], sink: &mut S) -> Result<LineKind, Fault> {
        if self.trailer.is_some() {
            return Err(after_trailer());
        }
        let mut json = Json::new(line);
        if json.begin_object().is_err() {
            return Err(not_an_object(line, json.offset()));
        }
        // Almost always the first member says what the line is; where it does not, the
        // transaction's reader stops at the one that does.
        let mut kind = LineKind::of_member(&json.clone().next_member()?.unwrap_or_default());
        if kind == LineKind::Transaction && promise::looks_like(json.clone()) {
            kind = LineKind::Promise;
        }
        if kind == LineKind::Transaction {
            kind = txn::read(&mut json, sink.pool(), &mut self.draft, &mut self.scratch)?;
            if kind == LineKind::Transaction {
                json.finish()?;
                sink.transaction(&self.draft).map_err(|e| Fault::sink(0, &e))?;
                return Ok(kind);
            }
            json = Json::new(line);
            json.begin_object()?;
        }
        match kind {
            LineKind::Header if self.started => return Err(late_header()),
            LineKind::Header => meta::read_header(&mut json, sink, &mut self.scratch.odd)?,
            LineKind::Event => event(&mut json, sink)?,
            LineKind::Order => order(&mut json, sink)?,
            LineKind::Promise => promise::read(&mut json, sink)?,
            LineKind::Trailer => meta::read_trailer(&mut json, sink, &mut self.scratch.odd)?,
            LineKind::Transaction => {}
        }
        Ok(kind)
    }
}

/// The complaint about a line after the one that ends the file.
pub(super) fn after_trailer() -> Fault {
    Fault::wrong(0, "nothing may follow the line of \"meta\"")
        .hint("if files were joined, read them one by one")
}

fn late_header() -> Fault {
    Fault::wrong(0, "a header (\"isolde\") can only be the first line")
        .hint("if files were joined, read them one by one")
}

#[cold]
fn not_an_object(line: &[u8], at: usize) -> Fault {
    let fault = Fault::expected(at, "a JSON object");
    if line.starts_with(b"\xef\xbb\xbf") {
        return fault.hint("the file starts with a byte order mark: write it as UTF-8 without one");
    }
    fault
}

/// Adds what probably happened to a last line that is neither ended nor whole.
#[cold]
fn torn(fault: Fault, line: &[u8]) -> Fault {
    if Json::new(line).skip_value().is_ok() {
        return fault;
    }
    fault.hint(
        "the file ends in the middle of its last line: the recorder was probably killed; \
         cut the last line off and set \"complete\":false to read the rest",
    )
}

/// A time, or `null` for one that is not known.
fn optional_integer(json: &mut Json<'_>, what: &str) -> Result<Option<i64>, Fault> {
    if json.eat_null() { Ok(None) } else { json.integer(what).map(Some) }
}

/// `{"event":"partition","begin":5,"end":9,"detail":{...}}`
fn event<S: Sink + ?Sized>(json: &mut Json<'_>, sink: &mut S) -> Result<(), Fault> {
    let mut event = Event { name: Value::ABSENT, begin: None, end: None, detail: Value::ABSENT };
    let mut seen = 0;
    while let Some((at, name)) = member(json)? {
        let bit = ["event", "begin", "end", "detail"].iter().position(|n| *n == name);
        once(&mut seen, bit.map_or(31, |b| b as u32), at, &name)?;
        match bit {
            Some(0) => event.name = json.value(sink.pool())?,
            Some(1) => event.begin = optional_integer(json, "a time or null")?,
            Some(2) => event.end = optional_integer(json, "a time or null")?,
            Some(_) => event.detail = json.value(sink.pool())?,
            None => {
                return Err(Fault::expected(at, "\"event\", \"begin\", \"end\" or \"detail\"")
                    .hint(
                        "what else is known of an event belongs into \"detail\", a transaction's \
                         attribute named \"event\" into \"attrs\"",
                    ));
            }
        }
    }
    json.finish()?;
    sink.event(event).map_err(|e| Fault::sink(0, &e))
}

/// `{"order":"x","versions":[1,2,3]}`
fn order<S: Sink + ?Sized>(json: &mut Json<'_>, sink: &mut S) -> Result<(), Fault> {
    let mut key = None;
    let mut versions: Option<Vec<Value>> = None;
    while let Some((at, name)) = member(json)? {
        match &*name {
            "order" if key.is_none() => {
                key = Some(ops::name_of_key(json, sink.pool())?);
            }
            "versions" if versions.is_none() => {
                let list = versions.insert(Vec::new());
                json.begin_array()?;
                while json.next_item()? {
                    list.push(json.value(sink.pool())?);
                }
            }
            "order" | "versions" => return Err(named_twice(at, &name)),
            _ => {
                return Err(Fault::expected(at, "\"order\" or \"versions\"")
                    .hint("a transaction's attribute named \"order\" belongs into \"attrs\""));
            }
        }
    }
    json.finish()?;
    match (key, versions) {
        (Some(key), Some(versions)) => {
            sink.version_order(key, &versions).map_err(|e| Fault::sink(0, &e))
        }
        _ => Err(Fault::wrong(0, "the order has no \"versions\"")
            .hint("an order lists its key's versions, oldest first")),
    }
}
