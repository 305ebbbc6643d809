//! From keys and values as numbers to a history.

use isolde_history::{History, HistoryBuilder, InitialState, Interval, Outcome, Sink};
use isolde_history::{SinkError, TxnDraft, Value};

/// Takes one operation after another; keys, sessions and values are numbers, and every key is 0 at
/// first, or an empty list.
pub(super) struct StrainMaker {
    builder: HistoryBuilder,
    draft: TxnDraft,
}

impl StrainMaker {
    pub(super) fn new() -> StrainMaker {
        let mut builder = HistoryBuilder::new();
        builder.meta().initial = InitialState::every(Value::from_u32(0));
        builder.meta().complete = true;
        StrainMaker { builder, draft: TxnDraft::default() }
    }

    /// Lists are empty at first, which is another initial state than 0.
    pub(super) fn of_lists(&mut self) {
        self.builder.meta().initial = InitialState::every(Value::ABSENT);
    }

    /// Starts a transaction.
    pub(super) fn begin(&mut self, session: u32) -> &mut StrainMaker {
        self.draft.reset(self.builder.pool().session(Value::from_u32(session)));
        self
    }

    pub(super) fn read(&mut self, key: u32, value: u32) -> &mut StrainMaker {
        let key = self.builder.pool().int_key(i64::from(key));
        self.draft.read(key, Value::from_u32(value));
        self
    }

    pub(super) fn write(&mut self, key: u32, value: u32) -> &mut StrainMaker {
        let key = self.builder.pool().int_key(i64::from(key));
        self.draft.write(key, Value::from_u32(value));
        self
    }

    /// A write whose value is not known.
    pub(super) fn write_something(&mut self, key: u32) -> &mut StrainMaker {
        let key = self.builder.pool().int_key(i64::from(key));
        self.draft.write(key, Value::UNOBSERVED);
        self
    }

    pub(super) fn append(&mut self, key: u32, value: u32) -> &mut StrainMaker {
        let key = self.builder.pool().int_key(i64::from(key));
        self.draft.append(key, Value::from_u32(value));
        self
    }

    /// A read of a list that holds one element so many times.
    pub(super) fn list_of(
        &mut self,
        key: u32,
        value: u32,
        times: u32,
    ) -> Result<&mut StrainMaker, SinkError> {
        let key = self.builder.pool().int_key(i64::from(key));
        let elements = vec![Value::from_u32(value); times as usize];
        self.draft.list_read(key, Some(&elements))?;
        Ok(self)
    }

    pub(super) fn between(&mut self, begin: i64, end: i64) -> &mut StrainMaker {
        self.draft.interval = Interval::new(begin, end);
        self
    }

    pub(super) fn commit(&mut self) -> Result<(), SinkError> {
        self.builder.transaction(&self.draft)
    }

    /// Ends the transaction without an answer.
    pub(super) fn unknown(&mut self) -> Result<(), SinkError> {
        self.draft.outcome = Outcome::Unknown;
        self.builder.transaction(&self.draft)
    }

    pub(super) fn finish(self) -> History {
        self.builder.finish()
    }
}
