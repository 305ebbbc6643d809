//! From simulated transactions to a history, in the order that was asked for.

use isolde_history::{Clock, History, HistoryBuilder, InitialState, Interval, Outcome, Sink};
use isolde_history::{SinkError, TxnDraft, Value};

use super::plan::{Order, Plan};
use super::store::{Act, Running};
use super::value;

/// Takes transactions as they complete.
pub(crate) struct Recorder {
    /// One, or one for each session.
    parts: Vec<HistoryBuilder>,
    intervals: bool,
    draft: TxnDraft,
    list: Vec<Value>,
    count: u64,
}

impl Recorder {
    pub(crate) fn new(plan: &Plan, lists: bool) -> Recorder {
        let parts = if plan.order == Order::Session { plan.sessions } else { 1 };
        let mut parts: Vec<_> = (0..parts).map(|_| HistoryBuilder::new()).collect();
        let initial = if lists { Value::ABSENT } else { value(0) };
        for part in &mut parts {
            part.meta().initial = InitialState::every(initial);
            part.meta().clock = Clock::Events;
        }
        let intervals = !plan.no_intervals;
        Recorder { parts, intervals, draft: TxnDraft::default(), list: Vec::new(), count: 0 }
    }

    /// How many transactions there are so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn record(
        &mut self,
        session: usize,
        txn: &Running,
        end: i64,
        outcome: Outcome,
    ) -> Result<(), SinkError> {
        let part = if self.parts.len() == 1 { 0 } else { session };
        let builder = &mut self.parts[part];
        let draft = &mut self.draft;
        draft.reset(builder.pool().session(value(session as u64)));
        draft.outcome = outcome;
        if self.intervals {
            draft.interval = Interval::new(txn.begin, end);
        }
        for act in &txn.acts {
            match *act {
                Act::Read { key, value: n } => {
                    draft.read(builder.pool().int_key(key as i64), value(n));
                }
                Act::Write { key, value: n } => {
                    draft.write(builder.pool().int_key(key as i64), value(n));
                }
                Act::Append { key, value: n } => {
                    draft.append(builder.pool().int_key(key as i64), value(n));
                }
                Act::ListRead { key, start, end } => {
                    let elements = &txn.elements[start as usize..end as usize];
                    self.list.clear();
                    self.list.extend(elements.iter().map(|n| value(*n)));
                    let key = builder.pool().int_key(key as i64);
                    draft.list_read(key, Some(&self.list))?;
                }
            }
        }
        self.count += 1;
        builder.transaction(draft)
    }

    /// The history, with one part after another; each part is freed as soon as it is in.
    pub(crate) fn finish(self) -> Result<History, SinkError> {
        let mut parts = self.parts.into_iter();
        let mut whole = parts.next().unwrap_or_default();
        for part in parts {
            whole.append(part)?;
        }
        Ok(whole.finish())
    }
}
