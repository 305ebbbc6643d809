//! A register: it holds one value, which is read, written, compared and replaced.

use hashbrown::HashSet;
use isolde_history::Value;

use super::call::Did;
use super::model::Model;

/// A register to which somebody else may write some values at any time.
///
/// Nobody else is there when a whole history is put in order. When it is asked whether a few operations
/// are wrong by themselves, what the others wrote is free; and so is what was read in an incomplete
/// history and nobody is known to have written.
pub(crate) struct Register {
    pub(crate) initial: Value,
    pub(crate) free: HashSet<Value>,
}

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Held {
    /// This value, which nobody else writes.
    Value(Value),
    /// One of the free values, whichever comes in handy: who is at one of them can be at any other.
    Free,
}

impl Register {
    fn held(&self, value: Value) -> Held {
        if self.free.contains(&value) { Held::Free } else { Held::Value(value) }
    }

    /// What it holds when it is seen to hold a value. Somebody else may just have written it; that
    /// this happens no earlier than it has to is enough, since it can happen at any time.
    fn seen(&self, state: Held, value: Value) -> Option<Held> {
        match self.held(value) {
            Held::Free => Some(Held::Free),
            held => (state == held).then_some(held),
        }
    }

    /// What it holds when it is seen not to hold a value.
    fn other_than(&self, state: Held, value: Value) -> Option<Held> {
        match state {
            Held::Value(held) if held != value => Some(state),
            _ => self.free.iter().any(|free| *free != value).then_some(Held::Free),
        }
    }
}

impl Model for Register {
    type State = Held;
    type Call = Did;

    fn initial(&self) -> Held {
        self.held(self.initial)
    }

    fn step(&self, state: &Held, call: &Did) -> Option<Held> {
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
        // With a free value the read may follow a write of somebody else. Where it changes nothing it
        // can come first all the same: whoever needs that write after it can make it happen.
        call.reads_only()
    }
}
