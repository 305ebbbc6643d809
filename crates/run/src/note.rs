//! What is recorded, on its way from sessions and faults to the recorder.

use crate::attempt::Attempt;
use crate::faults::Happened;

/// What is recorded.
#[allow(clippy::large_enum_variant, reason = "nearly all of them are attempts")]
pub(crate) enum Note {
    /// An attempt at a transaction.
    Attempt(Attempt),
    /// A fault.
    Happened(Happened),
}
