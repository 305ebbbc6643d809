//! What all threads of a run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use isolde_target::{Offer, Target};

use crate::clock::RunClock;
use crate::confirmed::Confirmed;
use crate::options::Options;
use crate::paths::Paths;
use crate::tables::Tables;
use crate::tally::Tally;

/// What all sessions of a run share. It borrows nothing: a session that hangs inside the database cannot
/// be ended, and outlives the run.
pub(crate) struct Shared {
    pub(crate) target: Arc<dyn Target>,
    pub(crate) offer: Offer,
    pub(crate) options: Options,
    pub(crate) sessions: u32,
    pub(crate) rows: u32,
    pub(crate) paths: Paths,
    pub(crate) tables: Tables,
    pub(crate) tally: Tally,
    pub(crate) clock: RunClock,
    /// How far the database has come, where it tells timestamps or snapshots.
    pub(crate) confirmed: Confirmed,
    /// The number of the next session in the record.
    pub(crate) next_session: AtomicU32,
    /// Whether sessions remember what they saw, which only compare-and-set asks for.
    pub(crate) remembers: bool,
    /// Set when sessions hang and are left behind: the recorder does not wait for what
    /// they would still record.
    pub(crate) abandoned: AtomicBool,
}

impl Shared {
    /// Whether all sessions talk to one server.
    pub(crate) fn one_server(&self) -> bool {
        self.target.node_of(0).is_none()
    }

    /// Whether something goes wrong on purpose.
    pub(crate) fn harmed(&self) -> bool {
        !self.options.faults.is_empty()
    }
}
