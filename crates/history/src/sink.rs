//! Where readers and recorders push what they find.

use crate::draft::TxnDraft;
use crate::error::{SinkError, Warning};
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

    /// The version order of a key, oldest first, as the recorder knows it: one for a key.
    fn version_order(&mut self, key: Key, versions: &[Value]) -> Result<(), SinkError>;

    /// Something the user should know about the source.
    fn warn(&mut self, warning: Warning);
}
