//! An operation map, whatever its keys and their order.

use crate::error::Fault;
use crate::formats::jepsen::event::{Function, LogEvent, Phase, Process};
use crate::formats::jepsen::keys::{F, INDEX, PROCESS, TIME, TYPE, VALUE, key_bit};
use crate::formats::jepsen::notation::{Notation, Shape};

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
