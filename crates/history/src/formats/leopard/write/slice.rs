//! An array of operations on its way to a file, and the words for what cannot be in it.

use std::io::Write;

use crate::error::SinkError;
use crate::notation::write_value;
use crate::pool::Pool;
use crate::value::Value;

/// How much is gathered before it is written.
const CHUNK: usize = 1 << 16;

/// A slice.
pub(super) struct Slice<'o> {
    out: &'o mut dyn Write,
    bytes: Vec<u8>,
    any: bool,
}

impl<'o> Slice<'o> {
    pub(super) fn new(out: &'o mut dyn Write) -> Slice<'o> {
        Slice { out, bytes: b"[".to_vec(), any: false }
    }

    /// Where the next operation goes.
    pub(super) fn next(&mut self) -> &mut Vec<u8> {
        self.bytes.extend_from_slice(if self.any { b",\n" } else { b"\n" });
        self.any = true;
        &mut self.bytes
    }

    /// Writes what has been gathered, if it is worth it.
    pub(super) fn flush_some(&mut self) -> Result<(), SinkError> {
        if self.bytes.len() > CHUNK {
            self.out.write_all(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), SinkError> {
        self.bytes.extend_from_slice(b"\n]\n");
        self.out.write_all(&self.bytes)?;
        Ok(self.out.flush()?)
    }
}

pub(super) fn refuse(what: impl std::fmt::Display) -> SinkError {
    SinkError::Refused(format!("leopard cannot hold it: {what}"))
}

/// A value as messages write it.
pub(super) fn show(pool: &Pool, value: Value) -> String {
    let mut text = String::new();
    write_value(pool, value, &mut text);
    text
}
