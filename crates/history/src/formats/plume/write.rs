//! From a history to text.

use std::io::Write;

use crate::history::History;
use crate::sink::SinkError;

pub(super) fn write(_history: &History, _out: &mut dyn Write) -> Result<(), SinkError> {
    Err(SinkError::Refused("not yet".to_owned()))
}
