//! Reads the array, transaction by transaction.

use hashbrown::{HashMap, HashSet};

use crate::attributes::names;
use crate::draft::TxnDraft;
use crate::error::{Fault, ReadError};
use crate::evidence::Timestamp;
use crate::formats::unknown::push_unknown;
use crate::ids::{Key, SessionId};
use crate::meta::InitialState;
use crate::notation::write_value;
use crate::op::Effect;
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Source;
use crate::text::Json;
use crate::text::json::{JsonKind, Number};
use crate::value::Value;

/// The members that every transaction has.
pub(super) const REQUIRED: [&str; 5] = ["tid", "sid", "sts", "cts", "ops"];

pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let input = source.file()?;
    let meta = sink.meta();
    meta.initial = InitialState::every(Value::ABSENT);
    meta.complete = true;
    let mut json = Json::new(&input.bytes);
    let of_lists = is_list_history(&mut json.clone()).unwrap_or(false);
    let result = TimekillerReader::new(of_lists, sink).array(&mut json, sink);
    let starts = result.map_err(|fault| input.text_error(fault))?;
    if starts.initial() != Value::ABSENT {
        sink.meta().initial = InitialState::every(starts.initial());
        sink.warn(input.warning(
            "keys are read as 0 that no transaction writes, and none as null: every key is taken to start \
             with 0",
        ));
    }
    Ok(())
}

/// What tells the initial value of the keys. TimeKiller is told on its command line: it is null or
/// 0, as the recorder had it, and the reads show which.
#[derive(Default)]
pub(super) struct Starts {
    reads_absent: bool,
    reads_zero: HashSet<Key>,
    writes_zero: HashSet<Key>,
}

impl Starts {
    const ZERO: Value = Value::from_u32(0);

    pub(super) fn read(&mut self, key: Key, value: Value) {
        self.reads_absent |= value == Value::ABSENT;
        if value == Starts::ZERO {
            self.reads_zero.insert(key);
        }
    }

    pub(super) fn write(&mut self, key: Key, value: Value) {
        if value == Starts::ZERO {
            self.writes_zero.insert(key);
        }
    }

    /// The value of every key at first.
    pub(super) fn initial(&self) -> Value {
        let from_nobody = !self.reads_zero.is_subset(&self.writes_zero);
        if from_nobody && !self.reads_absent { Starts::ZERO } else { Value::ABSENT }
    }
}

/// A file that ends too early ends anywhere but after the bracket of the whole array.
fn truncation_hint(json: &Json<'_>, fault: Fault) -> Fault {
    let bytes = json.cursor.bytes.trim_ascii_end();
    let cut = json.cursor.pos >= bytes.len() || bytes.last() != Some(&b']');
    if cut && fault.hint.is_none() {
        return fault.hint("the file does not end with the array's ']': was it cut off?");
    }
    fault
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimekillerAction {
    Read,
    Write,
    Append,
}

const ACTION: &str = "\"r\", \"w\" or \"a\" (read, write, append)";

fn action(json: &mut Json<'_>) -> Result<TimekillerAction, Fault> {
    let at = json.offset();
    Ok(match &*json.string(ACTION)?.to_ascii_lowercase() {
        "r" | "read" => TimekillerAction::Read,
        "w" | "write" => TimekillerAction::Write,
        "a" | "append" => TimekillerAction::Append,
        _ => return Err(Fault::expected(at, ACTION)),
    })
}

/// Whether the history is one of lists: the first operation that is not a read of nothing tells.
/// (Reads of nothing look the same in both kinds, and may come first.)
fn is_list_history(json: &mut Json<'_>) -> Result<bool, Fault> {
    json.begin_array()?;
    while json.next_item()? {
        json.begin_object()?;
        while let Some(member) = json.next_member()? {
            if member != "ops" {
                json.skip_value()?;
                continue;
            }
            json.begin_array()?;
            while json.next_item()? {
                if let Some(of_lists) = tells_lists(json)? {
                    return Ok(of_lists);
                }
            }
        }
    }
    Ok(false)
}

/// Whether an operation is one on lists (`true`), on plain values (`false`), or on either.
fn tells_lists(json: &mut Json<'_>) -> Result<Option<bool>, Fault> {
    let mut verdict = None;
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        match &*member {
            "t" => match action(json)? {
                TimekillerAction::Append => verdict = Some(true),
                TimekillerAction::Write => verdict = Some(false),
                TimekillerAction::Read => {}
            },
            "v" => {
                let told = match json.peek()? {
                    JsonKind::Array => Some(true),
                    JsonKind::Null => None,
                    // An append has a plain value too, so its action has the last word.
                    _ => Some(false),
                };
                verdict = verdict.or(told);
                json.skip_value()?;
            }
            _ => json.skip_value()?,
        }
    }
    Ok(verdict)
}

/// What is under `"v"`.
enum Payload {
    /// The member is missing, or null.
    Nothing,
    /// A plain value, and where.
    One(usize, Value),
    /// An array, and where; the elements are in the reader.
    Many(usize),
}

/// What is kept from transaction to transaction.
struct TimekillerReader {
    of_lists: bool,
    arrival: Value,
    draft: TxnDraft,
    elements: Vec<Value>,
    unknown: Vec<(Value, Value)>,
    unknown_of_op: Vec<(Value, Value)>,
    starts: Starts,
    /// Every transaction's name, with the name of its session.
    sessions_by_txn: HashMap<Value, Value>,
}

/// The members of a transaction that have to be there.
#[derive(Default)]
struct Members {
    seen: [bool; REQUIRED.len()],
    arrived: bool,
    name: Option<Value>,
    session: Option<Value>,
}

impl TimekillerReader {
    fn new(of_lists: bool, sink: &mut dyn Sink) -> TimekillerReader {
        TimekillerReader {
            of_lists,
            arrival: sink.pool().text(names::ARRIVAL),
            draft: TxnDraft::default(),
            elements: Vec::new(),
            unknown: Vec::new(),
            unknown_of_op: Vec::new(),
            starts: Starts::default(),
            sessions_by_txn: HashMap::new(),
        }
    }

    fn array(mut self, json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<Starts, Fault> {
        let at = json.offset();
        if json.cursor.peek() != Some(b'[') {
            return Err(Fault::expected(at, "an array of transactions"));
        }
        self.transactions(json, sink).map_err(|fault| truncation_hint(json, fault))?;
        let at = json.offset();
        if json.cursor.at_end() {
            return Ok(self.starts);
        }
        Err(Fault::expected(at, "the end of the file after the array of transactions"))
    }

    fn transactions(&mut self, json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<(), Fault> {
        json.begin_array()?;
        while json.next_item()? {
            self.transaction(json, sink)?;
        }
        Ok(())
    }

    fn transaction(&mut self, json: &mut Json<'_>, sink: &mut dyn Sink) -> Result<(), Fault> {
        let at = json.offset();
        if json.peek()? != JsonKind::Object {
            return Err(Fault::expected(at, "a transaction, an object"));
        }
        self.draft.reset(SessionId(0));
        self.unknown.clear();
        let mut members = Members::default();
        json.begin_object()?;
        while let Some(member) = json.next_member()? {
            let here = json.offset();
            if members.is_second(&member) {
                return Err(Fault::wrong(here, format!("the transaction has \"{member}\" twice")));
            }
            self.member(&member, json, &mut members, sink)?;
        }
        if let Some(i) = members.seen.iter().position(|seen| !seen) {
            let what = format!("a transaction with a member \"{}\"", REQUIRED[i]);
            return Err(Fault::expected(at, what));
        }
        self.finish_transaction(at, &members, sink)
    }

    fn member(
        &mut self,
        member: &str,
        json: &mut Json<'_>,
        members: &mut Members,
        sink: &mut dyn Sink,
    ) -> Result<(), Fault> {
        let pool = sink.pool();
        match member {
            "tid" => members.name = Some(name(json, pool, NAME)?),
            "sid" => members.session = Some(name(json, pool, NAME)?),
            "sts" => self.draft.start = Some(timestamp(json)?),
            "cts" => self.draft.commit = Some(timestamp(json)?),
            "ops" => self.operations(json, pool)?,
            "rtts" if json.eat_null() => {}
            "rtts" => {
                let time = integer(json, "a time in milliseconds")?;
                self.draft.attr(self.arrival, pool.int(time));
            }
            _ => {
                let entry = (pool.text(member), json.value(pool)?);
                self.unknown.push(entry);
            }
        }
        Ok(())
    }

    fn finish_transaction(
        &mut self,
        at: usize,
        members: &Members,
        sink: &mut dyn Sink,
    ) -> Result<(), Fault> {
        let (Some(name), Some(session)) = (members.name, members.session) else {
            return Err(Fault::expected(at, "a transaction with \"tid\" and \"sid\""));
        };
        if let Some(other) = self.sessions_by_txn.insert(name, session) {
            let pool = sink.pool();
            let complaint = format!("transaction {} is there twice", show(pool, name));
            let hint = format!("the first is in session {}", show(pool, other));
            return Err(Fault::wrong(at, complaint).hint(hint));
        }
        let draft = &mut self.draft;
        push_unknown(at, &mut self.unknown, |name, value| draft.attr(name, value))?;
        draft.label = Some(name);
        draft.session = sink.pool().session(session);
        sink.transaction(draft).map_err(|e| Fault::sink(at, &e))
    }

    fn operations(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<(), Fault> {
        json.begin_array()?;
        while json.next_item()? {
            self.operation(json, pool)?;
        }
        Ok(())
    }

    fn operation(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<(), Fault> {
        let at = json.offset();
        if json.peek()? != JsonKind::Object {
            return Err(Fault::expected(at, "an operation, an object"));
        }
        let (mut kind, mut key, mut payload) = (None, None, None);
        json.begin_object()?;
        while let Some(member) = json.next_member()? {
            let here = json.offset();
            let fresh = match &*member {
                "t" => kind.replace(action(json)?).is_none(),
                "k" => {
                    let name = name(json, pool, "a key, an integer or a text")?;
                    key.replace(pool.key(name)).is_none()
                }
                "v" => payload.replace(self.payload(json, pool)?).is_none(),
                name => {
                    let entry = (pool.text(name), json.value(pool)?);
                    self.unknown_of_op.push(entry);
                    true
                }
            };
            if !fresh {
                return Err(Fault::wrong(here, format!("the operation has \"{member}\" twice")));
            }
        }
        let missing = |name: &str| Fault::expected(at, format!("an operation with \"{name}\""));
        let kind = kind.ok_or_else(|| missing("t"))?;
        let key = key.ok_or_else(|| missing("k"))?;
        self.emit(at, kind, key, &payload.unwrap_or(Payload::Nothing))?;
        let draft = &mut self.draft;
        push_unknown(at, &mut self.unknown_of_op, |name, value| draft.op_attr(name, value))
    }

    fn payload(&mut self, json: &mut Json<'_>, pool: &mut Pool) -> Result<Payload, Fault> {
        let at = json.offset();
        if json.eat_null() {
            return Ok(Payload::Nothing);
        }
        if json.peek()? != JsonKind::Array {
            let value = name(json, pool, "a value: an integer, a text, an array or null")?;
            return Ok(Payload::One(at, value));
        }
        self.elements.clear();
        json.begin_array()?;
        while json.next_item()? {
            self.elements.push(name(json, pool, "an element, an integer or a text")?);
        }
        Ok(Payload::Many(at))
    }

    fn emit(
        &mut self,
        at: usize,
        action: TimekillerAction,
        key: Key,
        payload: &Payload,
    ) -> Result<(), Fault> {
        let draft = &mut self.draft;
        match (action, payload, self.of_lists) {
            (TimekillerAction::Read, Payload::Nothing, false) => {
                self.starts.read(key, Value::ABSENT);
                draft.read(key, Value::ABSENT);
            }
            (TimekillerAction::Read, Payload::One(_, value), false) => {
                self.starts.read(key, *value);
                draft.read(key, *value);
            }
            (TimekillerAction::Write, Payload::One(_, value), false) => {
                self.starts.write(key, *value);
                draft.write(key, *value);
            }
            // A key without value is what a read of null finds.
            (TimekillerAction::Write, Payload::Nothing, false) => draft.delete(key, Effect::Done),
            (TimekillerAction::Append, Payload::One(_, value), true) => draft.append(key, *value),
            (TimekillerAction::Read, Payload::Nothing, true) => {
                draft.list_read(key, Some(&[])).map_err(|e| Fault::sink(at, &e))?;
            }
            (TimekillerAction::Read, Payload::Many(_), true) => {
                draft.list_read(key, Some(&self.elements)).map_err(|e| Fault::sink(at, &e))?;
            }
            (TimekillerAction::Write | TimekillerAction::Append, Payload::Nothing, _) => {
                return Err(Fault::expected(at, "an operation with the value that it writes"));
            }
            (TimekillerAction::Write | TimekillerAction::Append, Payload::Many(at), _) => {
                return Err(Fault::expected(*at, "the value that is written, an integer"));
            }
            (_, Payload::One(at, _) | Payload::Many(at), of_lists) => {
                return Err(mixed(*at, of_lists));
            }
        }
        Ok(())
    }
}

impl Members {
    /// Notes a member; whether it has been there before. Unknown members are checked elsewhere.
    fn is_second(&mut self, member: &str) -> bool {
        if member == "rtts" {
            return std::mem::replace(&mut self.arrived, true);
        }
        let i = REQUIRED.iter().position(|m| *m == member);
        i.is_some_and(|i| std::mem::replace(&mut self.seen[i], true))
    }
}

fn mixed(at: usize, of_lists: bool) -> Fault {
    let (this, other) =
        if of_lists { ("a plain value", "lists") } else { ("a list", "plain values") };
    Fault::wrong(at, format!("an operation on {this} in a history of {other}")).hint(
        "TimeKiller's histories are of one kind; the first operation with a value tells which",
    )
}

const NAME: &str = "a name, an integer or a text";

/// A name of a transaction or session, a key or a value. Numbers may stand in quotes, as TimeKiller
/// has it; only those that are written as numbers are written count as such, so that `"7"` is 7,
/// and `"07"` a text of its own.
fn name(json: &mut Json<'_>, pool: &mut Pool, what: &str) -> Result<Value, Fault> {
    let at = json.offset();
    match json.peek()? {
        JsonKind::String => {
            let text = json.string(what)?;
            Ok(match quoted_number(&text) {
                Some(number) => pool.int(number),
                None => pool.text(&text),
            })
        }
        JsonKind::Number => match json.number()? {
            Number::Int(i) => Ok(pool.big(i)),
            Number::Float(_) => Err(Fault::expected(at, what)),
        },
        _ => Err(Fault::expected(at, what)),
    }
}

/// The number that a text holds, if that is how the number would be written.
pub(super) fn quoted_number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|n| n.to_string() == text)
}

/// An integer, perhaps in quotes.
fn integer(json: &mut Json<'_>, what: &str) -> Result<i64, Fault> {
    if json.peek()? != JsonKind::String {
        return json.integer(what);
    }
    let at = json.offset();
    json.string(what)?.parse().map_err(|_| Fault::expected(at, format!("{what}, an integer")))
}

/// A timestamp: `{"p": 100, "l": 0}`, or only the physical part.
fn timestamp(json: &mut Json<'_>) -> Result<Timestamp, Fault> {
    const WHAT: &str = "a timestamp, {\"p\": integer, \"l\": integer}";
    if json.peek()? != JsonKind::Object {
        return integer(json, WHAT).map(Timestamp::plain);
    }
    let at = json.offset();
    let (mut physical, mut logical) = (None, None);
    json.begin_object()?;
    while let Some(member) = json.next_member()? {
        let here = json.offset();
        let part = match &*member {
            "p" => &mut physical,
            "l" => &mut logical,
            _ => return Err(Fault::wrong(here, format!("a timestamp has no \"{member}\""))),
        };
        if part.replace(integer(json, "a part of a timestamp")?).is_some() {
            return Err(Fault::wrong(here, format!("the timestamp has \"{member}\" twice")));
        }
    }
    let physical = physical.ok_or_else(|| Fault::expected(at, WHAT))?;
    Ok(Timestamp { physical, logical: logical.unwrap_or(0) })
}

/// A name as messages write it.
fn show(pool: &Pool, name: Value) -> String {
    let mut text = String::new();
    write_value(pool, name, &mut text);
    text
}
