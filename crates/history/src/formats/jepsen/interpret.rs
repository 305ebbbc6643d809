//! From paired events to transactions.

use hashbrown::HashSet;

use crate::attributes::names;
use crate::draft::TxnDraft;
use crate::error::Fault;
use crate::evidence::Outcome;
use crate::formats::jepsen::answer::answers;
use crate::formats::jepsen::event::{Function, LogEvent, Phase};
use crate::formats::jepsen::keys::LABEL_KEY;
use crate::formats::jepsen::mutex;
use crate::formats::jepsen::notation::{Notation, Shape};
use crate::formats::jepsen::operations::{Dialect, keys_and_values};
use crate::formats::jepsen::pairing::{Paired, Pairing, Placed, Step};
use crate::ids::Key;
use crate::meta::{Clock, Event, InitialState};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::source::Input;
use crate::value::Value;

/// Makes transactions of paired events.
pub(crate) struct Interpreter<'a, D> {
    bytes: &'a [u8],
    pub(crate) dialect: D,
    /// The names of the times, interned once.
    wall: Option<[Value; 2]>,
    /// The first transaction that may have committed and does not say what it did.
    pub(crate) silent: Option<usize>,
    /// The first completion that does not answer its invocation.
    pub(crate) altered: Option<usize>,
    pub(crate) draft: TxnDraft,
}

impl<'a, D: Dialect<'a>> Interpreter<'a, D> {
    pub(crate) fn new(bytes: &'a [u8], dialect: D) -> Interpreter<'a, D> {
        Interpreter {
            bytes,
            dialect,
            wall: None,
            silent: None,
            altered: None,
            draft: TxnDraft::default(),
        }
    }

    /// Fills the draft.
    pub(crate) fn transaction(&mut self, paired: &Paired, pool: &mut Pool) -> Result<(), Fault> {
        let name = paired.owner.session_name(pool);
        self.draft.reset(pool.session(name));
        let phase = paired.completion.map(|placed| placed.event.phase);
        self.draft.outcome = match phase {
            Some(Phase::Ok) => Outcome::Committed,
            Some(Phase::Fail) => Outcome::Aborted,
            _ => Outcome::Unknown,
        };
        self.draft.interval.begin = paired.invoke.map(|placed| placed.position);
        self.draft.interval.end = match (phase, paired.completion) {
            (Some(Phase::Ok | Phase::Fail), Some(placed)) => Some(placed.position),
            // It may still take effect after the client has given up.
            _ => None,
        };
        let (invoke, completion) = (event(paired.invoke), event(paired.completion));
        let index = |event: Option<&LogEvent>| event.and_then(|e| e.index);
        self.draft.label =
            index(completion.as_ref()).or(index(invoke.as_ref())).map(|i| pool.int(i));
        let Some(telling) = self.telling(phase, invoke, completion)? else { return Ok(()) };
        self.check_functions(invoke.as_ref(), completion.as_ref())?;
        if let (Some(asked), Some(done), Some(Phase::Ok)) = (invoke, completion, phase)
            && !self.is_answer(&asked, &done)?
        {
            self.altered.get_or_insert(done.at);
        }
        if self.draft.outcome == Outcome::Unknown && self.says_nothing(&telling)? {
            self.silent.get_or_insert(telling.at);
        }
        self.dialect.operations(&telling, pool, &mut self.draft)?;
        self.times(invoke.as_ref(), completion.as_ref(), pool);
        self.function(&telling, pool)?;
        for event in [invoke, completion].into_iter().flatten().filter(|event| event.extras) {
            self.extras(&event, pool)?;
        }
        Ok(())
    }

    /// The event that says what the transaction did: what was asked for stands in the invocation,
    /// what came of it in the completion. Where one of them keeps silent, the other one speaks.
    #[inline]
    fn telling(
        &self,
        phase: Option<Phase>,
        invoke: Option<LogEvent>,
        completion: Option<LogEvent>,
    ) -> Result<Option<LogEvent>, Fault> {
        let (Some(asked), Some(done)) = (invoke, completion) else {
            return Ok(invoke.or(completion));
        };
        let invocation_tells = if phase == Some(Phase::Ok) {
            // A write that was done wrote what it was asked to; only reads have news.
            let writes =
                matches!(done.function, Function::Write | Function::Cas) || done.function.is_lock();
            writes && self.value_is_nil(&done)?
        } else {
            // The value of a completion that is no sequence is an error message.
            asked.function.is_single() || !self.value_is_nil(&asked)? || !self.is_sequence(&done)?
        };
        Ok(Some(if invocation_tells { asked } else { done }))
    }

    /// Whether a completion says what its invocation asked for. Reads of single objects are not compared:
    /// what was asked is often the key, and the answer the value.
    fn is_answer(&self, asked: &LogEvent, done: &LogEvent) -> Result<bool, Fault> {
        let told = matches!(
            asked.function,
            Function::None | Function::Txn | Function::Write | Function::Cas
        );
        let (Some(asked_at), Some(done_at)) = (asked.value_at, done.value_at) else {
            return Ok(true);
        };
        if !told || self.value_is_nil(asked)? || self.value_is_nil(done)? {
            return Ok(true);
        }
        Ok(answers::<D::Notation>(self.bytes, asked_at, done_at))
    }

    fn value_is_nil(&self, event: &LogEvent) -> Result<bool, Fault> {
        match event.value_at {
            Some(at) => D::Notation::at(self.bytes, at).eat_nil(),
            None => Ok(true),
        }
    }

    fn is_sequence(&self, event: &LogEvent) -> Result<bool, Fault> {
        match event.value_at {
            Some(at) => Ok(D::Notation::at(self.bytes, at).shape()? == Shape::Sequence),
            None => Ok(false),
        }
    }

    /// Whether the log leaves out what a transaction tried to do. (A read's invocation has no value.)
    fn says_nothing(&self, telling: &LogEvent) -> Result<bool, Fault> {
        let may_be_silent = matches!(telling.function, Function::None | Function::Txn);
        Ok(may_be_silent && self.value_is_nil(telling)?)
    }

    /// Invocation and completion must be of the same operation.
    #[inline]
    fn check_functions(
        &self,
        invoke: Option<&LogEvent>,
        completion: Option<&LogEvent>,
    ) -> Result<(), Fault> {
        let (Some(invoke), Some(completion)) = (invoke, completion) else { return Ok(()) };
        let name = |event: &LogEvent| D::Notation::at(self.bytes, event.f_at).name("").ok();
        let same = match (invoke.function, completion.function) {
            (_, Function::None) => true,
            (Function::Other, Function::Other) => name(invoke) == name(completion),
            (asked, done) => asked == done,
        };
        if same {
            return Ok(());
        }
        let asked = name(invoke).map_or("nothing".to_owned(), D::Notation::quoted);
        let complaint = "the completion is of another operation than the invocation";
        Err(Fault::wrong(completion.at, complaint)
            .hint(format!("the process invoked {asked} at byte {}", invoke.at)))
    }

    fn times(&mut self, invoke: Option<&LogEvent>, completion: Option<&LogEvent>, pool: &mut Pool) {
        let times = [invoke.and_then(|e| e.time), completion.and_then(|e| e.time)];
        if times == [None, None] {
            return;
        }
        let wall = [names::WALL_BEGIN, names::WALL_END];
        let wall = *self.wall.get_or_insert_with(|| wall.map(|name| pool.text(name)));
        for (name, time) in wall.into_iter().zip(times) {
            if let Some(time) = time {
                self.draft.attr(name, pool.int(time));
            }
        }
    }

    fn function(&mut self, event: &LogEvent, pool: &mut Pool) -> Result<(), Fault> {
        if event.function == Function::None || self.dialect.implies_function(event) {
            return Ok(());
        }
        let value = D::Notation::at(self.bytes, event.f_at).value(pool)?;
        let name = pool.text("f");
        self.draft.attr(name, value);
        Ok(())
    }

    fn extras(&mut self, event: &LogEvent, pool: &mut Pool) -> Result<(), Fault> {
        for (name, value) in self.dialect.extras(event, pool)? {
            if pool.as_text(name) == Some(LABEL_KEY) {
                self.draft.label = Some(value);
            } else {
                self.draft.attr(name, value);
            }
        }
        Ok(())
    }
}

/// What an event of the nemesis says beside its name and value, as far as it is not as usual: its
/// time, an index that is not its position, and that it was not a plain `:info`.
fn placed_columns(placed: &Placed, pool: &mut Pool, columns: &mut Vec<(Value, Value)>) {
    let event = &placed.event;
    let index = event.index.filter(|&index| index != placed.position);
    for (name, number) in [("index", index), ("time", event.time)] {
        if let Some(number) = number {
            columns.push((pool.text(name), pool.int(number)));
        }
    }
    let phase = match event.phase {
        Phase::Info => return,
        Phase::Invoke => "invoke",
        Phase::Ok => "ok",
        Phase::Fail => "fail",
    };
    columns.push((pool.text("type"), pool.text(phase)));
}

fn event(placed: Option<Placed>) -> Option<LogEvent> {
    placed.map(|placed| placed.event)
}

/// Reads a whole log: pairs its events and pushes what they make.
pub(crate) struct LogReader<'a, 's, D> {
    input: &'a Input,
    pub(crate) interpreter: Interpreter<'a, D>,
    pub(crate) pairing: Pairing,
    /// The mutexes so far.
    mutexes: HashSet<Key>,
    pub(crate) sink: &'s mut dyn Sink,
}

impl<'a, 's, D: Dialect<'a>> LogReader<'a, 's, D> {
    pub(crate) fn new(
        input: &'a Input,
        dialect: D,
        sink: &'s mut dyn Sink,
    ) -> LogReader<'a, 's, D> {
        let meta = sink.meta();
        meta.clock = Clock::Events;
        meta.initial = InitialState::every(Value::ABSENT);
        LogReader::resume(input, dialect, Pairing::default(), sink)
    }

    /// In the middle of a log.
    pub(crate) fn resume(
        input: &'a Input,
        dialect: D,
        pairing: Pairing,
        sink: &'s mut dyn Sink,
    ) -> LogReader<'a, 's, D> {
        let interpreter = Interpreter::new(&input.bytes, dialect);
        LogReader { input, interpreter, pairing, mutexes: HashSet::new(), sink }
    }

    /// The next event of the log.
    pub(crate) fn event(&mut self, event: LogEvent) -> Result<(), Fault> {
        self.interpreter.dialect.observe(&event)?;
        match self.pairing.next(event, self.sink.pool())? {
            Step::Wait => Ok(()),
            Step::Transaction(paired) => self.transaction(&paired),
            Step::Other(placed) => self.other(placed),
            Step::Initial(event) => self.initial(&event),
        }
    }

    fn transaction(&mut self, paired: &Paired) -> Result<(), Fault> {
        self.interpreter.transaction(paired, self.sink.pool())?;
        let events = [event(paired.invoke), event(paired.completion)];
        if events.into_iter().flatten().any(|event| event.function.is_lock()) {
            self.mutexes.extend(&self.interpreter.draft.keys);
        }
        let pushed = self.sink.transaction(&self.interpreter.draft);
        pushed.map_err(|e| Fault::sink(paired.offset(), &e))
    }

    /// What the nemesis did. Its detail is the value; a map of the value and whatever else the log
    /// says about it, if it says anything else.
    pub(crate) fn other(&mut self, placed: Placed) -> Result<(), Fault> {
        let (bytes, event) = (self.interpreter.bytes, placed.event);
        let pool = self.sink.pool();
        let at = |at: usize| D::Notation::at(bytes, at);
        let name = match event.function {
            Function::None => Value::ABSENT,
            _ => at(event.f_at).value(pool)?,
        };
        let mut detail = match event.value_at {
            Some(value_at) => at(value_at).value(pool)?,
            None => Value::ABSENT,
        };
        let mut columns = Vec::new();
        if event.extras {
            columns = self.interpreter.dialect.extras(&event, pool)?;
        }
        placed_columns(&placed, pool, &mut columns);
        if !columns.is_empty() {
            columns.push((pool.text("value"), detail));
            detail = pool.row(&columns);
        }
        let event = Event { name, begin: Some(placed.position), end: None, detail };
        self.sink.event(event).map_err(|e| Fault::sink(placed.event.at, &e))
    }

    pub(crate) fn initial(&mut self, event: &LogEvent) -> Result<(), Fault> {
        let at = event.value_at.unwrap_or(event.at);
        let mut n = D::Notation::at(self.interpreter.bytes, at);
        let given = keys_and_values(&mut n, self.sink.pool())?;
        // Each may set up a part of the keys; of one key the last word counts.
        let keys: HashSet<Key> = given.iter().map(|&(key, _)| key).collect();
        let initial = &mut self.sink.meta().initial.given;
        initial.retain(|(key, _)| !keys.contains(key));
        initial.extend(given);
        Ok(())
    }

    /// The end of the log: what is still open has an unknown outcome.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        for paired in self.pairing.finish(self.sink.pool()) {
            self.transaction(&paired)?;
        }
        if !self.mutexes.is_empty() {
            let mut keys: Vec<Key> = self.mutexes.drain().collect();
            keys.sort_unstable();
            mutex::declare(keys, self.sink);
        }
        self.warn();
        Ok(())
    }

    /// Says what is odd about the log.
    pub(crate) fn warn(&mut self) {
        if let Some(at) = self.pairing.unowned {
            let message = "operations without a process: each is taken as a session of its own, \
                           so nothing is known of the order in which a client ran them";
            self.sink.warn(self.input.text_warning(at, message));
        }
        if let Some(at) = self.pairing.unnumbered {
            let message = "the process of this operation is no number, so it is taken for an event \
                           and not for a transaction: only processes with numbers are clients";
            self.sink.warn(self.input.text_warning(at, message));
        }
        if let Some(at) = self.interpreter.silent {
            // What it wrote may have been read, and the log would not say which transaction wrote it.
            self.sink.meta().complete = false;
            let message = "the outcome of this operation is unknown, and so is what it did: \
                           the history is taken as incomplete";
            self.sink.warn(self.input.text_warning(at, message));
        }
        if let Some(at) = self.interpreter.altered {
            let message = "the completion says something else than its invocation asked for: what the \
                           completion says is taken as done";
            self.sink.warn(self.input.text_warning(at, message));
        }
        if let Some(at) = self.pairing.disorder {
            let message = "the index of this operation is not larger than the one before; \
                           the order of the file counts";
            self.sink.warn(self.input.text_warning(at, message));
        }
    }
}
