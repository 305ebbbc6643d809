//! Transaction histories: one model, every format.
//!
//! A [`History`] is what clients of a database saw: sessions that run transactions, transactions
//! that run statements, statements that read and write keys; and beside the values whatever other
//! evidence there is (intervals, timestamps, snapshots, a version order). This crate knows nothing
//! of isolation levels or of databases: it reads, holds and writes.

#[cfg(test)]
pub(crate) mod arbitrary;
mod attributes;
mod builder;
mod columns;
mod copies;
mod copy;
mod draft;
mod draft_view;
mod error;
mod evidence;
mod evidence_names;
mod format;
pub mod formats;
mod group;
mod history;
mod ids;
mod in_order;
#[cfg(feature = "files")]
mod input_limits;
pub mod jsonl;
mod labels;
mod lazy;
mod lost_commit;
mod lost_txns;
mod meta;
mod native;
pub mod notation;
mod op;
#[cfg(feature = "files")]
mod open;
mod parts;
mod pool;
mod printable;
mod remap;
mod replay;
#[cfg(test)]
mod round_trip;
mod same;
mod session_event;
mod sink;
mod source;
mod stream_promise;
mod summary;
pub mod text;
#[cfg(feature = "files")]
mod unpack;
mod value;

pub use attributes::{Entity, names};
pub use builder::{HistoryBuilder, Warnings};
pub use copies::Copies;
pub use draft::TxnDraft;
pub use draft_view::DraftStmt;
pub use error::{Fault, Position, ReadError, SinkError, Warning};
pub use evidence::{EndedAt, ErrorClass, Interval, LockMode, Outcome, Snapshot, Timestamp};
pub use evidence_names::EvidenceNames;
pub use format::Format;
pub use formats::FORMATS;
pub use history::{History, Stmt, Txn};
pub use ids::{Key, OpId, SessionId, StmtId, TxnId};
#[cfg(feature = "files")]
pub use input_limits::InputLimits;
pub use jsonl::{JsonlWriter, read_lines};
pub use lost_commit::LostCommit;
pub use meta::{Clock, Event, InitialState, Meta, info};
pub use native::{Followed, NativeFollower, NativeWriter, pack_history};
pub use op::{Effect, Op, OpKind};
pub use parts::HistoryPart;
pub use pool::Pool;
pub use printable::printable;
pub use replay::Replay;
pub use session_event::SessionEvent;
pub use sink::Sink;
pub use source::{Input, Source};
pub use stream_promise::StreamPromise;
pub use summary::{Evidence, Summary};
pub use value::{Datum, Value, Values};
