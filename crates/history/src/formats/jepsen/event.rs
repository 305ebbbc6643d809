//! One line of the log: an operation begins or ends.

use crate::error::Fault;
use crate::formats::jepsen::notation::{Notation, Shape};

/// What happened to an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// A client asked for it.
    Invoke,
    /// It took effect.
    Ok,
    /// It did not take effect.
    Fail,
    /// Nobody knows.
    Info,
}

impl Phase {
    pub(crate) const fn from_name(name: &[u8]) -> Option<Phase> {
        Some(match name {
            b"invoke" => Phase::Invoke,
            b"ok" => Phase::Ok,
            b"fail" => Phase::Fail,
            b"info" => Phase::Info,
            _ => return None,
        })
    }
}

/// Who did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Process {
    /// The log does not say.
    None,
    Client(i64),
    /// The nemesis, say.
    Other,
}

/// What the operation is, by its `:f`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    None,
    Txn,
    Read,
    Write,
    Cas,
    Acquire,
    Release,
    Init,
    /// Any other; its name stands at [`LogEvent::f_at`].
    Other,
}

impl Function {
    pub(crate) const fn from_name(name: &[u8]) -> Function {
        match name {
            b"txn" => Function::Txn,
            b"read" => Function::Read,
            b"write" => Function::Write,
            b"cas" => Function::Cas,
            b"acquire" => Function::Acquire,
            b"release" => Function::Release,
            b"init" => Function::Init,
            _ => Function::Other,
        }
    }

    pub(crate) const fn is_single(self) -> bool {
        matches!(self, Function::Read | Function::Write | Function::Cas) || self.is_lock()
    }

    /// Whether it is an operation on a mutex.
    pub(crate) const fn is_lock(self) -> bool {
        matches!(self, Function::Acquire | Function::Release)
    }
}

/// One operation map of the log. Its value and its unusual keys stay where they are until it is
/// clear whether anyone needs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEvent {
    /// Where the map stands.
    pub(crate) at: usize,
    pub(crate) phase: Phase,
    pub(crate) process: Process,
    pub(crate) function: Function,
    /// Where the name of the function stands.
    pub(crate) f_at: usize,
    /// Where the value stands, if there is one.
    pub(crate) value_at: Option<usize>,
    pub(crate) index: Option<i64>,
    pub(crate) time: Option<i64>,
    /// Whether the map has keys that are not in this struct.
    pub(crate) extras: bool,
}

impl LogEvent {
    pub(crate) const fn new(at: usize) -> LogEvent {
        LogEvent {
            at,
            phase: Phase::Info,
            process: Process::None,
            function: Function::None,
            f_at: at,
            value_at: None,
            index: None,
            time: None,
            extras: false,
        }
    }
}

/// The keys that every operation may have.
const TYPE: u8 = 1;
const PROCESS: u8 = 2;
const F: u8 = 4;
const VALUE: u8 = 8;
const INDEX: u8 = 16;
const TIME: u8 = 32;

fn key_bit(name: &[u8]) -> u8 {
    match name {
        b"type" => TYPE,
        b"process" => PROCESS,
        b"f" => F,
        b"value" => VALUE,
        b"index" => INDEX,
        b"time" => TIME,
        _ => 0,
    }
}

/// Whether an operation's key is one of those that every operation may have.
pub(crate) fn is_common_key(name: &str) -> bool {
    key_bit(name.as_bytes()) != 0
}

/// The operation map that comes next.
#[inline]
pub(crate) fn scan_event<'a, N: Notation<'a>>(n: &mut N) -> Result<LogEvent, Fault> {
    let at = n.offset()?;
    if let Some(event) = n.plain_event() {
        return Ok(event);
    }
    if n.shape()? != Shape::Map {
        return Err(Fault::expected(at, "an operation, '{'"));
    }
    n.begin_map()?;
    let mut scanner = MapScanner { event: LogEvent::new(at), seen: 0 };
    while let Some(key) = n.next_raw_key()? {
        scanner.field(&key, n)?;
    }
    scanner.finish::<N>()
}

/// An operation map whose keys are being read.
struct MapScanner {
    event: LogEvent,
    /// The common keys it has so far.
    seen: u8,
}

impl MapScanner {
    /// One key, whose value comes next.
    #[inline]
    fn field<'a, N: Notation<'a>>(&mut self, key: &[u8], n: &mut N) -> Result<(), Fault> {
        let bit = key_bit(key);
        let at = n.offset()?;
        if self.seen & bit != 0 {
            let key = N::quoted(key);
            return Err(Fault::wrong(at, format!("the operation has {key} twice")));
        }
        self.seen |= bit;
        match bit {
            TYPE => self.phase(at, n),
            PROCESS => self.process(n),
            F => self.function(at, n),
            VALUE => {
                self.event.value_at = Some(at);
                n.skip_value()
            }
            INDEX => {
                self.event.index = self.number(n)?;
                Ok(())
            }
            TIME => {
                // Jepsen's own word for "no time" is -1.
                self.event.time = self.number(n)?.filter(|&t| t != -1);
                Ok(())
            }
            _ => {
                self.event.extras = true;
                n.skip_value()
            }
        }
    }

    fn phase<'a, N: Notation<'a>>(&mut self, at: usize, n: &mut N) -> Result<(), Fault> {
        let what = || {
            let names = ["invoke", "ok", "fail"].map(|name| N::quoted(name.as_bytes()));
            format!("{} or {}", names.join(", "), N::quoted(b"info"))
        };
        let phase = n.name("").ok().and_then(Phase::from_name);
        self.event.phase = phase.ok_or_else(|| Fault::expected(at, what()))?;
        Ok(())
    }

    fn process<'a, N: Notation<'a>>(&mut self, n: &mut N) -> Result<(), Fault> {
        let before = n.clone();
        self.event.process = match n.integer_or_skip()? {
            Some(process) => Process::Client(process),
            None if is_nil(before)? => Process::None,
            None => Process::Other,
        };
        Ok(())
    }

    fn function<'a, N: Notation<'a>>(&mut self, at: usize, n: &mut N) -> Result<(), Fault> {
        let before = n.clone();
        self.event.f_at = at;
        self.event.function = match n.name("") {
            Ok(name) => Function::from_name(name),
            Err(_) => {
                *n = before.clone();
                n.skip_value()?;
                if is_nil(before)? { Function::None } else { Function::Other }
            }
        };
        Ok(())
    }

    /// A number; anything else but nil is kept as an attribute.
    #[inline]
    fn number<'a, N: Notation<'a>>(&mut self, n: &mut N) -> Result<Option<i64>, Fault> {
        let before = n.clone();
        let number = n.integer_or_skip()?;
        if number.is_none() {
            self.event.extras |= !is_nil(before)?;
        }
        Ok(number)
    }

    fn finish<'a, N: Notation<'a>>(self) -> Result<LogEvent, Fault> {
        let mut event = self.event;
        if self.seen & TYPE == 0 {
            if event.function != Function::Init {
                let key = N::quoted(b"type");
                return Err(Fault::wrong(event.at, format!("the operation has no {key}")));
            }
            event.phase = Phase::Ok;
        }
        Ok(event)
    }
}

#[cold]
fn is_nil<'a, N: Notation<'a>>(mut n: N) -> Result<bool, Fault> {
    n.eat_nil()
}
