//! Isolation verdicts on an endless stream of transactions, while the database runs (Aion).
//!
//! A [`Stream`] is fed batches of transactions in any order of arrival that keeps sessions, and tells what it finds as
//! numbered events. It has no socket, no thread, and no clock but what it is told: the same batches at the same
//! times give the same events.

mod arrivals;
mod arriving;
mod batch_files;
mod bodies;
mod content;
mod disk;
mod divider;
mod error;
mod event;
mod figures;
mod fingerprint;
pub mod intervals;
mod journal;
mod lost;
mod numbers;
mod pack;
mod pending_heap;
mod places;
mod promises;
mod seen_filter;
mod settings;
mod snapshots;
mod sorted_runs;
mod status;
mod stream;
mod timestamps;
mod unsure;
mod waiting;

pub use arrivals::{Arrivals, SourceId};
pub use disk::Elsewhere;
pub use error::StreamError;
pub use event::{Cause, Correction, Finding, StreamEvent, Told, Trouble};
pub use settings::Settings;
pub use status::{DecidedShare, Status, StreamAnswer};
pub use stream::{Resumed, Stream};
