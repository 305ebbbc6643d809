//! What is recorded, on its way from sessions and faults to the recorder.

use isolde_history::Timestamp;

use crate::attempt::Attempt;
use crate::faults::Happened;

/// What a session says of itself when it has no attempt to tell of. Sessions by their numbers in the
/// record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    /// It has nothing under way at this time.
    Idle { session: u32, at: i64 },
    /// It is through, or its client goes on as another one.
    Over { session: u32, at: i64, next: Option<u32> },
    /// Nothing of it will come with a smaller commit timestamp.
    Past { session: u32, watermark: Timestamp },
}

/// What is recorded.
#[allow(clippy::large_enum_variant, reason = "nearly all of them are attempts")]
pub(crate) enum Note {
    /// An attempt at a transaction.
    Attempt(Attempt),
    /// A fault.
    Happened(Happened),
    /// A heartbeat, a promise or the end of a session.
    Sign(Sign),
}
