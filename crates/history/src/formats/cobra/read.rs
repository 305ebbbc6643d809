//! From records to transactions.

use hashbrown::{HashMap, HashSet};

use crate::draft::TxnDraft;
use crate::error::{Fault, Position, ReadError, Warning};
use crate::evidence::Outcome;
use crate::formats::cobra::layout;
use crate::formats::cobra::record::{KeyName, Layout, Record, Records, UNKNOWN_WRITER, Version};
use crate::ids::Key;
use crate::meta::InitialState;
use crate::op::Effect;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::value::Value;

/// Identifiers with a meaning of their own, the same for transactions and writes.
const INIT: i64 = 0xBEBE_EBEE;
const NULL: i64 = 0xDEAD_BEEF;
const DELETE: i64 = 0xABCD_EFAB;
const MISSING: i64 = 0xADEA_FBEE;
const GC_TRUE: i64 = 0x2333_2333;
const GC_FALSE: i64 = 0x6666_6666;

const NANOSECONDS_PER_MILLISECOND: i64 = 1_000_000;

/// Reads a folder of logs, or one log.
pub(super) fn read(source: &Source, sink: &mut dyn Sink) -> Result<(), ReadError> {
    let (layout, unknown_writers) = layout::detect(source)?;
    let mut reader = CobraReader::new(layout, unknown_writers, sink);
    for input in source.files() {
        reader.collect(input).map_err(|fault| input.binary_error(fault))?;
    }
    for input in source.files() {
        reader.file(input).map_err(|fault| input.binary_error(fault))?;
    }
    reader.finish();
    Ok(())
}

/// Where a record stands.
#[derive(Clone, Copy)]
struct Place<'i> {
    input: &'i Input,
    at: usize,
}

/// What is known of a write before any read is looked at.
struct Known {
    hash: i64,
    txn: i64,
    /// Whether a log holds the write itself; otherwise it is the first read that speaks.
    logged: bool,
    /// Whether the identifier was used twice: neither hash nor writer can be checked then.
    twice: bool,
}

/// What reads say of a key before the run.
#[derive(Clone, Copy, Default)]
struct Before {
    value: Option<Value>,
    absent: bool,
    warned: bool,
}

/// The names that many operations need.
struct CobraNames {
    init: Value,
    missing: Value,
    gc_true: Value,
    gc_false: Value,
    writer: Value,
    write_id: Value,
    start: Value,
    commit: Value,
}

/// The times of a file, which only the records around them make an interval of.
#[derive(Default)]
struct FileTimes {
    /// When the open transaction says that it started.
    start: Option<i64>,
    /// When the one before it said that it would commit.
    last_commit: Option<i64>,
    /// Where the transaction in the draft committed, if it waits for the next start.
    ended: Option<usize>,
}

struct CobraReader<'a, 's> {
    layout: Layout,
    sink: &'s mut dyn Sink,
    names: CobraNames,
    known: HashMap<(i64, KeyName<'a>), Known>,
    /// The keys that some transaction deletes: their absence says nothing of the time before.
    deleted: HashSet<KeyName<'a>>,
    /// The file in which each transaction starts.
    starts: HashMap<i64, &'a str>,
    /// Indexed by key.
    before: Vec<Before>,
    given: Vec<(Key, Value)>,
    unknown_writers: bool,
    draft: TxnDraft,
}

impl<'a, 's> CobraReader<'a, 's> {
    fn new(layout: Layout, unknown_writers: bool, sink: &'s mut dyn Sink) -> CobraReader<'a, 's> {
        let pool = sink.pool();
        let names = CobraNames {
            init: pool.symbol("init"),
            missing: pool.symbol("missing"),
            gc_true: pool.symbol("gc-true"),
            gc_false: pool.symbol("gc-false"),
            writer: pool.text("writer"),
            write_id: pool.text("write-id"),
            start: pool.text("start-time"),
            commit: pool.text("commit-time"),
        };
        CobraReader {
            layout,
            sink,
            names,
            known: HashMap::new(),
            deleted: HashSet::new(),
            starts: HashMap::new(),
            before: Vec::new(),
            given: Vec::new(),
            unknown_writers,
            draft: TxnDraft::default(),
        }
    }

    // ---- first pass: which transaction wrote what ----

    /// A read may stand in an earlier file than the write it saw, so the writes come first.
    fn collect(&mut self, input: &'a Input) -> Result<(), Fault> {
        let mut records = Records::new(&input.bytes, self.layout);
        while let Some((at, record)) = records.next()? {
            let place = Place { input, at };
            match record {
                Record::Start(txn, _) => self.collect_start(place, txn),
                Record::Commit(..) | Record::Read(..) => {}
                Record::Write(version) => {
                    let txn = records.open.unwrap_or(MISSING);
                    self.collect_write(place, txn, version)?;
                }
            }
        }
        Ok(())
    }

    fn collect_start(&mut self, place: Place<'a>, txn: i64) {
        if let Some(other) = self.starts.insert(txn, &place.input.name) {
            let message =
                format!("transaction {txn} starts a second time; it has started in {other}");
            self.warn(place, message);
        }
    }

    fn collect_write(
        &mut self,
        place: Place<'a>,
        txn: i64,
        version: Version<'a>,
    ) -> Result<(), Fault> {
        let id = version.write_id;
        match id {
            INIT | NULL | MISSING => {
                let complaint = format!("a write cannot have the identifier {id:#X}");
                return Err(Fault::wrong(place.at, complaint)
                    .hint("it stands for what was or was not there before the run"));
            }
            DELETE => {
                self.deleted.insert(version.key);
            }
            GC_TRUE | GC_FALSE => {}
            // Identifiers need not be unique then, and are no values.
            _ if self.unknown_writers => {}
            _ => {
                let known = Known { hash: version.hash, txn, logged: true, twice: false };
                if let Some(other) = self.known.get_mut(&(id, version.key)) {
                    other.twice = true;
                    let message = format!(
                        "write {id} of the same key was made by transaction {} already",
                        other.txn
                    );
                    self.warn(place, message);
                } else {
                    self.known.insert((id, version.key), known);
                }
            }
        }
        Ok(())
    }

    // ---- second pass: the transactions ----

    fn file(&mut self, input: &'a Input) -> Result<(), Fault> {
        let name = self.sink.pool().text(session_name(&input.name));
        let session = self.sink.pool().session(name);
        let mut records = Records::new(&input.bytes, self.layout);
        let mut end = 0;
        let mut times = FileTimes::default();
        while let Some((at, record)) = records.next()? {
            end = at;
            let place = Place { input, at };
            match record {
                Record::Start(txn, time) => {
                    times.start = nanoseconds(at, time)?;
                    self.push_ended(&mut times)?;
                    self.draft.reset(session);
                    self.draft.label = Some(self.sink.pool().int(txn));
                    self.draft.interval.begin = times.last_commit;
                    self.time(self.names.start, times.start);
                }
                Record::Write(version) => self.write(records.open, version),
                Record::Read(writer, version) => self.read(place, writer, version),
                Record::Commit(txn, time) => {
                    times.last_commit = nanoseconds(at, time)?;
                    self.check_times(place, txn, &times);
                    self.time(self.names.commit, times.last_commit);
                    times.ended = Some(at);
                }
            }
        }
        times.start = None;
        self.push_ended(&mut times)?;
        if let Some(txn) = records.open {
            self.draft.outcome = Outcome::Unknown;
            let message = format!(
                "transaction {txn} has not committed when the log ends: its outcome is unknown"
            );
            self.warn(Place { input, at: end }, message);
            self.push(end)?;
        }
        Ok(())
    }

    fn push(&mut self, at: usize) -> Result<(), Fault> {
        self.sink.transaction(&self.draft).map_err(|e| Fault::sink(at, &e))
    }

    /// Hands over the transaction that has committed. The recorder takes the time of `S` after
    /// BEGIN has been answered and that of `C` before COMMIT is sent, so a transaction begins
    /// before the one and ends after the other. What is sure is that the client sends nothing
    /// before the last transaction is over: it begins after the last `C`, and ends before the
    /// next `S`.
    fn push_ended(&mut self, times: &mut FileTimes) -> Result<(), Fault> {
        let Some(at) = times.ended.take() else { return Ok(()) };
        self.draft.interval.end = times.start;
        self.push(at)
    }

    fn time(&mut self, name: Value, time: Option<i64>) {
        if let Some(time) = time {
            let time = self.sink.pool().int(time);
            self.draft.attr(name, time);
        }
    }

    fn check_times(&mut self, place: Place<'_>, txn: i64, times: &FileTimes) {
        if let (Some(begin), Some(end)) = (times.start, times.last_commit)
            && begin > end
        {
            self.warn(place, format!("transaction {txn} commits before it starts"));
        }
    }

    fn write(&mut self, txn: Option<i64>, version: Version<'_>) {
        let key = self.key(version.key);
        match version.write_id {
            DELETE => self.draft.delete(key, Effect::Done),
            id @ (GC_TRUE | GC_FALSE) => {
                let txn = self.sink.pool().int(txn.unwrap_or(MISSING));
                let value = self.fence(id, txn);
                self.draft.write(key, value);
            }
            id if self.unknown_writers => {
                let value = self.sink.pool().int(version.hash);
                self.draft.write(key, value);
                self.write_id(id);
            }
            id => {
                let value = self.sink.pool().int(id);
                self.draft.write(key, value);
            }
        }
    }

    fn read(&mut self, place: Place<'_>, writer: i64, version: Version<'a>) {
        let key = self.key(version.key);
        match version.write_id {
            INIT => {
                let value = self.checked(place, writer, version, self.names.init);
                self.draft.read(key, value);
                self.existed(place, key, value);
                self.initial_writer(place, writer);
            }
            NULL => {
                self.draft.read(key, Value::ABSENT);
                if !self.deleted.contains(&version.key) {
                    self.was_absent(place, key);
                }
                self.initial_writer(place, writer);
            }
            DELETE => {
                self.draft.read(key, Value::ABSENT);
                self.writer(writer);
            }
            MISSING => {
                self.draft.read(key, self.names.missing);
                self.writer(writer);
            }
            id @ (GC_TRUE | GC_FALSE) if writer == INIT => {
                let value = self.fence(id, self.names.init);
                self.draft.read(key, value);
                self.existed(place, key, value);
            }
            id @ (GC_TRUE | GC_FALSE) => {
                let txn = self.sink.pool().int(writer);
                let value = self.fence(id, txn);
                self.draft.read(key, value);
            }
            id if self.unknown_writers => {
                let value = self.sink.pool().int(version.hash);
                self.draft.read(key, value);
                self.write_id(id);
                self.writer(writer);
            }
            _ => self.ordinary_read(place, writer, version),
        }
    }

    fn ordinary_read(&mut self, place: Place<'_>, writer: i64, version: Version<'a>) {
        let (key, id) = (self.key(version.key), version.write_id);
        let value = self.sink.pool().int(id);
        let value = self.checked(place, writer, version, value);
        self.draft.read(key, value);
        match self.known.get(&(id, version.key)) {
            Some(known) if known.logged && (known.txn == writer || known.twice) => {
                if known.twice {
                    self.writer(writer);
                }
            }
            Some(known) if known.logged => {
                let message = format!(
                    "a read says that transaction {writer} made write {id}, \
                     but transaction {} did",
                    known.txn
                );
                self.warn(place, message);
                self.writer(writer);
            }
            _ => self.writer(writer),
        }
    }

    /// The value, or one that no transaction wrote if the read saw another hash than the write made.
    fn checked(
        &mut self,
        place: Place<'_>,
        writer: i64,
        version: Version<'a>,
        value: Value,
    ) -> Value {
        let first = Known { hash: version.hash, txn: writer, logged: false, twice: false };
        let known = self.known.entry((version.write_id, version.key)).or_insert(first);
        if known.twice || known.hash == version.hash {
            return value;
        }
        let other = if known.logged { "its writer" } else { "another read" };
        let message = format!(
            "a read saw the hash {} where {other} has {}: the value is taken for one that no transaction \
             wrote",
            version.hash, known.hash
        );
        self.warn(place, message);
        let hash = self.sink.pool().int(version.hash);
        self.sink.pool().list(&[value, hash])
    }

    fn fence(&mut self, id: i64, writer: Value) -> Value {
        let name = if id == GC_TRUE { self.names.gc_true } else { self.names.gc_false };
        self.sink.pool().list(&[name, writer])
    }

    fn key(&mut self, name: KeyName<'_>) -> Key {
        let pool = self.sink.pool();
        let name = match name {
            KeyName::Hash(hash) => pool.int(hash),
            KeyName::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => pool.text(text),
                Err(_) => pool.bytes(bytes),
            },
        };
        pool.key(name)
    }

    // ---- what no column holds ----

    /// Keeps the writer that the last read names, if it names one.
    fn writer(&mut self, writer: i64) {
        if !matches!(writer, UNKNOWN_WRITER | MISSING) {
            let writer = self.sink.pool().int(writer);
            self.draft.op_attr(self.names.writer, writer);
        }
    }

    fn write_id(&mut self, id: i64) {
        if id != UNKNOWN_WRITER {
            let id = self.sink.pool().int(id);
            self.draft.op_attr(self.names.write_id, id);
        }
    }

    /// No transaction in the logs can have written what was there before the run.
    fn initial_writer(&mut self, place: Place<'_>, writer: i64) {
        if !matches!(writer, INIT | NULL | UNKNOWN_WRITER) {
            let message = format!(
                "a read names transaction {writer} as the writer of what was there before the run"
            );
            self.warn(place, message);
            self.writer(writer);
        }
    }

    // ---- what was there before the run ----

    fn before(&mut self, key: Key) -> Option<&mut Before> {
        if self.before.len() <= key.index() {
            self.before.resize(key.index() + 1, Before::default());
        }
        self.before.get_mut(key.index())
    }

    fn existed(&mut self, place: Place<'_>, key: Key, value: Value) {
        let Some(before) = self.before(key) else { return };
        let first = before.value.is_none();
        let differs = before.absent || before.value.is_some_and(|v| v != value);
        before.value = before.value.or(Some(value));
        if first {
            self.given.push((key, value));
        }
        self.contradiction(place, key, differs);
    }

    fn was_absent(&mut self, place: Place<'_>, key: Key) {
        let Some(before) = self.before(key) else { return };
        before.absent = true;
        let differs = before.value.is_some();
        self.contradiction(place, key, differs);
    }

    fn contradiction(&mut self, place: Place<'_>, key: Key, differs: bool) {
        let Some(before) = self.before(key) else { return };
        if differs && !std::mem::replace(&mut before.warned, true) {
            let message = "reads disagree on whether this key existed before the run, or with what";
            self.warn(place, message.to_owned());
        }
    }

    fn finish(self) {
        let variant = if self.unknown_writers { "unknown-writer" } else { self.layout.name() };
        let pool = self.sink.pool();
        let (name, variant) = (pool.text("cobra-variant"), pool.text(variant));
        let meta = self.sink.meta();
        meta.set(name, variant);
        meta.complete = false;
        meta.initial = InitialState { default: Some(Value::ABSENT), given: self.given };
    }

    fn warn(&mut self, place: Place<'_>, message: String) {
        let position = Position::Byte(place.at as u64);
        self.sink.warn(Warning { file: place.input.name.clone(), position, message });
    }
}

fn nanoseconds(at: usize, time: Option<i64>) -> Result<Option<i64>, Fault> {
    let Some(milliseconds) = time else { return Ok(None) };
    let time = milliseconds.checked_mul(NANOSECONDS_PER_MILLISECOND);
    time.map(Some).ok_or_else(|| {
        let complaint = format!("the time {milliseconds} ms does not fit into 64-bit nanoseconds");
        Fault::wrong(at, complaint)
    })
}

/// `T10` of `/some/where/T10.log`.
fn session_name(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".log").unwrap_or(file)
}
