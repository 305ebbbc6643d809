//! The verdict of a weak level: from what its axiom forces to cycles of the commit order.

use isolde_graph::{Partitioned, parallel};
use isolde_history::{OpId, OpKind, TxnId};
use isolde_spec::{Anomaly, Answer, Level, Procedure, Verdict};

use super::base::Base;
use super::causal::Causal;
use super::explain;
use super::forced::{self, LastWriters, Sources, Statements};
use super::question::{AxiomQuestion, ForcedEdges};
use crate::explain::local;
use crate::explain::violations::Violations;
use crate::graph::edges::{TxnEdges, TxnParts};
use crate::graph::evidence::NoGraph;
use crate::keys::findings::{Doubt, LocalFinding};
use crate::keys::standing::Standing;
use crate::limits::{Ended, Limit};
use crate::question::Question;

/// How many pairs of a read and a chain causal consistency asks about in a step.
const QUESTIONS_A_STEP: u64 = 1024;

/// Decides a weak level.
pub(crate) fn decide(question: &Question<'_, '_>, base: &Base) -> Result<Verdict, Ended> {
    let session_order = question.session_order;
    AxiomQuestion { question: *question, base, level: question.level(), session_order }.decide()
}

/// What causal consistency forbids, stronger levels do too. It needs no version order, and says in
/// plainer words what else rests on inferred edges: the verdict, if it is broken.
pub(crate) fn by_causality(
    question: &Question<'_, '_>,
    base: &Base,
    why: &str,
) -> Result<Option<Verdict>, Ended> {
    let session_order = question.promise.session_order;
    let causal = AxiomQuestion { question: *question, base, level: Level::Causal, session_order };
    let mut procedure = causal.procedure();
    procedure.why = why.to_owned();
    let (parts, told) = match causal.graph(&mut procedure) {
        Ok(graph) => graph,
        Err(NoGraph::TooLarge) => return Ok(None),
        Err(NoGraph::Limit(limit)) => return Err(causal.ended(limit)),
    };
    let mut found = explain::witnesses(&causal, &parts, &told);
    if found.witnesses.is_empty() {
        return Ok(None);
    }
    procedure.figures.extend(&found.figures);
    procedure.places.append(&mut found.places);
    let answer = Answer::Violated(std::mem::take(&mut found.witnesses));
    let mut notes = local::notes(question, &base.reads.findings);
    notes.extend(question.notes_on_time());
    let promise = question.promise;
    Ok(Some(Verdict { promise, answer, counts: found.counts, notes, procedure }))
}

/// What keeps a weak level from being certain. Read uncommitted does not care which transaction wrote
/// what was read.
pub(crate) fn doubts(question: &Question<'_, '_>, base: &Base) -> Vec<Doubt> {
    let sources =
        |doubt: &Doubt| matches!(doubt, Doubt::AmbiguousRead(_) | Doubt::UnknownWriter(_));
    let known = |s: &Standing| matches!(s, Standing::Committed | Standing::RolledBack);
    // The writer of what was read is known to have committed then, if its outcome was not known.
    let indifferent = question.level() == Level::ReadUncommitted
        && question.context().standings.iter().all(known);
    let matters = |doubt: &&Doubt| !indifferent || !sources(doubt);
    base.reads.findings.doubts.iter().filter(matters).copied().collect()
}

/// How many steps causal consistency takes.
pub(crate) fn causal_steps(question: &Question<'_, '_>, base: &Base) -> Result<u64, NoGraph> {
    let chains = base.chains(question.context(), question.promise.session_order)?;
    let chains = chains.map_or(0, |chains| chains.count as u64);
    Ok((base.reads.len() as u64).saturating_mul(chains) / QUESTIONS_A_STEP)
}

impl AxiomQuestion<'_, '_> {
    fn decide(&self) -> Result<Verdict, Ended> {
        let question = &self.question;
        let findings = &self.base.reads.findings;
        let mut all = local::violations(question, findings);
        let mut procedure = self.procedure();
        let mut open = match self.graph(&mut procedure) {
            Ok((parts, told)) => {
                let mut found = explain::witnesses(self, &parts, &told);
                procedure.figures.extend(&found.figures);
                procedure.places.append(&mut found.places);
                all.append(found);
                None
            }
            Err(NoGraph::TooLarge) => Some("the history is too large for one graph".to_owned()),
            Err(NoGraph::Limit(limit)) if all.witnesses.is_empty() => {
                return Err(self.ended(limit));
            }
            // What is wrong inside transactions is wrong, however far the rest came.
            Err(NoGraph::Limit(limit)) => Some(self.ended(limit).reason(question.limits().bytes())),
        };
        if self.level == Level::ReadUncommitted {
            open = open.or(self.uncommitted(&mut all));
        }
        let doubts = doubts(question, self.base);
        let words = question.words();
        let open = open.or_else(|| doubts.first().map(|first| words.doubts(first, &doubts)));
        let answer = if all.witnesses.is_empty() {
            open.map_or(Answer::Holds, Answer::Unknown)
        } else {
            Answer::Violated(std::mem::take(&mut all.witnesses))
        };
        let notes = local::notes(question, findings);
        Ok(Verdict { promise: question.promise, answer, counts: all.counts, notes, procedure })
    }

    /// What was under way when a limit was reached.
    fn ended(&self, limit: Limit) -> Ended {
        let context = self.context();
        let chains = self.base.chains(context, self.session_order).ok().flatten();
        let doing = match chains.filter(|_| self.level == Level::Causal) {
            Some(chains) => format!(
                "asking {} reads about {} chains of transactions",
                self.base.reads.len(),
                chains.count
            ),
            None => format!("building the graph of {}", self.level),
        };
        Ended { limit, doing }
    }

    /// What uncommitted writes leave open, if they may be read. A read does not prove then that its
    /// source committed: lists may show elements that were rolled back in the end. And lists that show
    /// a part of what a transaction appended do not say where the rest goes.
    fn uncommitted(&self, all: &mut Violations) -> Option<String> {
        let context = self.context();
        let findings = &self.base.reads.findings.findings;
        let ordered = !self.base.reads.orders.is_empty();
        let of_list = |op: &OpId| context.history.op(*op).kind() == OpKind::ListRead;
        let part = |f: &LocalFinding| {
            f.anomaly == Anomaly::IntermediateRead && f.ops().iter().any(of_list)
        };
        let partial = ordered && findings.iter().any(part);
        let open = |txn: TxnId| context.standing(txn) == Standing::Proved;
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

    // ---- the graph ----

    /// Everything that must come before something else, and what was missed.
    fn graph(&self, procedure: &mut Procedure) -> Result<(TxnParts, Vec<ForcedEdges>), NoGraph> {
        let context = self.context();
        self.question.limits().go_on()?;
        let told = self.told()?;
        let mut edges: Vec<&TxnEdges> = self.base.reads.orders.iter().collect();
        if self.level != Level::ReadUncommitted {
            edges.extend(self.base.write_read(context));
        }
        edges.extend(self.session_order.then(|| self.base.session_order(context)));
        edges.extend(told.iter().map(|told| &told.edges));
        let parts = Partitioned::new(context.txn_count(), &edges)?;
        let forced: usize = told.iter().map(|told| told.edges.len()).sum();
        procedure.figures.extend([
            ("nodes", parts.graph.node_count() as u64),
            ("edges", parts.graph.edge_count() as u64),
            ("inferred edges", forced as u64),
        ]);
        Ok((parts, told))
    }

    /// What the level forces.
    fn told(&self) -> Result<Vec<ForcedEdges>, NoGraph> {
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

    fn by_chains(&self) -> Result<Vec<ForcedEdges>, NoGraph> {
        let (context, limits) = (self.context(), self.question.limits());
        let parts = self.base.causes(context, self.session_order)?;
        let Some(chains) = self.base.chains(context, self.session_order)? else {
            // What comes before what is not even an order.
            return Ok(Vec::new());
        };
        let reads = &self.base.reads;
        let questions = reads.len() as u64 * chains.count as u64;
        if questions / QUESTIONS_A_STEP > limits.steps() {
            return Err(Limit::Steps.into());
        }
        let order = parts.components.topological();
        let causal = Causal { reads, chains, graph: &parts.graph, order: &order };
        Ok(causal.force(context, limits, || ForcedEdges::new(context))?)
    }

    // ---- what ran ----

    fn procedure(&self) -> Procedure {
        let mut evidence = vec!["values".to_owned()];
        if !self.base.reads.orders.is_empty() {
            evidence.push("version order: list prefixes or given by the recorder".to_owned());
        }
        evidence.extend(self.session_order.then(|| "session order".to_owned()));
        let why = match self.level {
            Level::ReadUncommitted => {
                "only the version order that lists or the recorder show counts"
            }
            Level::Pl2 => "only reads and the version order that lists or the recorder show count",
            _ => "the constraints of the level do not depend on the commit order",
        };
        self.question.procedure("axiom", evidence, why)
    }
}
