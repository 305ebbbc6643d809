//! A question about the axiom of a weak level, and the edges that it forces.

use isolde_history::TxnId;
use isolde_spec::Level;

use super::base::Base;
use super::forced::Forcing;
use super::reads::{INITIAL, Seen};
use crate::graph::edges::{TxnEdges, no_edges};
use crate::graph::kinds::EdgeKinds;
use crate::keys::context::Context;
use crate::question::Question;

/// A question about the axiom of one level, on behalf of the same or a stronger one.
pub(crate) struct AxiomQuestion<'c, 'h> {
    pub(crate) question: Question<'c, 'h>,
    pub(crate) base: &'c Base,
    pub(crate) level: Level,
    /// Whether session order counts: it does not on Adya's levels.
    pub(crate) session_order: bool,
}

/// What a level forces.
pub(crate) struct ForcedEdges {
    pub(crate) edges: TxnEdges,
    /// Reads of the initial state by transactions that had seen one that wrote the key.
    pub(crate) missed: Vec<(u32, Seen)>,
    pub(crate) missed_count: u64,
}

/// How many of them are kept for each piece of work.
const KEEP: usize = 1000;

impl ForcedEdges {
    pub(crate) fn new(context: &Context<'_>) -> ForcedEdges {
        ForcedEdges { edges: no_edges(context), missed: Vec::new(), missed_count: 0 }
    }
}

impl Forcing for ForcedEdges {
    #[inline]
    fn force(&mut self, writer: u32, seen: &Seen) {
        if seen.source != INITIAL {
            self.edges.push(TxnId(writer).into(), TxnId(seen.source).into(), EdgeKinds::FORCED);
            return;
        }
        self.missed_count += 1;
        if self.missed.len() < KEEP {
            self.missed.push((writer, *seen));
        }
    }
}

impl<'c, 'h> AxiomQuestion<'c, 'h> {
    pub(crate) fn context(&self) -> &'c Context<'h> {
        self.question.context()
    }
}
