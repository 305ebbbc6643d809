//! Which steps of a case are done, and in which order.

use crate::case::Case;

/// A step of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// It begins.
    Begin,
    /// It does this statement.
    Statement(usize),
    /// It ends.
    End,
}

/// A transaction does a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Turn {
    /// Which transaction.
    pub txn: usize,
    /// What it does.
    pub step: Step,
}

/// A statement of a case: of which transaction, and which of its statements.
pub type At = (usize, usize);

/// The steps that are done, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    turns: Vec<Turn>,
}

impl Plan {
    /// All steps of a case, in its order.
    pub fn of(case: &Case) -> Plan {
        let mut done = vec![0; case.transactions.len()];
        let mut turns = Vec::new();
        for txn in &case.order {
            let Some(transaction) = case.transactions.get(*txn) else { continue };
            let step = match done[*txn] {
                0 => Step::Begin,
                n if n <= transaction.statements.len() => Step::Statement(n - 1),
                n if n == transaction.statements.len() + 1 => Step::End,
                _ => continue,
            };
            done[*txn] += 1;
            turns.push(Turn { txn: *txn, step });
        }
        Plan { turns }
    }

    /// These steps.
    pub fn from_turns(turns: Vec<Turn>) -> Plan {
        Plan { turns }
    }

    /// The steps.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The statements, in the order in which they come.
    pub fn statements(&self) -> impl Iterator<Item = At> {
        self.turns.iter().filter_map(|turn| match turn.step {
            Step::Statement(statement) => Some((turn.txn, statement)),
            Step::Begin | Step::End => None,
        })
    }

    /// The same steps in another order: those that are not named come after all others.
    #[must_use]
    pub fn in_order(&self, order: &[Turn]) -> Plan {
        let place = |turn: &Turn| order.iter().position(|t| t == turn).unwrap_or(order.len());
        let mut turns = self.turns.clone();
        turns.sort_by_key(place);
        Plan { turns }
    }

    /// The same steps, of which one and all that its transaction does behind it come after the next end of a transaction
    /// that does not wait itself; nothing, if none ends behind it. Of two that wait for a third one, neither is put behind
    /// the other: they would change places for ever.
    #[must_use]
    pub fn put_off(&self, turn: Turn, waiting: &[usize]) -> Option<Plan> {
        let from = self.turns.iter().position(|other| *other == turn)?;
        let ends = |other: &Turn| other.step == Step::End && !waiting.contains(&other.txn);
        let until = from + self.turns.get(from..)?.iter().position(ends)?;
        let (before, rest) = (self.turns.get(..from)?, self.turns.get(from..=until)?);
        let (own, others): (Vec<Turn>, Vec<Turn>) = rest.iter().partition(|t| t.txn == turn.txn);
        let behind = self.turns.get(until + 1..)?;
        Some(Plan { turns: [before, &others, &own, behind].concat() })
    }

    /// The steps without some statements. A transaction without statements does not begin.
    #[must_use]
    pub fn without(&self, cut: &[At]) -> Plan {
        let is_cut = |turn: &Turn| match turn.step {
            Step::Statement(statement) => cut.contains(&(turn.txn, statement)),
            Step::Begin | Step::End => false,
        };
        let mut turns = self.turns.clone();
        turns.retain(|turn| !is_cut(turn));
        let is_left = |txn: usize| {
            turns.iter().any(|turn| turn.txn == txn && matches!(turn.step, Step::Statement(_)))
        };
        let left: Vec<Turn> = turns.iter().filter(|turn| is_left(turn.txn)).copied().collect();
        Plan { turns: left }
    }
}
