//! What dbcop's formats have in common: the facts around a history, and the shape of its JSON.

use hashbrown::HashSet;

use crate::draft::TxnDraft;
use crate::error::{Fault, SinkError, Warning};
use crate::evidence::Outcome;
use crate::ids::Key;
use crate::meta::{Meta, info};
use crate::op::{Effect, OpKind};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Json;
use crate::text::json::{JsonKind, Number};
use crate::value::Value;

/// The parameters of the workload, in the order of the binary format.
pub(crate) const PARAMETERS: [&str; 5] = ["id", "n_node", "n_variable", "n_transaction", "n_event"];

/// When the run started and ended, as texts in [`Meta::info`](crate::Meta::info).
pub(crate) const START: &str = "start";
pub(crate) const END: &str = "end";

/// Operation: the value in the record of a read that failed, where it is not the usual 0.
pub(crate) const FAILED_VALUE: &str = "value";

/// How much of a file recognition looks at.
pub(crate) const LOOK_AT: usize = 64 << 10;

/// The beginning of a file; nothing of a folder.
pub(crate) fn head(source: &Source) -> &[u8] {
    match source {
        Source::File(input) => input.bytes.get(..LOOK_AT).unwrap_or(&input.bytes),
        Source::Folder { .. } => &[],
    }
}

// ---- meaning ----

/// An event of the older formats.
#[derive(Clone, Copy)]
pub(crate) struct DbcopEvent {
    pub(crate) write: bool,
    pub(crate) variable: u64,
    pub(crate) value: u64,
    pub(crate) success: bool,
}

/// Adds an event to a transaction. What a failed read would have returned is not known: the value
/// in its record is 0 unless a tool has put something there.
#[inline]
pub(crate) fn push_event(sink: &mut dyn Sink, draft: &mut TxnDraft, event: DbcopEvent) {
    let pool = sink.pool();
    let name = pool.uint(event.variable);
    let key = pool.key(name);
    let value = pool.uint(event.value);
    match (event.write, event.success) {
        (true, _) => draft.write(key, value),
        (false, true) => draft.read(key, value),
        (false, false) => draft.read(key, Value::UNOBSERVED),
    }
    if !event.success {
        draft.set_effect(Effect::Failed);
        if !event.write && event.value != 0 {
            let name = sink.pool().text(FAILED_VALUE);
            draft.op_attr(name, value);
        }
    }
}

/// Sets a fact of the run that is a text; an empty text says nothing.
pub(crate) fn set_text(sink: &mut dyn Sink, name: &str, text: &str) {
    if !text.is_empty() {
        let (name, text) = (sink.pool().text(name), sink.pool().text(text));
        sink.meta().set(name, text);
    }
}

/// Counts outcomes, for the one warning that a history as a whole deserves.
#[derive(Default)]
pub(crate) struct Tally {
    transactions: u64,
    committed: u64,
    writes_zero: bool,
}

impl Tally {
    pub(crate) fn count(&mut self, committed: bool, txn: &TxnDraft) {
        self.transactions += 1;
        self.committed += u64::from(committed);
        self.writes_zero |= zeros(txn, OpKind::Write).next().is_some();
    }

    /// Where 0 is what every key starts with.
    pub(crate) fn warn_of_zeros(&self, input: &Input, sink: &mut dyn Sink) {
        if self.writes_zero {
            sink.warn(input.warning(
                "an explicit write of 0 is the initial write, because every key starts with 0",
            ));
            let name = sink.pool().text(info::EXPLICIT_INITIAL);
            sink.meta().set(name, Value::TRUE);
        }
    }

    /// dbcop's generator writes the same format as its executor, with nothing done yet.
    pub(crate) fn warn(&self, input: &Input, sink: &mut dyn Sink) {
        if self.transactions > 0 && self.committed == 0 {
            sink.warn(input.warning(
                "no transaction committed: this may be a workload that was generated and never run",
            ));
        }
    }
}

// ---- version 0 ----

/// Reads a history of dbcop 0.2, where a read of version 0 is one of the initial state unless some
/// transaction, committed or not, writes version 0 of that variable. The source is read twice,
/// because the write may come later than the read.
pub(crate) fn read_versions<T>(
    sink: &mut dyn Sink,
    mut read: impl FnMut(&mut dyn Sink) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut first = ZeroWrites { sink, written: HashSet::new() };
    read(&mut first)?;
    let ZeroWrites { sink, written } = first;
    read(&mut ZeroReads { sink, written, draft: TxnDraft::default() })
}

const ZERO: Value = Value::from_u32(0);

/// Collects the variables of which version 0 is written, and passes on no transaction.
struct ZeroWrites<'s> {
    sink: &'s mut dyn Sink,
    written: HashSet<Key>,
}

/// Passes on transactions in which reads of a version 0 that no transaction writes find nothing.
struct ZeroReads<'s> {
    sink: &'s mut dyn Sink,
    written: HashSet<Key>,
    draft: TxnDraft,
}

/// The positions of the operations of that kind whose value is 0, with their keys.
fn zeros(txn: &TxnDraft, kind: OpKind) -> impl Iterator<Item = (usize, Key)> {
    let ops = txn.codes.iter().zip(&txn.keys).zip(&txn.payloads).enumerate();
    ops.filter(move |(_, ((code, _), word))| code.kind() == kind && **word == ZERO.to_bits())
        .map(|(at, ((_, key), _))| (at, *key))
}

impl Sink for ZeroWrites<'_> {
    fn pool(&mut self) -> &mut Pool {
        self.sink.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.sink.meta()
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.written.extend(zeros(txn, OpKind::Write).map(|(_, key)| key));
        Ok(())
    }

    fn event(&mut self, _: crate::meta::Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, _: Warning) {}
}

impl Sink for ZeroReads<'_> {
    fn pool(&mut self) -> &mut Pool {
        self.sink.pool()
    }

    fn meta(&mut self) -> &mut Meta {
        self.sink.meta()
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        let unwritten = |&(_, key): &(usize, Key)| !self.written.contains(&key);
        let initial: Vec<usize> =
            zeros(txn, OpKind::Read).filter(unwritten).map(|(at, _)| at).collect();
        if initial.is_empty() {
            return self.sink.transaction(txn);
        }
        self.draft.clone_from(txn);
        for at in initial {
            self.draft.payloads[at] = Value::ABSENT.to_bits();
        }
        self.sink.transaction(&self.draft)
    }

    fn event(&mut self, event: crate::meta::Event) -> Result<(), SinkError> {
        self.sink.event(event)
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.sink.version_order(key, versions)
    }

    fn warn(&mut self, warning: Warning) {
        self.sink.warn(warning);
    }
}

// ---- JSON ----

/// Members that the format does not know, with a limit: looking through them is linear.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) members: Vec<(Value, Value)>,
}

impl Extras {
    const MAX: usize = 64;

    /// Takes the value of a member of that name.
    pub(crate) fn take(
        &mut self,
        json: &mut Json<'_>,
        sink: &mut dyn Sink,
        name: &str,
    ) -> Result<(), Fault> {
        let at = json.offset();
        let text = sink.pool().text(name);
        if self.members.iter().any(|&(n, _)| n == text) {
            return Err(second(at, name));
        }
        if self.members.len() >= Extras::MAX {
            return Err(Fault::wrong(at, format!("more than {} unknown members", Extras::MAX)));
        }
        let value = json.value(sink.pool())?;
        self.members.push((text, value));
        Ok(())
    }
}

fn second(at: usize, name: &str) -> Fault {
    Fault::wrong(at, format!("the object names \"{name}\" twice"))
}

/// Notes a member that may stand once.
pub(crate) fn set_once<T>(
    slot: &mut Option<T>,
    at: usize,
    name: &str,
    value: T,
) -> Result<(), Fault> {
    if slot.replace(value).is_some() { Err(second(at, name)) } else { Ok(()) }
}

/// A member that must be there.
pub(crate) fn required<T>(slot: Option<T>, at: usize, name: &str) -> Result<T, Fault> {
    slot.ok_or_else(|| Fault::expected(at, format!("an object with a member \"{name}\"")))
}

/// A number of 64 bits without sign.
#[inline]
pub(crate) fn unsigned(json: &mut Json<'_>, what: &str) -> Result<u64, Fault> {
    let at = json.offset();
    let number = if json.peek()? == JsonKind::Number { json.number()? } else { Number::Int(-1) };
    match number {
        Number::Int(i) => u64::try_from(i).ok(),
        Number::Float(_) => None,
    }
    .ok_or_else(|| Fault::expected(at, format!("{what}, a whole number of 64 bits without sign")))
}

/// Reads one transaction into the draft, which is reset for its session; says whether it committed.
pub(crate) type ReadTransaction =
    fn(&mut Json<'_>, &mut dyn Sink, &mut TxnDraft) -> Result<bool, Fault>;

/// Reads the object around the sessions: parameters, texts, and whatever else it says.
pub(crate) fn read_document(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    transaction: ReadTransaction,
) -> Result<Tally, Fault> {
    let start = json.offset();
    let mut tally = None;
    let mut params = None;
    let mut texts: [Option<()>; 3] = [None; 3];
    let mut extras = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        match name.as_ref() {
            "data" => {
                set_once(&mut tally, at, "data", Tally::default())?;
                tally = Some(read_sessions(json, sink, transaction)?);
            }
            "params" => set_once(&mut params, at, "params", read_params(json, sink)?)?,
            "info" => read_text(json, sink, (&mut texts[0], "info", info::SERVER))?,
            "start" => read_text(json, sink, (&mut texts[1], "start", START))?,
            "end" => read_text(json, sink, (&mut texts[2], "end", END))?,
            other => extras.take(json, sink, fact_name(other))?,
        }
    }
    for (name, value) in extras.members {
        sink.meta().set(name, value);
    }
    required(tally, start, "data")
}

/// The name of a fact that dbcop does not know, out of the way of those that mean something here.
fn fact_name(name: &str) -> &str {
    match name {
        info::SERVER => "dbcop-server",
        info::PARAMETERS => "dbcop-parameters",
        _ => name,
    }
}

fn read_params(json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<(), Fault> {
    if json.peek()? != JsonKind::Object {
        return Err(json.cursor.expected("an object with the parameters"));
    }
    let row = json.value(sink.pool())?;
    let name = sink.pool().text(info::PARAMETERS);
    sink.meta().set(name, row);
    Ok(())
}

fn read_text(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    (slot, name, fact): (&mut Option<()>, &str, &str),
) -> Result<(), Fault> {
    set_once(slot, json.offset(), name, ())?;
    let text = json.string("a text in quotes")?;
    set_text(sink, fact, &text);
    Ok(())
}

/// Reads the array of sessions, which are named by their number.
pub(crate) fn read_sessions(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    transaction: ReadTransaction,
) -> Result<Tally, Fault> {
    let mut draft = TxnDraft::default();
    let mut tally = Tally::default();
    let mut number = 0;
    json.begin_array()?;
    while json.next_item()? {
        let name = sink.pool().int(number);
        let session = sink.pool().session(name);
        number += 1;
        json.begin_array()?;
        while json.next_item()? {
            let at = json.offset();
            draft.reset(session);
            let committed = transaction(json, sink, &mut draft)?;
            tally.count(committed, &draft);
            sink.transaction(&draft).map_err(|e| Fault::sink(at, &e))?;
        }
    }
    Ok(tally)
}

/// Reads one event into the draft.
pub(crate) type ReadEvent = fn(&mut Json<'_>, &mut dyn Sink, &mut TxnDraft) -> Result<(), Fault>;

/// Reads a transaction: its events, and the flag that says whether it committed.
pub(crate) fn read_transaction(
    json: &mut Json<'_>,
    sink: &mut dyn Sink,
    draft: &mut TxnDraft,
    (flag, event): (&str, ReadEvent),
) -> Result<bool, Fault> {
    let start = json.offset();
    let (mut events, mut committed) = (None, None);
    let mut extras = Extras::default();
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        let at = json.offset();
        match name.as_ref() {
            "events" => {
                set_once(&mut events, at, "events", ())?;
                json.begin_array()?;
                while json.next_item()? {
                    event(json, sink, draft)?;
                }
            }
            name if name == flag => {
                set_once(&mut committed, at, flag, json.boolean("true or false")?)?;
            }
            other => extras.take(json, sink, other)?,
        }
    }
    required(events, start, "events")?;
    let committed = required(committed, start, flag)?;
    draft.outcome = if committed { Outcome::Committed } else { Outcome::Aborted };
    for (name, value) in extras.members {
        draft.attr(name, value);
    }
    Ok(committed)
}

// ---- recognition ----

/// The two families of JSON, told apart by the names of their members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// `success`, `write`, `variable`, `value`.
    First,
    /// `committed`, `Read`, `Write`, `version`.
    Second,
}

/// The family of a JSON history, if it is one of dbcop's.
pub(crate) fn family(source: &Source) -> Option<Family> {
    let mut json = Json::new(head(source));
    match json.peek().ok()? {
        // Only the second family knows sessions without an object around them.
        JsonKind::Array => {
            family_of_sessions(&mut json).ok().flatten().filter(|f| *f == Family::Second)
        }
        JsonKind::Object => family_of_document(&mut json).ok().flatten(),
        _ => None,
    }
}

fn family_of_document(json: &mut Json<'_>) -> Result<Option<Family>, Fault> {
    let (mut has_params, mut has_data) = (false, false);
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        match name.as_ref() {
            "data" => {
                has_data = true;
                if let Some(family) = family_of_sessions(json)? {
                    return Ok(Some(family));
                }
            }
            other => {
                has_params |= other == "params";
                json.skip_value()?;
            }
        }
    }
    // Without any transaction the families are the same.
    Ok((has_params && has_data).then_some(Family::First))
}

fn family_of_sessions(json: &mut Json<'_>) -> Result<Option<Family>, Fault> {
    json.begin_array()?;
    while json.next_item()? {
        json.begin_array()?;
        while json.next_item()? {
            if let Some(family) = family_of_transaction(json)? {
                return Ok(Some(family));
            }
        }
    }
    Ok(None)
}

fn family_of_transaction(json: &mut Json<'_>) -> Result<Option<Family>, Fault> {
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        match name.as_ref() {
            "success" => return Ok(Some(Family::First)),
            "committed" => return Ok(Some(Family::Second)),
            "events" => {
                json.begin_array()?;
                while json.next_item()? {
                    if let Some(family) = family_of_event(json)? {
                        return Ok(Some(family));
                    }
                }
            }
            _ => json.skip_value()?,
        }
    }
    Ok(None)
}

fn family_of_event(json: &mut Json<'_>) -> Result<Option<Family>, Fault> {
    json.begin_object()?;
    while let Some(name) = json.next_member()? {
        match name.as_ref() {
            "write" | "variable" | "value" | "success" => return Ok(Some(Family::First)),
            "Read" | "Write" => return Ok(Some(Family::Second)),
            _ => json.skip_value()?,
        }
    }
    Ok(None)
}
