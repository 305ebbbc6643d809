//! What one session does.

use std::sync::Arc;

use crate::application::Numbers;
use crate::mini::Mini;
use crate::pick::Picker;
use crate::plan::TxnPlan;
use crate::random::Random;
use crate::rubis::Rubis;
use crate::tpcc::{Terminal, Tpcc};
use crate::twitter::Twitter;
use crate::{append, cas, general, mix, register};

/// What the scripts of a workload have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) maker: Maker,
    pub(crate) picker: Picker,
    pub(crate) rollbacks: f64,
    /// After how many transactions there is a fresh table; 0: never.
    pub(crate) round: u32,
    pub(crate) sessions: u32,
}

/// How transactions are made up; the number is that of their operations.
#[derive(Debug)]
pub(crate) enum Maker {
    Mini(Mini),
    General(u32),
    Append(u32),
    Cas,
    Register(u32),
    /// With the share of reads.
    Mix(u32, f64),
    Twitter(Twitter),
    Rubis(Rubis),
    Tpcc(Box<Tpcc>),
}

/// What one session does.
#[derive(Clone, Debug)]
pub struct Script {
    shared: Arc<Shared>,
    random: Random,
    /// How many transactions are left in this round.
    left: u32,
    round: u32,
    /// The row that was read or inserted last in this round, for compare-and-set.
    seen: Option<u32>,
    /// For rows that an application inserts.
    numbers: Numbers,
    terminal: Terminal,
}

impl Script {
    pub(crate) fn new(shared: Arc<Shared>, seed: u64, session: u32) -> Script {
        let random = Random::stream(seed, u64::from(session));
        Script {
            left: shared.round,
            random,
            round: 0,
            seen: None,
            numbers: Numbers::new(session, shared.sessions),
            terminal: Terminal::new(session, shared.sessions),
            shared,
        }
    }

    /// The next transaction.
    pub fn next(&mut self, plan: &mut TxnPlan) {
        self.count();
        let Script { shared, random, seen, numbers, terminal, .. } = self;
        plan.steps.clear();
        plan.round = self.round;
        plan.rolls_back = random.chance(shared.rollbacks);
        let (picker, steps) = (&shared.picker, &mut plan.steps);
        match &shared.maker {
            Maker::Mini(mini) => mini.fill(picker, random, steps),
            Maker::General(len) => general::fill(*len, picker, random, steps),
            Maker::Append(len) => append::fill(*len, picker, random, steps),
            Maker::Cas => cas::fill(picker, random, seen, steps),
            Maker::Register(len) => register::fill(*len, picker, random, steps),
            Maker::Mix(len, reads) => mix::fill(*len, *reads, picker, random, steps),
            Maker::Twitter(twitter) => twitter.fill(picker, numbers, random, steps),
            Maker::Rubis(rubis) => rubis.fill(picker, numbers, random, steps),
            Maker::Tpcc(tpcc) => tpcc.fill(terminal, random, steps),
        }
    }

    /// Goes on to a fresh table where the old one has had its share.
    fn count(&mut self) {
        if self.shared.round == 0 {
            return;
        }
        if self.left == 0 {
            self.left = self.shared.round;
            self.round += 1;
            self.seen = None;
        }
        self.left -= 1;
    }
}
