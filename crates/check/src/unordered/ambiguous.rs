//! Reads of a value that several wrote: each way to match them is tried, while they are few.
//!
//! The history holds if one way explains it. It is violated if no way does. Where a way stays open,
//! or there are too many, so does the answer.

use std::cell::Cell;

use hashbrown::HashSet;
use isolde_history::{OpId, TxnId};
use isolde_spec::{Answer, Verdict, Witness};

use crate::keys::context::Context;
use crate::keys::findings::Doubt;
use crate::keys::key_facts::KeyFacts;
use crate::keys::origin::{Choices, Origin};
use crate::keys::provenance;
use crate::keys::wording::Wording;

/// How many ambiguous reads may have a choice, with those whose choice made others ambiguous.
const MAX_READS: usize = 8;

/// What may be tried in all ways to match ambiguous reads of one question together. A choice may make
/// other reads ambiguous, because it makes a transaction of unknown outcome count: the ways to match
/// those are tried inside each way, and share what is left.
pub(crate) struct WaysLeft {
    ways: Cell<usize>,
    operations: Cell<usize>,
}

/// How many ways are tried.
const MAX_WAYS: usize = 64;
/// How many operations may be looked at in all ways together.
const MAX_WORK: usize = 4_000_000;

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

    /// Takes so many ways off what is left, if there are as many.
    fn take(&self, ways: usize, operations: usize) -> Option<()> {
        let left = self.ways.get().checked_sub(ways)?;
        let work = self.operations.get().checked_sub(ways.checked_mul(operations)?)?;
        self.ways.set(left);
        self.operations.set(work);
        Some(())
    }
}

/// Decides by trying all ways to match ambiguous reads; `None` if there are none, or too many, or they
/// do not decide. `check` decides the question for some choices.
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
    if reads.is_empty() || context.choices.len() + reads.len() > MAX_READS {
        return None;
    }
    let options: Vec<(OpId, Vec<Origin>)> =
        reads.iter().map(|op| (*op, candidates(context, *op))).collect();
    let ways = options.iter().try_fold(1usize, |all, (_, o)| all.checked_mul(o.len()))?;
    if ways == 0 {
        return None;
    }
    left.take(ways, context.history.op_count())?;
    let mut first = None;
    let mut open = false;
    // What shows the violation is one witness of every way, and what there is to match.
    let txn = |op: OpId| context.history.txn_of(op);
    let writers = options.iter().flat_map(|(_, origins)| origins).filter_map(|o| o.write());
    let mut involved: HashSet<TxnId> = writers.chain(reads.iter().copied()).map(txn).collect();
    for way in 0..ways {
        let mut verdict = check(choices_of(context, &options, way));
        let words = Wording(context.history);
        verdict.notes.extend(reads.iter().map(|op| words.doubt(&Doubt::AmbiguousRead(*op))));
        match &verdict.answer {
            Answer::Holds => return Some(verdict),
            Answer::Violated(_) => {
                let witness = verdict.witnesses().first();
                involved.extend(witness.into_iter().flat_map(Witness::involved));
                first = first.or(Some(verdict));
            }
            // The other ways may still explain the history, but not show that none does.
            Answer::Unknown(_) => open = true,
        }
    }
    let verdict = first.filter(|_| !open)?;
    Some(no_way(verdict, &involved, reads.len(), ways))
}

/// The choices of one of all ways.
fn choices_of(context: &Context<'_>, options: &[(OpId, Vec<Origin>)], way: usize) -> Choices {
    let mut number = way;
    let mut choices = context.choices.clone();
    for (op, origins) in options {
        choices.insert(*op, origins[number % origins.len()]);
        number /= origins.len();
    }
    choices
}

/// The verdict if no way explains the history: that of the first, whose witness needs those of all.
fn no_way(mut verdict: Verdict, involved: &HashSet<TxnId>, reads: usize, ways: usize) -> Verdict {
    if let Answer::Violated(witnesses) = &mut verdict.answer {
        witnesses.truncate(1);
        for witness in witnesses {
            witness.support =
                involved.iter().copied().filter(|t| !witness.txns.contains(t)).collect();
            witness.support.sort_unstable();
        }
    }
    verdict.notes.push(format!(
        "{reads} reads are of values that several wrote; none of the {ways} ways to match them \
         explains the history, and the witness is one of the first"
    ));
    verdict
}

/// Where an ambiguous read may have come from.
fn candidates(context: &Context<'_>, op: OpId) -> Vec<Origin> {
    let mut facts = KeyFacts::default();
    let key = context.history.op(op).key();
    if key.index() >= context.history.key_count() {
        return Vec::new();
    }
    facts.load(context, &context.standings, key.index());
    let read = facts.reads.iter().find(|read| read.op == op);
    read.map(|read| provenance::origins(context, &facts, read)).unwrap_or_default()
}
