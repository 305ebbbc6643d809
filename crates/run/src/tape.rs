//! Where a run is recorded.

use std::io::Write;

use isolde_history::{
    Event, HistoryBuilder, JsonlWriter, Key, Meta, NativeWriter, Pool, Sink, SinkError, TxnDraft,
    Value, Warning,
};

/// A sink that can be told to bring what it has to safety.
pub trait Tape: Sink + Send {
    /// Whatever happens to this process from now on, what was recorded so far is kept.
    fn save(&mut self) -> Result<(), SinkError>;

    /// For the moment there is nothing more to record.
    fn rest(&mut self) {}
}

impl<W: Write + Send> Tape for NativeWriter<W> {
    fn save(&mut self) -> Result<(), SinkError> {
        self.flush_block()
    }
}

impl<W: Write + Send> Tape for JsonlWriter<W> {
    fn save(&mut self) -> Result<(), SinkError> {
        self.flush()
    }
}

/// Keeps the history in memory only.
impl Tape for HistoryBuilder {
    fn save(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Forgets everything: shows what recording costs.
#[derive(Default)]
pub struct Discard {
    pool: Pool,
    meta: Meta,
}

impl Sink for Discard {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, _: &TxnDraft) -> Result<(), SinkError> {
        Ok(())
    }

    fn event(&mut self, _: Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn version_order(&mut self, _: Key, _: &[Value]) -> Result<(), SinkError> {
        Ok(())
    }

    fn warn(&mut self, _: Warning) {}
}

impl Tape for Discard {
    fn save(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
