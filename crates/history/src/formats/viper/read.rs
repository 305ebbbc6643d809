//! Reads the files of a folder, transaction by transaction.

use hashbrown::HashSet;

use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::formats::unknown::push_unknown;
use crate::formats::viper::dead::DeadReads;
use crate::formats::viper::initial::{initial_state, remarks};
use crate::formats::viper::operation::{ViperNames, ViperOperation, nanoseconds};
use crate::ids::{Key, SessionId};
use crate::meta::{Clock, InitialState};
use crate::sink::Sink;
use crate::source::{Input, Source, whole};
use crate::text::Json;
use crate::value::Value;

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let meta = sink.meta();
    meta.clock = Clock::Nanoseconds;
    meta.complete = false;
    let mut reader = ViperReader::new(sink);
    let mut names = HashSet::new();
    for (number, input) in source.files().iter().enumerate() {
        if matches!(source, Source::Folder { .. }) && !is_log_name(&input.name) {
            sink.warn(input.warning("ignored: Viper's files are named J<thread>.log"));
            continue;
        }
        let name = sink.pool().text(session_name(&input.name));
        if !names.insert(name) {
            let complaint = "two files have the same name but for their extensions";
            let mut error = whole(&input.name, complaint.to_owned());
            error.hint = Some("each file is a session, named after the file".to_owned());
            return Err(error);
        }
        reader.file((number, input), name, sink).map_err(|fault| input.text_error(fault))?;
    }
    reader.finish(source, sink)
}

/// What is kept from line to line.
struct ViperReader {
    names: ViperNames,
    post_begin: Value,
    pre_commit: Value,
    final_: Value,
    draft: TxnDraft,
    operation: ViperOperation,
    unknown: Vec<(Value, Value)>,
    /// The initial state, once a transaction has told it.
    initial: Option<Vec<(Key, Value)>>,
    transactions: u64,
    dead: DeadReads,
}

/// What a line says of its transaction beside the operations.
#[derive(Default)]
struct Marks {
    is_initial: bool,
    is_final: bool,
    /// Inserts that were done although the key was there.
    overwrites: u64,
}

/// The members of a transaction that have a meaning, as bits of those already seen.
const MEMBERS: [&str; 7] =
    ["value", "isInitial", "isFinal", "preBeginTS", "postBeginTS", "preCommitTS", "postCommitTS"];

impl ViperReader {
    fn new(sink: &mut dyn Sink) -> ViperReader {
        let pool = sink.pool();
        ViperReader {
            names: ViperNames::new(pool),
            post_begin: pool.text("post-begin"),
            pre_commit: pool.text("pre-commit"),
            final_: pool.text("final"),
            draft: TxnDraft::default(),
            operation: ViperOperation::default(),
            unknown: Vec::new(),
            initial: None,
            transactions: 0,
            dead: DeadReads::default(),
        }
    }

    fn file(
        &mut self,
        (number, input): (usize, &Input),
        name: Value,
        sink: &mut dyn Sink,
    ) -> Result<(), Fault> {
        let bytes = &*input.bytes;
        let mut start = 0;
        let mut first_line = true;
        // Where the first odd insert is, and how many there are: one warning for all of them.
        let mut overwrites = (0, 0);
        for end in memchr::memchr_iter(b'\n', bytes).chain(std::iter::once(bytes.len())) {
            if !bytes[start..end].trim_ascii().is_empty() {
                let marks = self.line(&bytes[..end], start, sink);
                let marks = marks.map_err(|fault| last_line(bytes, end, fault))?;
                if marks.overwrites > 0 && overwrites.1 == 0 {
                    overwrites.0 = start;
                }
                overwrites.1 += marks.overwrites;
                if marks.is_initial {
                    self.take_initial(input, start, first_line, sink)?;
                } else {
                    self.dead.note(&self.draft, self.names.tombstone, (number, start));
                    self.push(start, name, sink)?;
                }
                first_line = false;
            }
            start = end + 1;
        }
        if overwrites.1 > 0 {
            let (at, count) = overwrites;
            let message = format!(
                "inserts that were done although they saw a live value are read as writes; there \
                 are {count} in this file, the first in this line"
            );
            sink.warn(input.text_warning(at, message));
        }
        Ok(())
    }

    fn push(&mut self, at: usize, name: Value, sink: &mut dyn Sink) -> Result<(), Fault> {
        self.draft.session = sink.pool().session(name);
        self.transactions += 1;
        sink.transaction(&self.draft).map_err(|e| Fault::sink(at, &e))
    }

    /// Reads the transaction of the line that starts at `start` and ends with the bytes.
    fn line(&mut self, bytes: &[u8], start: usize, sink: &mut dyn Sink) -> Result<Marks, Fault> {
        let mut json = Json::new(bytes);
        json.cursor.pos = start;
        // The session is interned later: the initial transaction belongs to none.
        self.draft.reset(SessionId(0));
        self.unknown.clear();
        let at = json.offset();
        if json.cursor.peek() != Some(b'{') {
            return Err(Fault::expected(at, "a transaction, an object in one line"));
        }
        let marks =
            self.transaction(&mut json, at, sink).map_err(|fault| edn_hint(bytes, at, fault))?;
        let rest = json.offset();
        if rest < bytes.len() {
            return Err(Fault::expected(rest, "the end of the line after the transaction"));
        }
        Ok(marks)
    }

    fn transaction(
        &mut self,
        json: &mut Json<'_>,
        at: usize,
        sink: &mut dyn Sink,
    ) -> Result<Marks, Fault> {
        let mut marks = Marks::default();
        let mut seen = [false; MEMBERS.len()];
        json.begin_object()?;
        while let Some(member) = json.next_member()? {
            let here = json.offset();
            if let Some(i) = MEMBERS.iter().position(|m| *m == member)
                && std::mem::replace(&mut seen[i], true)
            {
                let complaint = format!("the transaction has \"{member}\" twice");
                return Err(Fault::wrong(here, complaint));
            }
            self.member(&member, json, &mut marks, sink)?;
        }
        if !seen[0] {
            return Err(Fault::expected(at, "a transaction with a member \"value\""));
        }
        if marks.is_initial && marks.is_final {
            return Err(Fault::wrong(at, "the transaction is both the initial and the final one"));
        }
        if marks.is_final {
            self.draft.attr(self.final_, Value::TRUE);
        }
        let interval = self.draft.interval;
        if interval.begin.zip(interval.end).is_some_and(|(begin, end)| end < begin) {
            return Err(Fault::wrong(at, "the transaction ends before it begins"));
        }
        let draft = &mut self.draft;
        push_unknown(at, &mut self.unknown, |name, value| draft.attr(name, value))?;
        Ok(marks)
    }

    fn member(
        &mut self,
        member: &str,
        json: &mut Json<'_>,
        marks: &mut Marks,
        sink: &mut dyn Sink,
    ) -> Result<(), Fault> {
        match member {
            "value" => marks.overwrites = self.operations(json, sink)?,
            "isInitial" => marks.is_initial = json.boolean("true or false")?,
            "isFinal" => marks.is_final = json.boolean("true or false")?,
            "preBeginTS" => self.draft.interval.begin = nanoseconds(json)?,
            "postCommitTS" => self.draft.interval.end = nanoseconds(json)?,
            "postBeginTS" | "preCommitTS" => {
                let name = if member == "postBeginTS" { self.post_begin } else { self.pre_commit };
                if let Some(time) = nanoseconds(json)? {
                    let time = sink.pool().int(time);
                    self.draft.attr(name, time);
                }
            }
            _ => {
                let name = sink.pool().text(member);
                let value = json.value(sink.pool())?;
                self.unknown.push((name, value));
            }
        }
        Ok(())
    }

    /// The operations; how many inserts were done although the key was there.
    fn operations(&mut self, json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<u64, Fault> {
        let pool = sink.pool();
        let mut overwrites = 0;
        json.begin_array()?;
        while json.next_item()? {
            self.operation.parse(json, pool)?;
            let overwrote = self.operation.emit(&mut self.draft, pool, &self.names)?;
            overwrites += u64::from(overwrote);
        }
        Ok(overwrites)
    }

    /// Takes the transaction in the draft as the initial state.
    fn take_initial(
        &mut self,
        input: &Input,
        at: usize,
        first_line: bool,
        sink: &mut dyn Sink,
    ) -> Result<(), Fault> {
        if !first_line {
            return Err(Fault::wrong(at, "the initial transaction is not the first of its file")
                .hint("\"isInitial\" marks the one that says what was there before all others"));
        }
        if self.initial.is_some() {
            return Err(Fault::wrong(at, "a second initial transaction")
                .hint("only one file may start with a transaction that has \"isInitial\": true"));
        }
        let given = initial_state(at, &self.draft, &self.operation, sink.pool())?;
        let (row, is_all) = remarks(&self.draft, sink.pool());
        if !is_all {
            sink.warn(input.text_warning(
                at,
                "times and further members of the initial transaction's operations are not kept",
            ));
        }
        if let Some(row) = row {
            let name = sink.pool().text("initial-transaction");
            sink.meta().set(name, row);
        }
        self.initial = Some(given);
        Ok(())
    }

    fn finish(self, source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
        if self.transactions == 0 && self.initial.is_none() {
            let mut error = whole(source.name(), "there are no transactions".to_owned());
            error.hint = Some("Viper's files are named J<thread>.log".to_owned());
            return Err(error);
        }
        self.dead.warn(source, sink);
        let given = self.initial.unwrap_or_default();
        sink.meta().initial = InitialState { default: Some(Value::ABSENT), given };
        Ok(())
    }
}

/// The recorder ends every line, so a fault in one that does not end is that the file is not whole.
fn last_line(bytes: &[u8], end: usize, fault: Fault) -> Fault {
    if end < bytes.len() {
        return fault;
    }
    Fault::expected(bytes.len(), "the end of the last line")
        .hint("the recorder was stopped while it wrote this line; without it the file can be read")
}

fn edn_hint(bytes: &[u8], at: usize, fault: Fault) -> Fault {
    let is_edn = bytes.get(at..).is_some_and(|line| line.starts_with(b"{:"));
    if is_edn { fault.hint("this is EDN: try --format jepsen-edn") } else { fault }
}

/// The name of a file without its folders.
fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Viper reads the files whose names start with J.
pub(super) fn is_log_name(path: &str) -> bool {
    base_name(path).starts_with('J')
}

/// The session that a file holds: its name without extension.
fn session_name(path: &str) -> &str {
    let name = base_name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}
