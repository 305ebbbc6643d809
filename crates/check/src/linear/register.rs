//! A register: it holds one value, which is read, written, compared and replaced.

use hashbrown::{HashMap, HashSet};
use isolde_history::Value;

use super::call::Did;
use super::model::Model;

/// A register.
pub(crate) struct Register<'e> {
    pub(crate) initial: Value,
    /// Values that a call outside the history may write at any time: in an incomplete history, values
    /// that were read and have no known writer.
    pub(crate) free: &'e HashSet<Value>,
    /// What it may hold at first instead, if not every call is looked at.
    pub(crate) early: Option<Early<'e>>,
}

/// What had been written by a moment.
#[derive(Clone, Copy)]
pub(crate) struct Early<'e> {
    /// When each value had been written for the first time, and how many there are until the moment.
    pub(crate) written: &'e HashMap<Value, i64>,
    pub(crate) until: i64,
    pub(crate) count: usize,
}

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum HeldValue {
    /// This value, which no call outside the history writes.
    Value(Value),
    /// One of the free values, whichever fits: a register that holds one of them can hold any other.
    Free,
    /// The initial value, or one of the early ones: whichever is seen first.
    Early,
}

impl Register<'_> {
    fn held(&self, value: Value) -> HeldValue {
        if self.free.contains(&value) { HeldValue::Free } else { HeldValue::Value(value) }
    }

    /// Whether it can hold a value before the first call that is looked at.
    pub(crate) fn is_early(&self, value: Value) -> bool {
        let written =
            |early: &Early<'_>| early.written.get(&value).is_some_and(|t| *t < early.until);
        value == self.initial || self.early.as_ref().is_some_and(written)
    }

    /// What it holds when it is seen to hold a value. A call outside the history may just have
    /// written it. It is enough that this happens no earlier than it has to: it can happen at any time.
    fn seen(&self, state: HeldValue, value: Value) -> Option<HeldValue> {
        match (self.held(value), state) {
            (HeldValue::Free, _) => Some(HeldValue::Free),
            (held, HeldValue::Early) => self.is_early(value).then_some(held),
            (held, _) => (state == held).then_some(held),
        }
    }

    /// What it holds when it is seen not to hold a value.
    fn other_than(&self, state: HeldValue, value: Value) -> Option<HeldValue> {
        let early = self.early.map_or(0, |early| early.count);
        match state {
            HeldValue::Value(held) if held != value => Some(state),
            HeldValue::Early
                if self.initial != value || early > usize::from(self.is_early(value)) =>
            {
                Some(state)
            }
            _ => self.free.iter().any(|free| *free != value).then_some(HeldValue::Free),
        }
    }
}

impl Model for Register<'_> {
    type State = HeldValue;
    type Call = Did;

    fn initial(&self) -> HeldValue {
        if self.early.is_some() { HeldValue::Early } else { self.held(self.initial) }
    }

    fn step(&self, state: &HeldValue, call: &Did) -> Option<HeldValue> {
        match *call {
            Did::Read(value) => self.seen(*state, value),
            Did::Write(value) => Some(self.held(value)),
            Did::Swap { from, to } => self.seen(*state, from).map(|_| self.held(to)),
            Did::NotEqual(value) => self.other_than(*state, value),
            Did::Present => self.other_than(*state, Value::ABSENT),
            Did::Append(_) | Did::ReadList => None,
        }
    }

    fn reads_only(&self, call: &Did) -> bool {
        // With a free value the read may follow a write outside the history. Where it changes nothing it
        // can come first all the same: a call that needs that write after it can assume it there.
        call.reads_only()
    }
}
