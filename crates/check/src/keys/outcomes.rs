//! Which transactions count: the committed ones, and those that somebody saw.
//!
//! A transaction of unknown outcome counts if one that counts has read from it, and from nobody else
//! could it have read that. A fixpoint, since the reader may be such a transaction itself.

use isolde_history::{History, Outcome};

use crate::keys::context::Context;
use crate::keys::key_facts::KeyFacts;
use crate::counting_sort::Groups;
use crate::parallel;
use crate::keys::provenance;

/// What is known of a transaction's outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Play {
    /// It committed.
    In,
    /// Its outcome is unknown, but a transaction that counts has read from it.
    Proved,
    /// It was rolled back.
    Out,
    /// Its outcome is unknown, and nobody is known to have read from it: it may be left out.
    Open,
}

impl Play {
    /// Whether the transaction counts.
    #[inline]
    pub(crate) const fn counts(self) -> bool {
        matches!(self, Play::In | Play::Proved)
    }
}

/// Before anything is known of who read from whom.
pub(crate) fn at_first(history: &History) -> Vec<Play> {
    let play = |outcome: &Outcome| match outcome {
        Outcome::Committed => Play::In,
        Outcome::Aborted => Play::Out,
        Outcome::Unknown => Play::Open,
    };
    history.txn_outcomes().iter().map(play).collect()
}

/// Finds out which transactions of unknown outcome count.
pub(crate) fn prove(context: &mut Context<'_>) {
    if !context.play.contains(&Play::Open) {
        return;
    }
    // Who proves whom does not depend on who counts, only whether the proof is worth anything does.
    let pieces = context.index.pieces();
    let proofs = parallel::map(context.index.size, &pieces, |keys| {
        let (mut facts, mut proofs) = (KeyFacts::default(), Vec::new());
        for key in keys.clone() {
            facts.load(context, key);
            provenance::proofs(context, &facts, &mut proofs);
        }
        proofs
    })
    .concat();
    let by_reader = Groups::new(proofs.len(), context.play.len(), |i| proofs[i].0.index());
    let play = &mut context.play;
    let mut todo: Vec<usize> = (0..play.len()).filter(|&t| play[t].counts()).collect();
    while let Some(reader) = todo.pop() {
        for &proof in by_reader.of(reader) {
            let writer = proofs[proof as usize].1.index();
            if play[writer] == Play::Open {
                play[writer] = Play::Proved;
                context.proved_by.insert(proofs[proof as usize].1, proofs[proof as usize].0);
                todo.push(writer);
            }
        }
    }
}
