//! Writing histories as Jepsen's EDN.
use crate::history::History;
use crate::sink::SinkError;
use std::io::Write;

pub(super) fn write(_history: &History, _out: &mut dyn Write) -> Result<(), SinkError> {
    Err(SinkError::Refused("not yet".into()))
}
