//! A whole history, handed to a sink piece by piece, in whatever order the caller likes.

use crate::draft::TxnDraft;
use crate::error::SinkError;
use crate::history::History;
use crate::ids::TxnId;
use crate::meta::Event;
use crate::remap::Remap;
use crate::session_event::around_transactions;
use crate::sink::Sink;
use crate::value::Value;

/// Pushes the pieces of a history into one sink, which need not share its pool. [`History::replay`] pushes all of
/// them in the usual order.
///
/// ```
/// use isolde_history::{HistoryBuilder, Replay, TxnId, notation};
/// let history = notation::parse("a: w(x,1)\nb: w(x,2)").unwrap();
/// let mut backwards = HistoryBuilder::new();
/// let mut replay = Replay::begin(&history, &mut backwards);
/// replay.txn(TxnId(1), &mut backwards)?;
/// replay.txn(TxnId(0), &mut backwards)?;
/// assert_eq!(notation::to_text(&backwards.finish()), "b: w(x,2)\na: w(x,1)\n");
/// # Ok::<(), isolde_history::SinkError>(())
/// ```
pub struct Replay<'h> {
    history: &'h History,
    map: Remap,
    draft: TxnDraft,
}

impl<'h> Replay<'h> {
    /// Tells the sink all names and values, and what is known of the run as a whole.
    pub fn begin(history: &'h History, sink: &mut dyn Sink) -> Replay<'h> {
        let map = sink.pool().adopt(history.pool());
        *sink.meta() = history.meta().mapped(&map);
        Replay { history, map, draft: TxnDraft::default() }
    }

    /// One transaction. The sink must be the one that it began with, here as below.
    pub fn txn(&mut self, txn: TxnId, sink: &mut dyn Sink) -> Result<(), SinkError> {
        self.history.columns().draft(txn.index(), &mut self.draft)?;
        self.draft.remap(&self.map);
        sink.transaction(&self.draft)
    }

    /// One event.
    pub fn event(&self, event: &Event, sink: &mut dyn Sink) -> Result<(), SinkError> {
        sink.event(event.mapped(&self.map))
    }

    /// A value of the history, as the sink has it.
    pub fn value(&self, value: Value) -> Value {
        self.map.value(value)
    }

    /// The version orders of all keys.
    pub fn orders(&self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        for (key, versions) in self.history.version_orders() {
            let versions: Vec<Value> = versions.iter().map(|&v| self.map.value(v)).collect();
            sink.version_order(self.map.key(*key), &versions)?;
        }
        Ok(())
    }
}

impl History {
    /// Pushes the whole history into a sink, which need not share its pool.
    pub fn replay(&self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        let mut replay = Replay::begin(self, sink);
        let (first, last) = around_transactions(self.pool(), self.events());
        for event in first {
            replay.event(event, sink)?;
        }
        for txn in 0..self.txn_count() {
            replay.txn(TxnId(txn as u32), sink)?;
        }
        for event in last {
            replay.event(event, sink)?;
        }
        replay.orders(sink)
    }
}
