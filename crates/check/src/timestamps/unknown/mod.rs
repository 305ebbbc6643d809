//! Transactions of unknown outcome: which of them committed, and when.
//!
//! The answer to their COMMIT was lost, and with it, as a rule, their commit timestamp. Such a transaction may
//! be left out unless a transaction that counts read from it. If it counts, it committed at its timestamp,
//! or, without one, at some point after its start. A history is right if some choice contradicts nothing.
//!
//! Points between two timestamps that matter to the keys of a transaction are all alike, so one of each gap is
//! tried. Transactions that share no key, or cannot have committed at the same time, do not matter to each
//! other ([`groups`]); the others are tried together, the one that was read first
//! first, and a choice is given up as soon as it contradicts something. The number of steps for each group is
//! limited; beyond it, the answer is unknown. Before that, the likeliest choice is taken for all of them at
//! once: then each key is looked at only once, and nearly always nothing is wrong.

mod candidates;
mod groups;
mod points;
mod search;

use isolde_history::TxnId;

use crate::limits::{Limit, Limits};
use crate::timestamps::case::TimedCase;
use crate::timestamps::finding::TimedDoubt;
use crate::timestamps::rules::Ordering;
use crate::timestamps::ticks::Tick;
use candidates::Candidates;
pub(crate) use points::AssumedPoint;
use search::{Search, Solved};

/// What became of the transactions of unknown outcome.
#[derive(Default)]
pub(crate) struct Settled {
    pub(crate) assumed: Vec<AssumedPoint>,
    pub(crate) doubts: Vec<TimedDoubt>,
    /// How many choices were tried.
    pub(crate) tried: u64,
}

/// Decides about all transactions of unknown outcome, and says in the case which committed when.
pub(crate) fn settle(case: &mut TimedCase<'_>, limits: &Limits<'_>) -> Result<Settled, Limit> {
    let mut settled = Settled::default();
    let Some(candidates) = Candidates::new(case, limits)? else { return Ok(settled) };
    for candidate in candidates.all.iter().filter(|candidate| candidate.proved) {
        let start = case.ticks.start_of(candidate.txn);
        if case.ordering == Ordering::Snapshots && start == Tick::NEVER {
            settled.doubts.push(TimedDoubt::NoStart(candidate.txn));
        }
    }
    let groups = groups::of(&candidates, case);
    let mut search = Search::new(candidates);
    for group in search.guess(case, groups, limits)? {
        let mut solved = search.solve(case, &group, limits)?;
        if solved == Solved::Impossible && group.len() > 1 {
            // One may have to commit before another one that touched a key that matters to a third.
            search.widen(&group);
            solved = search.solve(case, &group, limits)?;
            search.narrow();
        }
        match solved {
            Solved::Found => {}
            Solved::Impossible => search.as_read(case, &group),
            Solved::TooMany | Solved::NoRoom => {
                let txns: Vec<TxnId> = search.txns(&group).collect();
                let doubt: fn(TxnId) -> TimedDoubt = match solved {
                    Solved::NoRoom => TimedDoubt::NoRoom,
                    _ => TimedDoubt::NotTried,
                };
                settled.doubts.extend(txns.first().copied().map(doubt));
                case.open.extend(txns);
                case.open.sort_unstable();
            }
        }
    }
    settled.tried = search.tried;
    settled.assumed = search.assumed;
    Ok(settled)
}
