//! Why an edge is forced: the read that forces it, and how the reader had seen the other writer.

use hashbrown::HashSet;
use isolde_history::{Effect, Key, OpId, TxnId};
use isolde_spec::{Because, Edges, Level, Step};

use super::path::{FAR, PathHop, PathTree};
use super::question::AxiomQuestion;
use super::reads::{INITIAL, Seen};
use crate::explain::name;
use crate::explain::witness::Explainer;
use crate::graph::kinds::EdgeKinds;
use crate::keys::context::Context;
use crate::keys::standing::Standing;

/// Why one writer of a key came before another: a reader read from the other, and had seen the one.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub(crate) seen: Seen,
    /// From the writer that was seen to the reader.
    pub(crate) path: Vec<Step>,
}

/// How many reasons are compared to find the plainest.
const READERS: usize = 64;

/// Finds reasons.
pub(crate) struct Reasoner<'q, 'c, 'h> {
    pub(crate) question: &'q AxiomQuestion<'c, 'h>,
    pub(crate) explainer: Explainer<'c>,
}

impl<'q, 'c, 'h> Reasoner<'q, 'c, 'h> {
    pub(crate) fn new(question: &'q AxiomQuestion<'c, 'h>) -> Reasoner<'q, 'c, 'h> {
        let explainer = Explainer::new(question.context(), question.session_order);
        Reasoner { question, explainer }
    }

    fn context(&self) -> &'c Context<'h> {
        self.question.context()
    }

    /// The plainest reason why a writer came before another one of the same key.
    pub(crate) fn of_edge(&self, writer: u32, source: u32) -> Option<Reason> {
        let (by_txn, reads) =
            (self.question.base.by_txn(self.context()), &self.question.base.reads);
        let written = by_txn.written_by(writer);
        let both =
            written.iter().filter(|key| by_txn.written_by(source).binary_search(key).is_ok());
        let read = |seen: &&Seen| seen.source == source && seen.txn != writer;
        let reads_of = |key: &u32| reads.of_key(Key(*key)).iter();
        let from_source: Vec<&Seen> = both.flat_map(reads_of).filter(read).collect();
        let from_writer = written.iter().flat_map(reads_of).filter(|seen| seen.source == writer);
        let saw: HashSet<u32> = from_writer.map(|seen| seen.txn).collect();
        let near = |seen: &&&Seen| saw.contains(&seen.txn) || self.in_session(writer, seen.txn);
        let direct = from_source.iter().filter(near).filter_map(|seen| self.directly(writer, seen));
        let plainest = direct.take(READERS).min_by_key(rank).map(|(reason, _)| reason);
        plainest.or_else(|| self.by_a_path(writer, &from_source))
    }

    /// Why a read of the initial state is wrong.
    pub(crate) fn of_missed(&self, writer: u32, seen: &Seen) -> Option<Reason> {
        let direct = self.directly(writer, seen).map(|(reason, _)| reason);
        direct.or_else(|| self.by_a_path(writer, &[seen]))
    }

    /// How one of some readers had seen a writer, by the shortest path.
    fn by_a_path(&self, writer: u32, reads: &[&Seen]) -> Option<Reason> {
        if self.question.level != Level::Causal {
            return None;
        }
        let readers: HashSet<u32> = reads.iter().map(|seen| seen.txn).collect();
        let causes = self.question.base.causes(self.context(), self.question.session_order).ok()?;
        let ends = |txn: TxnId| readers.contains(&txn.0);
        let kinds = EdgeKinds::of(Edges::WR | Edges::SO);
        let from = (TxnId(writer), FAR);
        let tree = PathTree::grow(&causes.graph, from, kinds, |_| true, ends);
        let reached = reads.iter().filter_map(|seen| {
            let path = self.steps(&tree.path(TxnId(seen.txn))?);
            Some(Reason { seen: **seen, path })
        });
        reached.min_by_key(|reason| reason.path.len())
    }

    /// How a reader had seen a writer in one step, and what missing its write is called then.
    fn directly(&self, writer: u32, seen: &Seen) -> Option<(Reason, usize)> {
        let earlier = |a: OpId, b: OpId| self.explainer.earlier(a, b);
        let (level, txn) = (self.question.level, seen.txn);
        let by_txn = self.question.base.by_txn(self.context());
        let mut from = by_txn.seen_by(txn).iter().filter(|s| s.source == writer);
        let bound = |s: &&Seen| level != Level::ReadCommitted || earlier(s.first, seen.last);
        let read = from.clone().min_by_key(|s| s.first).filter(bound).or_else(|| from.find(bound));
        let step = match read {
            Some(read) => self.read(read),
            None if level != Level::ReadCommitted && self.in_session(writer, txn) => Step {
                from: TxnId(writer),
                to: TxnId(txn),
                kind: Edges::SO,
                because: Because::default(),
            },
            None => return None,
        };
        let missed = self.missed(writer, seen);
        let anomaly = name::of_cycle(&[missed, step], earlier);
        Some((Reason { seen: *seen, path: vec![step] }, anomaly.rank()))
    }

    /// The reader overwritten by the writer whose write it missed.
    pub(crate) fn missed(&self, writer: u32, seen: &Seen) -> Step {
        let because = Because {
            key: Some(Key(seen.key)),
            from_op: Some(seen.last),
            to_op: self.write(writer, seen.key),
            inferred: false,
        };
        Step { from: TxnId(seen.txn), to: TxnId(writer), kind: Edges::RW, because }
    }

    /// Whether one transaction came before another in their session, where numbers grow.
    fn in_session(&self, before: u32, after: u32) -> bool {
        let context = self.context();
        let sessions = context.history.txn_sessions();
        self.question.session_order
            && before < after
            && sessions[before as usize] == sessions[after as usize]
            && context.standings[before as usize] == Standing::Committed
    }

    /// A read of what another transaction wrote.
    fn read(&self, seen: &Seen) -> Step {
        let because = Because {
            key: Some(Key(seen.key)),
            from_op: self.write(seen.source, seen.key),
            to_op: Some(seen.first),
            inferred: false,
        };
        Step { from: TxnId(seen.source), to: TxnId(seen.txn), kind: Edges::WR, because }
    }

    /// The write of a key that a transaction left behind.
    pub(crate) fn write(&self, txn: u32, key: u32) -> Option<OpId> {
        let ops = self.context().history.txn(TxnId(txn)).ops();
        let wrote = ops.filter(|op| op.key() == Key(key) && op.kind().writes());
        wrote.filter(|op| op.effect() == Effect::Done && !op.undone()).map(|op| op.id()).last()
    }

    /// A path as steps, with what shows each. One after another in a session is one step.
    pub(crate) fn steps(&self, hops: &[PathHop]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::with_capacity(hops.len());
        for &(from, to, kinds) in hops {
            if kinds.contains(Edges::WR) {
                let by_txn = self.question.base.by_txn(self.context());
                let read = by_txn.seen_by(to.0).iter().find(|s| s.source == from.0);
                steps.extend(read.map(|seen| self.read(seen)));
            } else if kinds.contains(Edges::WW) {
                steps.push(self.explainer.overwrote(from, to));
            } else {
                let because = Because::default();
                match steps.last_mut() {
                    Some(last) if last.kind == Edges::SO => last.to = to,
                    _ => steps.push(Step { from, to, kind: Edges::SO, because }),
                }
            }
        }
        steps
    }

    /// Whether one step shows that the other writer came after the version's writer: it read the
    /// same version and overwrote it.
    pub(crate) fn overwrote_directly(&self, writer: u32, seen: &Seen) -> bool {
        let by_txn = self.question.base.by_txn(self.context());
        let read = |s: &Seen| s.source == seen.source && s.key == seen.key;
        seen.source == INITIAL || by_txn.seen_by(writer).iter().any(read)
    }
}

fn rank((reason, rank): &(Reason, usize)) -> (usize, u32) {
    (*rank, reason.seen.txn)
}
