//! Nothing is seen of a transaction before it is told to commit.
//!
//! A history without times cannot tell: there, a transaction that read one write of another one and not the next is
//! lawful at read committed, whether or not the other one had ended. Here it is known: steps are sent one at a time.

use crate::case::Case;
use crate::observation::{Observation, versions_in};
use crate::plan::{At, Plan, Step, Turn};
use crate::versions::Versions;
use crate::written::all_seen;

/// A row was seen as a transaction had written it that was still under way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EarlyRead {
    /// The statement that saw it, by itself or by the reads right before it.
    pub reader: At,
    /// The statement that had written it.
    pub writer: At,
}

/// All that were seen too early, each pair of statements once. The plan has to have settled: then its order is that in which
/// the steps were done.
pub fn early_reads(
    case: &Case,
    plan: &Plan,
    observation: &Observation,
    versions: &Versions,
) -> Vec<EarlyRead> {
    let place = |turn: Turn| plan.turns().iter().position(|other| *other == turn);
    let mut found: Vec<EarlyRead> = Vec::new();
    for reader in plan.statements() {
        let read_at = place(Turn { txn: reader.0, step: Step::Statement(reader.1) });
        for (table, rows) in all_seen(case, reader, observation.of(reader)) {
            for (_, version) in versions_in(rows) {
                let Some(writer) = versions.writer(table, version) else { continue };
                let end = place(Turn { txn: writer.0, step: Step::End });
                let is_early = end.is_none_or(|end| read_at.is_some_and(|read| read < end));
                let early = EarlyRead { reader, writer };
                if writer.0 != reader.0 && is_early && !found.contains(&early) {
                    found.push(early);
                }
            }
        }
    }
    found
}
