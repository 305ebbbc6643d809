//! Endless sources of transactions, and the loop that feeds them to a [`Stream`](isolde_stream::Stream).
//!
//! A source is read by threads of its own: they cut it into lines, decode those into batches, and send them through a
//! bounded channel, so that a source that is too fast is held back. One loop takes the batches and tells what is
//! found. Nothing prints, nothing ends the process; what is wrong with a source is data.

mod acks;
mod address;
mod agreed;
mod decode;
mod disk_thread;
mod error;
mod feed;
mod figures;
mod frame;
mod gather;
mod growing;
mod head;
mod http;
mod inbox;
mod keeper;
mod listen;
mod metrics;
mod native;
mod open;
mod piped;
mod place;
mod receipt;
mod room;
mod said;
mod series;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod watch;

pub use error::WatchError;
pub use figures::Figures;
pub use frame::MAX_LINE;
pub use said::Said;
pub use series::{Sample, Series};
pub use source::WatchSource;
pub use watch::{ChoosePromise, HeldTo, News, Outcome, Watch, WatchPlan};
