//! Reads of a value that several wrote: each way to match them is tried, while they are few.
//!
//! The history holds if one way explains it. It is violated if no way does. Where a way stays open,
//! or there are too many, so does the answer.

use hashbrown::HashSet;
use isolde_history::{OpId, TxnId};
use isolde_spec::{Answer, Promise, Verdict, Witness};

use crate::checker::Checker;
use crate::keys::context::Context;
use crate::keys::origin::Choices;
use crate::keys::key_facts::KeyFacts;
use crate::keys::findings::Doubt;
use crate::keys::origin::Origin;
use crate::keys::provenance;
use crate::keys::wording::Wording;

/// How many ambiguous reads may have a choice, with those whose choice made others ambiguous.
const MAX_READS: usize = 8;
/// How many ways are tried.
const MAX_WAYS: usize = 64;
/// How many operations may be looked at in all ways together.
const MAX_WORK: usize = 4_000_000;

/// Decides by trying all ways to match ambiguous reads; `None` if there are none, or too many, or they
/// do not decide.
pub(crate) fn decide(checker: &Checker<'_>, promise: Promise, doubts: &[Doubt]) -> Option<Verdict> {
    let context = &checker.context;
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
    let work = ways.checked_mul(context.history.op_count())?;
    if ways == 0 || ways > MAX_WAYS || work > MAX_WORK {
        return None;
    }
    let mut first = None;
    let mut open = false;
    // What shows the violation is one witness of every way, and what there is to match.
    let txn = |op: OpId| context.history.txn_of(op);
    let writers = options.iter().flat_map(|(_, origins)| origins).filter_map(|o| o.write());
    let mut involved: HashSet<TxnId> = writers.chain(reads.iter().copied()).map(txn).collect();
    for way in 0..ways {
        let mut number = way;
        let mut choices = context.choices.clone();
        for (op, origins) in &options {
            choices.insert(*op, origins[number % origins.len()]);
            number /= origins.len();
        }
        let mut verdict = try_way(checker, promise, choices);
        let words = Wording(context.history);
        verdict.notes.extend(reads.iter().map(|op| words.doubt(&Doubt::AmbiguousRead(*op))));
        match &verdict.answer {
            Answer::Holds => return Some(verdict),
            Answer::Violated(_) => {
                involved
                    .extend(verdict.witnesses().first().into_iter().flat_map(Witness::involved));
                first = first.or(Some(verdict));
            }
            Answer::Unknown(_) => open = true,
        }
    }
    let mut verdict = first.filter(|_| !open)?;
    if let Answer::Violated(witnesses) = &mut verdict.answer {
        witnesses.truncate(1);
        for witness in witnesses {
            witness.support =
                involved.iter().copied().filter(|t| !witness.txns.contains(t)).collect();
            witness.support.sort_unstable();
        }
    }
    verdict.notes.push(format!(
        "{} reads are of values that several wrote; none of the {ways} ways to match them explains \
         the history, and the witness is one of the first",
        reads.len()
    ));
    Some(verdict)
}

fn try_way(checker: &Checker<'_>, promise: Promise, choices: Choices) -> Verdict {
    let mut context = Context::with_choices(checker.context.history, choices);
    context.direct_pairs = checker.options.direct_pairs;
    Checker::of(context, checker.options).check(promise)
}

/// Who may have written what a read returned.
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
