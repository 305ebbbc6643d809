//! Transactions that run at the same time: a slot for each of them, and the sessions that wait.

use isolde_history::Outcome;

use super::running::Running;
use crate::plan::TxnPlan;
use crate::random::Random;
use crate::script::Script;

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Empty,
    /// The session goes on with a planted transaction.
    Follows,
    Begun,
    /// The database has decided, and the answer is on its way.
    Decided(Outcome),
}

/// Room for one transaction under way.
#[derive(Default, Debug)]
pub(crate) struct Slot {
    pub(crate) stage: Stage,
    pub(crate) session: u32,
    pub(crate) txn: Running,
    /// What it does, and how much of that it has done.
    pub(crate) plan: TxnPlan,
    pub(crate) done: usize,
    /// A planted transaction that the same session runs next.
    pub(crate) follow: Option<Running>,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) script: Script,
    pub(crate) round: u32,
    /// What it saw last under each row of its table, for compare-and-set.
    pub(crate) seen: Vec<u64>,
}

/// All slots, and the sessions that have none.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) all: Vec<Slot>,
    waiting: Vec<u32>,
}

impl Slots {
    /// So many transactions at a time, of so many sessions.
    pub(crate) fn new(count: u32, sessions: u32) -> Slots {
        let all = (0..count).map(|_| Slot::default()).collect();
        Slots { all, waiting: (0..sessions).collect() }
    }

    /// How many sessions wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Gives an empty slot to a session, whichever; there is one, since a slot is empty.
    #[inline]
    pub(crate) fn seat(&mut self, slot: usize, random: &mut Random) -> &mut Slot {
        let at = random.below(self.waiting.len() as u64) as usize;
        let slot = &mut self.all[slot];
        slot.session = self.waiting.swap_remove(at);
        slot
    }

    /// Empties a slot; its session waits.
    #[inline]
    pub(crate) fn leave(&mut self, slot: usize) {
        let slot = &mut self.all[slot];
        slot.stage = Stage::Empty;
        self.waiting.push(slot.session);
    }

    /// The empty slots, if there are at least so many.
    pub(crate) fn empty(&self, count: usize) -> Option<Vec<usize>> {
        let empty = |slot: &usize| self.all[*slot].stage == Stage::Empty;
        let empty: Vec<usize> = (0..self.all.len()).filter(empty).take(count).collect();
        (empty.len() == count).then_some(empty)
    }
}
