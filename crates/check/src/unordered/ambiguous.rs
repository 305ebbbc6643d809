//! Reads of a value that several transactions wrote: the ways to match them are tried, while they are
//! few.
//!
//! One read is matched after the other, and the question is asked anew with each choice. The history
//! holds if one way explains it. It is violated if no way does: choices that break the promise,
//! whatever the reads after them returned, end a way early. Where a way stays open, or there are too
//! many, so does the answer.

use std::cell::Cell;

use hashbrown::HashSet;
use isolde_history::{History, OpId, TxnId};
use isolde_spec::{Answer, Verdict, Witness};

use crate::keys::context::Context;
use crate::keys::findings::Doubt;
use crate::keys::key_facts::KeyFacts;
use crate::keys::origin::{Choices, Origin};
use crate::keys::provenance;
use crate::keys::wording::Wording;

/// How many ambiguous reads may have a choice, with those that a choice made ambiguous.
const MAX_READS: usize = 12;

/// What may be tried in all ways to match ambiguous reads of one question together. A choice may make
/// other reads ambiguous, because it makes a transaction of unknown outcome count: the ways to match
/// those are tried inside each way, and share what is left.
pub(crate) struct WaysLeft {
    ways: Cell<usize>,
    operations: Cell<usize>,
}

/// How many ways are tried.
const MAX_WAYS: usize = 256;
/// How many operations may be looked at in all ways together.
const MAX_WORK: usize = 1_000_000;
/// How many operations a history may have to be worth every effort.
const SMALL: usize = 2_000;

/// Whether a history is worth every effort: each question has all its ways, whatever else was asked.
pub(crate) fn is_small(history: &History) -> bool {
    history.op_count() <= SMALL
}

impl Default for WaysLeft {
    fn default() -> WaysLeft {
        WaysLeft { ways: Cell::new(MAX_WAYS), operations: Cell::new(MAX_WORK) }
    }
}

impl WaysLeft {
    /// For another question.
    pub(crate) fn refill(&self) {
        let all = WaysLeft::default();
        self.ways.set(all.ways.get());
        self.operations.set(all.operations.get());
    }

    /// Takes one way off what is left, if there is one.
    fn take(&self, operations: usize) -> Option<()> {
        let left = self.ways.get().checked_sub(1)?;
        let work = self.operations.get().checked_sub(operations)?;
        self.ways.set(left);
        self.operations.set(work);
        Some(())
    }
}

/// Decides by trying where ambiguous reads may have come from; `None` if there are none, or too many, or
/// that does not decide. `check` decides the question for some choices, and tries the reads that are
/// still ambiguous then: where some choices alone break the promise, the others need not be made.
pub(crate) fn decide(
    context: &Context<'_>,
    doubts: &[Doubt],
    left: &WaysLeft,
    mut check: impl FnMut(Choices) -> Verdict,
) -> Option<Verdict> {
    // Other doubts stay doubts in every way, but a violation does not need them.
    let ambiguous = doubts.iter().filter_map(|doubt| match doubt {
        Doubt::AmbiguousRead(op) => Some(*op),
        _ => None,
    });
    let reads: Vec<OpId> = ambiguous.take(MAX_READS + 1).collect();
    if reads.len() < doubts.len() && !is_small(context.history) {
        return None;
    }
    if context.choices.len() + reads.len() > MAX_READS {
        return None;
    }
    // The read with the fewest possible writers first: there is least to try.
    let options = reads.iter().map(|op| (*op, candidates(context, *op)));
    let (read, origins) = options.min_by_key(|(_, origins)| origins.len())?;
    let mut first = None;
    let mut open = origins.is_empty();
    // What shows the violation is one witness of every way, and the writers there are to choose from.
    let txn = |op: OpId| context.history.txn_of(op);
    let writers = origins.iter().filter_map(|o| o.write());
    let mut involved: HashSet<TxnId> = writers.chain([read]).map(txn).collect();
    for origin in origins {
        left.take(context.history.op_count())?;
        let mut choices = context.choices.clone();
        choices.insert(read, origin);
        let verdict = check(choices);
        match &verdict.answer {
            Answer::Holds => return Some(told(context, &reads, verdict)),
            Answer::Violated(_) => {
                let witness = verdict.witnesses().first();
                involved.extend(witness.into_iter().flat_map(Witness::involved));
                first = first.or(Some(verdict));
            }
            // The other ways may still explain the history, but not show that none does.
            Answer::NoViolation { .. } | Answer::Unknown(_) => open = true,
        }
    }
    let verdict = first.filter(|_| !open)?;
    Some(told(context, &reads, no_way(verdict, &involved)))
}

/// The verdict with what has to be said of ambiguous reads, once for all of them.
fn told(context: &Context<'_>, reads: &[OpId], mut verdict: Verdict) -> Verdict {
    if !context.choices.is_empty() {
        return verdict;
    }
    let words = Wording(context.history);
    verdict.notes.extend(reads.iter().map(|op| words.doubt(&Doubt::AmbiguousRead(*op))));
    if verdict.holds() == Some(false) {
        let (count, are) = match reads.len() {
            1 => ("1 read".to_owned(), "is of a value"),
            n => (format!("{n} reads"), "are of values"),
        };
        verdict.notes.push(format!(
            "{count} {are} that several transactions wrote; no way to match reads and writers \
             explains the history, and the witness shows the first way"
        ));
    }
    verdict
}

/// The verdict if no way explains the history: that of the first, whose witness needs those of all.
fn no_way(mut verdict: Verdict, involved: &HashSet<TxnId>) -> Verdict {
    if let Answer::Violated(witnesses) = &mut verdict.answer {
        witnesses.truncate(1);
        for witness in witnesses {
            witness.support =
                involved.iter().copied().filter(|t| !witness.txns.contains(t)).collect();
            witness.support.sort_unstable();
        }
    }
    verdict
}

/// Where an ambiguous read may have come from.
fn candidates(context: &Context<'_>, op: OpId) -> Vec<Origin> {
    let mut facts = KeyFacts::default();
    let key = context.history.op(op).key();
    if key.index() >= context.history.key_count() {
        return Vec::new();
    }
    context.load(&mut facts, key.index());
    let read = facts.reads.iter().find(|read| read.op == op);
    read.map(|read| provenance::origins(context, &facts, read)).unwrap_or_default()
}
