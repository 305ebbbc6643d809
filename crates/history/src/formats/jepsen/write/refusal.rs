//! What is said of what the format has no word for.

use crate::error::SinkError;

pub(super) fn refused<T>(what: impl Into<String>) -> Result<T, SinkError> {
    Err(SinkError::Refused(format!("jepsen-edn cannot hold it: {}", what.into())))
}
