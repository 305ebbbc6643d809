//! Where readers and recorders push what they find.

use crate::draft::TxnDraft;
use crate::error::Warning;
use crate::ids::Key;
use crate::meta::{Event, Meta};
use crate::pool::Pool;
use crate::value::Value;

/// Receives a history piece by piece: a builder that keeps it, a writer that passes it on, a
/// checker that forgets it again.
///
/// The sink owns the [`Pool`]; a reader interns names there and hands over identifiers. The order
/// of the transactions of a session is session order; sessions may interleave as they like.
pub trait Sink {
    /// Names and values.
    fn pool(&mut self) -> &mut Pool;

    /// What is known of the run as a whole. May be changed at any time before the end.
    fn meta(&mut self) -> &mut Meta;

    /// One transaction.
    fn transaction(&mut self, txn: &TxnDraft) -> Result<(), SinkError>;

    /// Something on the time line that no client did.
    fn event(&mut self, event: Event) -> Result<(), SinkError>;

    /// The order of a key's versions, oldest first, as the recorder knows it: one for a key.
    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError>;

    /// Something the user should know about the source.
    fn warn(&mut self, warning: Warning);
}

/// Why a sink cannot take more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// One of the model's limits.
    #[error("more than {max} {what}, which is the limit")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The target format has no way to say it.
    #[error("{0}")]
    Refused(String),
    /// The output could not be written.
    #[error("cannot write: {0}")]
    Io(String),
}

impl SinkError {
    pub(crate) const fn limit(what: &'static str, max: u64) -> SinkError {
        SinkError::Limit { what, max }
    }
}

impl From<std::io::Error> for SinkError {
    fn from(e: std::io::Error) -> SinkError {
        SinkError::Io(e.to_string())
    }
}
