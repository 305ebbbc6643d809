//! Loading large EDN files on all cores.
//!
//! The file is cut at lines that begin with `{`. Every piece goes through four steps: its events are
//! scanned; they are paired with those of the pieces before; transactions are made of them; these
//! are appended to the history. The first and the third step are the expensive ones, and need
//! nothing but the piece; the other two are cheap, and go piece by piece in the order of the file.
//! Each core does whatever can be done next, so none waits while there is work.
//!
//! The result is the same as that of reading from beginning to end. Whatever does not fit this plan
//! (a cut inside of a string, single objects, an error) is left to the plain reader, which also
//! knows how to complain.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::builder::HistoryBuilder;
use crate::error::{Fault, ReadError};
use crate::formats::jepsen::event::LogEvent;
use crate::formats::jepsen::interpret::{Interpreter, LogReader};
use crate::formats::jepsen::operations::Standard;
use crate::formats::jepsen::pairing::{Paired, Pairing, Step};
use crate::formats::jepsen::read::{edn_holds_lists, read_edn};
use crate::formats::jepsen::scan::scan_event;
use crate::sink::Sink;
use crate::source::{Input, Source};
use crate::text::Edn;

/// How much text a piece has.
const PIECE: usize = if cfg!(test) { 200 } else { 1 << 20 };
/// How many pieces may be under way: enough to keep the cores busy, few enough to stay in memory.
const AHEAD: usize = 8;

pub(super) fn load_edn(source: &Source) -> Result<HistoryBuilder, ReadError> {
    let input = source.file()?;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let cores = if cfg!(test) { 2 } else { cores };
    if cores > 1
        && input.bytes.len() > 2 * PIECE
        && let Some(builder) = load_on(cores, input)
    {
        return Ok(builder);
    }
    let mut builder = HistoryBuilder::new();
    read_edn(source, &mut builder)?;
    Ok(builder)
}

type EdnDialect<'a> = Standard<'a, Edn<'a>>;

fn load_on(cores: usize, input: &Input) -> Option<HistoryBuilder> {
    let mut edn = Edn::new(&input.bytes);
    let start = edn.offset().ok()?;
    if edn.cursor.peek() != Some(b'{') {
        return None;
    }
    let dialect: EdnDialect<'_> = Standard::new(&input.bytes, edn_holds_lists(&input.bytes));
    let mut builder = HistoryBuilder::new();
    let pairing = LogReader::new(input, dialect.clone(), &mut builder).pairing;
    let plan = SharedLoad {
        input,
        dialect,
        line: Mutex::new(InFileOrder { builder, pairing }),
        pieces: Mutex::new(Pieces { cut: start, ..Pieces::default() }),
        change: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..cores {
            scope.spawn(|| plan.work());
        }
        plan.work();
    });
    let failed = plan.lock().failed;
    let InFileOrder { mut builder, pairing } = plan.line.into_inner().ok()?;
    let mut reader = LogReader::resume(input, plan.dialect, pairing, &mut builder);
    (!failed && reader.finish().is_ok()).then_some(builder)
}

/// What all cores share.
struct SharedLoad<'a> {
    input: &'a Input,
    dialect: EdnDialect<'a>,
    line: Mutex<InFileOrder>,
    pieces: Mutex<Pieces>,
    /// Something can be done that could not be done before.
    change: Condvar,
}

/// What goes in the order of the file, one core at a time.
struct InFileOrder {
    builder: HistoryBuilder,
    pairing: Pairing,
}

/// How far each piece is.
#[derive(Default)]
struct Pieces {
    /// Where the next piece starts.
    cut: usize,
    /// How many pieces have been taken for scanning, for pairing, for appending.
    scanned: usize,
    paired: usize,
    appended: usize,
    events: BTreeMap<usize, Vec<LogEvent>>,
    transactions: BTreeMap<usize, Vec<Paired>>,
    parts: BTreeMap<usize, Box<HistoryBuilder>>,
    /// Whether a core is in the line.
    in_line: bool,
    /// Whether the plain reader has to do it.
    failed: bool,
}

/// One step of one piece.
enum Job {
    Scan(usize, std::ops::Range<usize>),
    Pair(usize, Vec<LogEvent>),
    Interpret(usize, Vec<Paired>),
    Append(Box<HistoryBuilder>),
}

impl Pieces {
    /// The latest step that can be done: what is nearly finished holds the most memory.
    fn next(&mut self, bytes: &[u8]) -> Option<Job> {
        if !self.in_line {
            if let Some(part) = self.parts.remove(&self.appended) {
                self.in_line = true;
                self.appended += 1;
                return Some(Job::Append(part));
            }
            if let Some(events) = self.events.remove(&self.paired) {
                self.in_line = true;
                self.paired += 1;
                return Some(Job::Pair(self.paired - 1, events));
            }
        }
        if let Some((piece, paired)) = self.transactions.pop_first() {
            return Some(Job::Interpret(piece, paired));
        }
        if self.cut < bytes.len() && self.scanned < self.appended + AHEAD {
            let start = self.cut;
            self.cut = next_cut(bytes, start);
            self.scanned += 1;
            return Some(Job::Scan(self.scanned - 1, start..self.cut));
        }
        None
    }

    fn is_done(&self, bytes: &[u8]) -> bool {
        self.failed || (self.cut >= bytes.len() && self.appended == self.scanned && !self.in_line)
    }
}

impl SharedLoad<'_> {
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what can be done until nothing is left.
    fn work(&self) {
        let bytes = &self.input.bytes;
        let mut pieces = self.lock();
        while !pieces.is_done(bytes) {
            let Some(job) = pieces.next(bytes) else {
                pieces = self.change.wait(pieces).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(pieces);
            let alarm = LoadAlarm(self);
            let done = self.step(job).is_some();
            drop(alarm);
            pieces = self.lock();
            pieces.failed |= !done;
            self.change.notify_all();
        }
    }

    fn step(&self, job: Job) -> Option<()> {
        match job {
            Job::Scan(piece, range) => {
                let bytes = self.input.bytes.get(..range.end)?;
                let events = scan_piece(bytes, range.start).ok()?;
                self.lock().events.insert(piece, events);
            }
            Job::Pair(piece, events) => {
                let paired = self.pair(events);
                let mut pieces = self.lock();
                pieces.in_line = false;
                pieces.transactions.insert(piece, paired?);
            }
            Job::Interpret(piece, paired) => {
                let part = Box::new(self.interpret(&paired)?);
                self.lock().parts.insert(piece, part);
            }
            Job::Append(part) => {
                let appended = self.line.lock().ok()?.builder.append(*part);
                self.lock().in_line = false;
                appended.ok()?;
            }
        }
        Some(())
    }

    /// The transactions that end in these events; whatever else they are is pushed at once.
    fn pair(&self, events: Vec<LogEvent>) -> Option<Vec<Paired>> {
        let mut line = self.line.lock().ok()?;
        let InFileOrder { builder, pairing } = &mut *line;
        let resumed = std::mem::take(pairing);
        let mut reader = LogReader::resume(self.input, self.dialect.clone(), resumed, builder);
        let paired = pair_events(&mut reader, events);
        *pairing = reader.pairing;
        paired
    }

    fn interpret(&self, paired: &[Paired]) -> Option<HistoryBuilder> {
        let mut interpreter = Interpreter::new(&self.input.bytes, self.dialect.clone());
        let mut builder = HistoryBuilder::new();
        for paired in paired {
            interpreter.transaction(paired, builder.pool()).ok()?;
            builder.transaction(&interpreter.draft).ok()?;
        }
        // The plain reader has the words for an operation that says nothing, or something else.
        (interpreter.silent.is_none() && interpreter.altered.is_none()).then_some(builder)
    }
}

/// A core that panics must not leave the others waiting.
struct LoadAlarm<'p, 'a>(&'p SharedLoad<'a>);

impl Drop for LoadAlarm<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().failed = true;
            self.0.change.notify_all();
        }
    }
}

fn pair_events<'a>(
    reader: &mut LogReader<'a, '_, EdnDialect<'a>>,
    events: Vec<LogEvent>,
) -> Option<Vec<Paired>> {
    let mut paired = Vec::with_capacity(events.len() / 2 + 1);
    for event in events {
        if event.function.is_single() {
            return None;
        }
        match reader.pairing.next(event, reader.sink.pool()).ok()? {
            Step::Wait => {}
            Step::Transaction(transaction) => paired.push(transaction),
            Step::Other(placed) => reader.other(placed).ok()?,
            Step::Initial(event) => reader.initial(&event).ok()?,
        }
    }
    Some(paired)
}

/// Where the piece that starts here ends.
fn next_cut(bytes: &[u8], start: usize) -> usize {
    let Some(rest) = bytes.get(start + PIECE..) else { return bytes.len() };
    memchr::memmem::find(rest, b"\n{").map_or(bytes.len(), |at| start + PIECE + at + 1)
}

fn scan_piece(bytes: &[u8], start: usize) -> Result<Vec<LogEvent>, Fault> {
    let mut edn = Edn::at(bytes, start);
    let mut events = Vec::new();
    while edn.offset()? < bytes.len() {
        events.push(scan_event(&mut edn)?);
    }
    Ok(events)
}
