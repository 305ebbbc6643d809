//! What all threads of a run share.

use std::sync::atomic::AtomicU32;

use isolde_target::{Offer, Target};

use crate::clock::RunClock;
use crate::options::Options;
use crate::paths::Paths;
use crate::tables::Tables;
use crate::tally::Tally;

/// What all sessions of a run share.
pub(crate) struct Shared<'r> {
    pub(crate) target: &'r dyn Target,
    pub(crate) offer: &'r Offer,
    pub(crate) options: &'r Options,
    pub(crate) sessions: u32,
    pub(crate) rows: u32,
    pub(crate) paths: Paths,
    pub(crate) tables: Tables<'r>,
    pub(crate) tally: Tally,
    pub(crate) clock: RunClock,
    /// The number of the next session in the record.
    pub(crate) next_session: AtomicU32,
    /// Whether sessions remember what they saw, which only compare-and-set asks for.
    pub(crate) remembers: bool,
}

impl Shared<'_> {
    /// Whether something goes wrong on purpose.
    pub(crate) fn harmed(&self) -> bool {
        !self.options.faults.is_empty()
    }
}
