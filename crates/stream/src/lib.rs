//! Isolation verdicts on an endless stream of transactions, while the database runs (Aion).
//!
//! A [`Stream`] is fed batches of transactions in any order of arrival that keeps sessions, and tells what it finds as
//! numbered events. It has no socket, no thread, and no clock but what it is told: the same batches at the same
//! times give the same events.

mod bodies;
mod content;
mod divider;
mod error;
mod event;
mod figures;
mod numbers;
mod promises;
mod settings;
mod snapshots;
mod spill;
mod status;
mod stream;
mod timestamps;

pub use error::StreamError;
pub use event::{Correction, Finding, StreamEvent, Told, Trouble};
pub use settings::Settings;
pub use status::Status;
pub use stream::Stream;
