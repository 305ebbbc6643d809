//! One question about one history.

use isolde_history::{Effect, Op, OpId};
use isolde_spec::{Level, Procedure, Promise, Verdict};

use crate::graph::edges::{TxnEdges, TxnParts};
use crate::graph::evidence::{Counts, Evidence, NoGraph};
use crate::graph::key_walk::{KeyWalk, KnownOrders};
use crate::graph::real_time::RealTime;
use crate::graph::visibility::Visibility;
use crate::keys::context::Context;
use crate::keys::standing::Standing;
use crate::keys::wording::Wording;
use crate::limits::{Limit, Limits};
use crate::options::Options;

/// One question about one history, and what it makes of the promise.
#[derive(Clone, Copy)]
pub(crate) struct Question<'c, 'h> {
    pub(crate) evidence: &'c Evidence<'h>,
    pub(crate) promise: Promise,
    /// Whether session order counts: it does not on Adya's levels.
    pub(crate) session_order: bool,
    /// What a transaction sees.
    pub(crate) visibility: Visibility,
    /// Real time, if the level speaks of it.
    pub(crate) real_time: Option<&'c RealTime<'h>>,
}

impl<'c, 'h> Question<'c, 'h> {
    pub(crate) fn new(evidence: &'c Evidence<'h>, promise: Promise) -> Question<'c, 'h> {
        let level = promise.level;
        let session_order = promise.session_order && level.counts_session_order();
        let real_time = level.needs_real_time().then(|| evidence.real_time());
        let visibility = Visibility::of(level);
        Question { evidence, promise, session_order, visibility, real_time }
    }

    pub(crate) fn level(&self) -> Level {
        self.promise.level
    }

    pub(crate) fn context(&self) -> &'c Context<'h> {
        &self.evidence.context
    }

    pub(crate) fn options(&self) -> &'c Options {
        &self.evidence.options
    }

    pub(crate) fn limits(&self) -> &'c Limits<'h> {
        &self.evidence.limits
    }

    pub(crate) fn words(&self) -> Wording<'h> {
        Wording(self.context().history)
    }

    /// What the walk over all keys found.
    pub(crate) fn walk(&self) -> Result<&'c KeyWalk, Limit> {
        self.evidence.walk()
    }

    /// How the orders of keys are known.
    pub(crate) fn orders(&self) -> Result<&'c KnownOrders, Limit> {
        Ok(self.walk()?.orders(self.session_order))
    }

    fn counts(&self) -> Counts {
        let (session_order, real_time) = (self.session_order, self.real_time.is_some());
        Counts { session_order, real_time, adjacent: self.updates_are_adjacent() }
    }

    /// Whether a transaction that read a version of a list and extended it makes the next one: at
    /// repeatable read, and from snapshot isolation up.
    pub(crate) fn updates_are_adjacent(&self) -> bool {
        self.level().implies(Level::SnapshotIsolation) || self.level() == Level::RepeatableRead
    }

    /// All edges that are known, and how many nodes they are between.
    pub(crate) fn known_edges(&self) -> Result<(usize, Vec<&'c TxnEdges>), Limit> {
        self.evidence.known_edges(self.counts())
    }

    /// The graph of what is known.
    pub(crate) fn known_graph(&self) -> Result<&'c TxnParts, NoGraph> {
        self.evidence.known_graph(self.counts())
    }

    /// An operation that failed, of a transaction that may count: it saw something, and did nothing.
    pub(crate) fn failed_operation(&self) -> Option<OpId> {
        let context = self.context();
        let may_count =
            |op: &Op<'_>| context.standing(context.history.txn_of(op.id())) != Standing::RolledBack;
        let mut ops = context.history.ops().filter(|op| op.effect() == Effect::Failed);
        ops.find(may_count).map(|op| op.id())
    }

    /// Whether the history says more than its operations do: version orders, and rows that
    /// predicates missed.
    pub(crate) fn is_beyond_operations(&self) -> bool {
        let context = self.context();
        !context.history.version_orders().is_empty() || !context.predicates.is_empty()
    }

    /// A verdict that looked at operations only. If the history says more, it may be violated for that
    /// reason, too, but it is not known to hold.
    pub(crate) fn of_operations(&self, verdict: Option<Verdict>) -> Option<Verdict> {
        verdict.filter(|v| v.holds() == Some(false) || !self.is_beyond_operations())
    }

    pub(crate) fn has_failed_operations(&self) -> bool {
        self.failed_operation().is_some()
    }

    /// Why "holds" cannot be said of real time, if it cannot.
    pub(crate) fn real_time_is_incomplete(&self) -> Option<String> {
        let time = self.real_time.filter(|rt| !rt.complete)?;
        Some(match time.contradictions.first() {
            Some(txn) => self.words().contradiction(*txn),
            None => {
                "not every transaction has an interval, so real time cannot be checked".to_owned()
            }
        })
    }

    /// What is worth knowing of real time beside the answer.
    pub(crate) fn notes_on_time(&self) -> Vec<String> {
        let words = self.words();
        let wrong = self.real_time.iter().flat_map(|rt| rt.contradictions.iter().take(10));
        wrong.map(|txn| format!("{}: not used", words.contradiction(*txn))).collect()
    }

    /// What ran, with the figures that every procedure has.
    pub(crate) fn procedure(
        &self,
        name: &'static str,
        evidence: Vec<String>,
        why: impl Into<String>,
    ) -> Procedure {
        let history = self.context().history;
        let figures = vec![
            ("transactions", history.txn_count() as u64),
            ("operations", history.op_count() as u64),
            ("keys", history.key_count() as u64),
        ];
        Procedure { name, evidence, why: why.into(), figures, places: Vec::new() }
    }
}
