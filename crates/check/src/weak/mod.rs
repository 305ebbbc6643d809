//! The levels below snapshot isolation whose axioms do not speak of the commit order: read
//! uncommitted, `pl-2`, read committed, read atomic, causal.
//!
//! What such a level makes binding for a read depends on reads and sessions only. So every edge of
//! the commit order that it forces can be told in one pass, and the level holds if they have no
//! cycle: any order that the graph allows explains the history.

mod base;
mod causal;
mod chains;
mod explain;
mod forced;
mod forcing;
mod path;
mod reads;

use isolde_history::TxnId;
use isolde_spec::{Anomaly, Answer, Edges, Level, Procedure, Promise, Verdict};

pub(crate) use base::Base;

use self::causal::Causal;
use self::chains::{Chains, topological};
use self::forced::{Forcing, LastWriters, Sources, Statements};
use self::reads::{INITIAL, Seen};
use crate::unordered::ambiguous;
use crate::checker::{Checker, Sorted};
use crate::keys::context::Context;
use crate::graph::edges::EdgeList;
use crate::keys::findings::Doubt;
use crate::parallel;
use crate::keys::standing::Standing;
use crate::explain::hunt::{self, Violations};
use crate::keys::wording::Wording;

/// An edge that the level forces.
pub(crate) const FORCED: Edges = Edges(1 << 5);

/// How many reads times chains causal consistency may ask about: half a minute.
const MAX_QUESTIONS: u64 = 1 << 36;

/// Whether a level is one of these.
pub(crate) fn decides(level: Level) -> bool {
    matches!(
        level,
        Level::ReadUncommitted
            | Level::Pl2
            | Level::ReadCommitted
            | Level::ReadAtomic
            | Level::Causal
    )
}

/// Decides one of these levels.
pub(crate) fn decide(checker: &Checker<'_>, promise: Promise) -> Verdict {
    let session_order = promise.session_order && promise.level.implies(Level::ReadCommitted);
    Question { checker, base: checker.weak(), level: promise.level, session_order }.decide(promise)
}

/// What causal consistency forbids between transactions, if there is any.
pub(crate) fn causal_cycles(checker: &Checker<'_>, session_order: bool) -> Violations {
    let question = Question { checker, base: checker.weak(), level: Level::Causal, session_order };
    match question.graph(&mut Procedure::default()) {
        Ok((sorted, told)) => explain::witnesses(&question, &sorted, &told),
        Err(_) => Violations::default(),
    }
}

/// A question about one level.
pub(crate) struct Question<'c, 'h> {
    pub(crate) checker: &'c Checker<'h>,
    pub(crate) base: &'c Base,
    pub(crate) level: Level,
    /// Whether session order counts: it does not on Adya's levels.
    pub(crate) session_order: bool,
}

/// What a level forces.
pub(crate) struct ForcedEdges {
    pub(crate) edges: EdgeList,
    /// ReadTable of the initial state by those who had seen somebody who wrote the key.
    pub(crate) missed: Vec<(u32, Seen)>,
    pub(crate) missed_count: u64,
}

/// How many of them are kept for each piece of work.
const KEEP: usize = 1000;

impl ForcedEdges {
    fn new(context: &Context<'_>) -> ForcedEdges {
        ForcedEdges { edges: context.edges(), missed: Vec::new(), missed_count: 0 }
    }
}

impl Forcing for ForcedEdges {
    #[inline]
    fn force(&mut self, writer: u32, seen: &Seen) {
        if seen.source != INITIAL {
            self.edges.push(writer, seen.source, FORCED);
            return;
        }
        self.missed_count += 1;
        if self.missed.len() < KEEP {
            self.missed.push((writer, *seen));
        }
    }
}

impl<'c, 'h> Question<'c, 'h> {
    pub(crate) fn context(&self) -> &'c Context<'h> {
        &self.checker.context
    }

    fn decide(&self, promise: Promise) -> Verdict {
        let found = &self.base.reads.found;
        let mut all = hunt::local(self.checker, promise, found);
        let mut procedure = self.procedure();
        let graph = self.graph(&mut procedure);
        if let Ok((sorted, told)) = &graph {
            let found = explain::witnesses(self, sorted, told);
            procedure.figures.extend(&found.figures);
            all.append(found);
        }
        let mut given_up = graph.err();
        if self.level == Level::ReadUncommitted {
            given_up = given_up.or(self.uncommitted(&mut all));
        }
        let doubts = self.doubts();
        if all.witnesses.is_empty()
            && !doubts.is_empty()
            && let Some(verdict) = ambiguous::decide(self.checker, promise, &doubts)
        {
            return verdict;
        }
        let answer = self.answer(promise, &mut all, given_up, &doubts);
        let notes = hunt::notes(self.checker, found);
        Verdict { promise, answer, counts: all.counts, notes, procedure }
    }

    fn answer(
        &self,
        promise: Promise,
        all: &mut Violations,
        given_up: Option<String>,
        doubts: &[Doubt],
    ) -> Answer {
        if !all.witnesses.is_empty() {
            return Answer::Violated(std::mem::take(&mut all.witnesses));
        }
        let words = Wording(self.context().history);
        let reason = given_up.or_else(|| doubts.first().map(|first| words.doubts(first, doubts)));
        match reason {
            None => Answer::Holds,
            Some(_) if self.checker.stronger_holds(promise) => Answer::Holds,
            Some(reason) => Answer::Unknown(reason),
        }
    }

    /// What uncommitted writes leave open, if they may be read. A read does not prove then that its
    /// source committed: lists may show elements that were rolled back in the end. And lists that show
    /// a part of what somebody appended do not say where the rest goes.
    fn uncommitted(&self, all: &mut Violations) -> Option<String> {
        let context = self.context();
        let findings = &self.base.reads.found.findings;
        let ordered = !self.base.reads.orders.is_empty();
        let partial = ordered && findings.iter().any(|f| f.anomaly == Anomaly::IntermediateRead);
        let open = |txn: TxnId| context.standings[txn.index()] == Standing::Proved;
        let before = all.witnesses.len();
        all.witnesses.retain(|w| match w.anomaly {
            Anomaly::G0 => !partial && !w.involved().any(open),
            Anomaly::IncompatibleOrder => !w.involved().any(open),
            _ => !w.txns.iter().any(|txn| open(*txn)),
        });
        let left = &all.witnesses;
        all.counts.retain(|c| left.iter().any(|w| w.anomaly == c.anomaly));
        let reason = "it rests on reads of what may not have been committed";
        // Lists alone can be put in some order, but what the recorder gave may contradict it.
        let contested = partial && !context.given.is_empty();
        (contested || all.witnesses.len() < before).then(|| reason.to_owned())
    }

    /// What keeps the level from being certain. Read uncommitted does not care who wrote what was read.
    fn doubts(&self) -> Vec<Doubt> {
        let sources =
            |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_) | Doubt::UnknownWriter(_));
        let all = self.base.reads.found.doubts.iter();
        let known = |play: &Standing| matches!(play, Standing::Committed | Standing::RolledBack);
        // Who wrote it says who committed, if that is not known.
        let indifferent =
            self.level == Level::ReadUncommitted && self.context().standings.iter().all(known);
        let matters = |doubt: &&Doubt| !indifferent || !sources(doubt);
        all.filter(matters).copied().collect()
    }

    // ---- the graph ----

    /// Everything that must come before something else, and what was missed; or why that is too much.
    fn graph(&self, procedure: &mut Procedure) -> Result<(Sorted, Vec<ForcedEdges>), String> {
        let context = self.context();
        let told = self.told()?;
        let mut edges: Vec<&EdgeList> = self.base.reads.orders.iter().collect();
        if self.level != Level::ReadUncommitted {
            edges.extend(self.base.write_read(context));
        }
        edges.extend(self.session_order.then(|| self.base.session_order(context)));
        edges.extend(told.iter().map(|told| &told.edges));
        let sorted = Sorted::new(context.standings.len(), &edges);
        let forced: usize = told.iter().map(|told| told.edges.len()).sum();
        procedure.figures.extend([
            ("nodes", sorted.graph.node_count() as u64),
            ("edges", sorted.graph.edge_count() as u64),
            ("inferred edges", forced as u64),
        ]);
        Ok((sorted, told))
    }

    /// What the level forces.
    fn told(&self) -> Result<Vec<ForcedEdges>, String> {
        Ok(match self.level {
            Level::ReadCommitted | Level::ReadAtomic => self.by_sessions(),
            Level::Causal => self.by_chains()?,
            _ => Vec::new(),
        })
    }

    fn by_sessions(&self) -> Vec<ForcedEdges> {
        let context = self.context();
        let by_txn = self.base.by_txn(context);
        let history = context.history;
        let sessions = self.base.session_pieces(context);
        let committed = self.level == Level::ReadCommitted;
        let in_session = !committed && self.session_order;
        parallel::map(context.index.size, &sessions, |sessions| {
            let mut told = ForcedEdges::new(context);
            let mut statements = Statements::new(history);
            let mut sources = Sources::default();
            let keys = if in_session { history.key_count() } else { 0 };
            let mut last = LastWriters::new(keys);
            for session in sessions.clone().map(isolde_history::SessionId) {
                last.begin(session);
                forced::each_of_session(context, session, |txn| {
                    if committed {
                        forced::committed(by_txn, txn, &mut statements, &mut sources, &mut told);
                        return;
                    }
                    forced::atomic(by_txn, txn, &mut sources, &mut told);
                    if in_session {
                        forced::in_session(context, by_txn, txn, &mut last, &mut told);
                    }
                });
            }
            told
        })
    }

    fn by_chains(&self) -> Result<Vec<ForcedEdges>, String> {
        let context = self.context();
        let sorted = self.base.causes(context, self.session_order);
        if !sorted.components.acyclic() {
            // What comes before what is not even an order.
            return Ok(Vec::new());
        }
        let order = topological(sorted);
        let by_txn = self.base.by_txn(context);
        let chains = Chains::new(context, by_txn, &order, self.session_order);
        let reads = &self.base.reads;
        if reads.len() as u64 * chains.count as u64 > MAX_QUESTIONS {
            return Err(format!(
                "{} reads and {} chains of transactions are too many",
                reads.len(),
                chains.count
            ));
        }
        let causal = Causal { reads, chains: &chains, graph: &sorted.graph, order: &order };
        Ok(causal.force(context, || ForcedEdges::new(context)))
    }

    // ---- what ran ----

    fn procedure(&self) -> Procedure {
        let history = self.context().history;
        let mut evidence = vec!["values".to_owned()];
        if !self.base.reads.orders.is_empty() {
            evidence.push("order of versions: list prefixes or given by the recorder".to_owned());
        }
        evidence.extend(self.session_order.then(|| "session order".to_owned()));
        let figures = vec![
            ("transactions", history.txn_count() as u64),
            ("operations", history.op_count() as u64),
            ("keys", history.key_count() as u64),
        ];
        let why = match self.level {
            Level::ReadUncommitted => "only the order of versions that was shown counts",
            Level::Pl2 => "only reads and the order of versions that was shown count",
            _ => "what a read makes binding does not depend on the order of commits",
        };
        Procedure { name: "axiom", evidence, why: why.to_owned(), figures }
    }
}
