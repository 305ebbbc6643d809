//! The writer as a sink: for recorders, and for converting without holding a history.

use std::io::Write;

use crate::builder::{Ordered, Warnings};
use crate::draft::TxnDraft;
use crate::error::{SinkError, Warning};
use crate::ids::Key;
use crate::jsonl::write::{self, TxnWriter};
use crate::meta::{Event, Meta};
use crate::pool::Pool;
use crate::sink::Sink;
use crate::value::Value;

/// Writes `.jsonl` as transactions come, each line whole and at once.
///
/// The header is written before the first line, from what [`Sink::meta`] says by then, but always says that
/// transactions are missing. What is different at the end, and that the history is complete, goes into a last
/// line that [`finish`](JsonlWriter::finish) writes. Give it a
/// [`BufWriter`](std::io::BufWriter) unless every line must reach the file as soon as it can.
///
/// ```
/// use isolde_history::{Sink, TxnDraft, Value, jsonl::JsonlWriter};
/// let mut writer = JsonlWriter::new(Vec::new());
/// let mut txn = TxnDraft::default();
/// txn.reset(writer.pool().session(Value::from_u32(1)));
/// txn.write(writer.pool().text_key("x"), Value::from_u32(7));
/// writer.transaction(&txn)?;
/// let file = String::from_utf8(writer.finish()?).unwrap();
/// assert!(file.contains("{\"session\":1,\"ops\":[[\"w\",\"x\",7]]}\n"));
/// assert!(file.ends_with("{\"meta\":{\"complete\":true}}\n"));
/// # Ok::<(), isolde_history::SinkError>(())
/// ```
pub struct JsonlWriter<W: Write> {
    out: W,
    pool: Pool,
    meta: Meta,
    /// What the header said, once it is written.
    header: Option<Meta>,
    txns: TxnWriter,
    line: Vec<u8>,
    ordered: Ordered,
    warnings: Warnings,
}

impl<W: Write> JsonlWriter<W> {
    /// A writer that has written nothing yet.
    pub fn new(out: W) -> JsonlWriter<W> {
        JsonlWriter {
            out,
            pool: Pool::new(),
            meta: Meta::default(),
            header: None,
            txns: TxnWriter::default(),
            line: Vec::new(),
            ordered: Ordered::default(),
            warnings: Warnings::default(),
        }
    }

    /// What the source's reader wanted the user to know; the format has no place for it.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// Passes on what the output holds back.
    pub fn flush(&mut self) -> Result<(), SinkError> {
        Ok(self.out.flush()?)
    }

    /// Writes what has become different since the header, and flushes.
    pub fn finish(mut self) -> Result<W, SinkError> {
        self.begin()?;
        if let Some(before) = &self.header {
            write::trailer(&mut self.line, &self.pool, before, &self.meta)?;
        }
        self.end()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Starts a line, after the header if that is still to be written.
    fn begin(&mut self) -> Result<(), SinkError> {
        self.line.clear();
        if self.header.is_none() {
            // A file that is cut before its last line must not look as if it were whole.
            let header = Meta { complete: false, ..self.meta.clone() };
            write::header(&mut self.line, &self.pool, &header)?;
            self.out.write_all(&self.line)?;
            self.header = Some(header);
            self.line.clear();
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SinkError> {
        Ok(self.out.write_all(&self.line)?)
    }
}

impl<W: Write> Sink for JsonlWriter<W> {
    fn pool(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError> {
        self.begin()?;
        self.txns.line(&mut self.line, &self.pool, txn)?;
        self.end()
    }

    fn event(&mut self, event: Event) -> Result<(), SinkError> {
        self.begin()?;
        write::event(&mut self.line, &self.pool, &event)?;
        self.end()
    }

    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError> {
        self.begin()?;
        write::order(&mut self.line, &self.pool, key, versions)?;
        self.ordered.add(key)?;
        self.end()
    }

    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
}
