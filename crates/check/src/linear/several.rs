//! Several registers that transactions connect: one object, of which a transaction is one call.

use isolde_history::Value;

use super::call::Did;
use super::model::Model;

/// Registers, by number.
pub(crate) struct Several {
    pub(crate) initial: Vec<Value>,
}

/// What a transaction did, one operation after another, each on one of the registers.
pub(crate) type Steps = Vec<(u32, Did)>;

impl Model for Several {
    type State = Box<[Value]>;
    type Call = Steps;

    fn initial(&self) -> Box<[Value]> {
        self.initial.clone().into()
    }

    fn step(&self, state: &Box<[Value]>, call: &Steps) -> Option<Box<[Value]>> {
        let mut after: Option<Box<[Value]>> = None;
        for (register, did) in call {
            let at = *register as usize;
            let held = after.as_ref().unwrap_or(state)[at];
            let right = match *did {
                Did::Read(value) | Did::Swap { from: value, .. } => held == value,
                Did::NotEqual(value) => held != value,
                Did::Present => held != Value::ABSENT,
                Did::Write(_) => true,
                Did::Append(_) | Did::ReadList => false,
            };
            if !right {
                return None;
            }
            if let Some(value) = did.written() {
                after.get_or_insert_with(|| state.clone())[at] = value;
            }
        }
        Some(after.unwrap_or_else(|| state.clone()))
    }

    fn reads_only(&self, call: &Steps) -> bool {
        call.iter().all(|(_, did)| did.reads_only())
    }
}
