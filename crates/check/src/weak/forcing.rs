//! Why an edge is forced: the read that forces it, and how the reader had seen the other writer.

use isolde_history::{Effect, Key, OpId, SessionId, TxnId};
use isolde_spec::{Because, Edges, Level, Step};

use super::Question;
use super::path::{Hop, Tree};
use super::reads::{INITIAL, Seen};
use crate::context::Context;
use crate::name;
use crate::play::Play;
use crate::witness::Explainer;

/// Why one writer of a key came before another: somebody read from the other, and had seen the one.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    pub(crate) seen: Seen,
    /// From the writer that was seen to the reader.
    pub(crate) path: Vec<Step>,
}

/// How many readers of a version are looked at for the plainest reason.
const READERS: usize = 64;

/// Finds reasons.
pub(crate) struct Reasoner<'q, 'c, 'h> {
    pub(crate) question: &'q Question<'c, 'h>,
    pub(crate) explainer: Explainer<'c>,
}

impl<'q, 'c, 'h> Reasoner<'q, 'c, 'h> {
    pub(crate) fn new(question: &'q Question<'c, 'h>) -> Reasoner<'q, 'c, 'h> {
        let explainer = Explainer::new(question.context(), question.session_order);
        Reasoner { question, explainer }
    }

    fn context(&self) -> &'c Context<'h> {
        self.question.context()
    }

    /// The plainest reason why a writer came before another one of the same key.
    pub(crate) fn of_edge(&self, writer: u32, source: u32) -> Option<Reason> {
        let by_txn = self.question.base.by_txn(self.context());
        let keys = by_txn
            .written_by(writer)
            .iter()
            .filter(|key| by_txn.written_by(source).binary_search(key).is_ok());
        let read = |seen: &&Seen| seen.source == source && seen.txn != writer;
        let reads = keys.flat_map(|key| self.question.base.reads.of_key(Key(*key)));
        self.plainest(writer, reads.filter(read).take(READERS))
    }

    /// The plainest of the reasons that some reads give.
    pub(crate) fn plainest<'s>(
        &self,
        writer: u32,
        reads: impl Iterator<Item = &'s Seen>,
    ) -> Option<Reason> {
        let reads: Vec<&Seen> = reads.collect();
        let near = reads.iter().filter_map(|seen| self.directly(writer, seen)).min_by_key(rank);
        if near.is_some() || self.question.level != Level::Causal {
            return near.map(|(reason, _)| reason);
        }
        let readers: Vec<u32> = reads.iter().map(|seen| seen.txn).collect();
        let context = self.context();
        let causes = self.question.base.causes(context, self.question.session_order);
        let ends = |txn: u32| readers.contains(&txn);
        let tree = Tree::grow(&causes.graph, writer, Edges::WR | Edges::SO, |_| true, ends);
        let reached = reads.iter().filter_map(|seen| {
            let path = self.steps(&tree.path(seen.txn)?);
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

    /// Whether one transaction came before another in their session.
    fn in_session(&self, before: u32, after: u32) -> bool {
        let context = self.context();
        let sessions = context.history.txn_sessions();
        let session: SessionId = sessions[before as usize];
        let place = |txn: u32| {
            let txns = context.history.session(session);
            txns.iter().position(|t| t.0 == txn)
        };
        self.question.session_order
            && session == sessions[after as usize]
            && context.play[before as usize] == Play::In
            && place(before) < place(after)
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
    pub(crate) fn steps(&self, hops: &[Hop]) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::with_capacity(hops.len());
        for &(from, to, kinds) in hops {
            if kinds.contains(Edges::WR) {
                let by_txn = self.question.base.by_txn(self.context());
                let read = by_txn.seen_by(to).iter().find(|s| s.source == from);
                steps.extend(read.map(|seen| self.read(seen)));
            } else if kinds.contains(Edges::WW) {
                steps.push(self.explainer.overwrote(TxnId(from), TxnId(to)));
            } else {
                let (from, to) = (TxnId(from), TxnId(to));
                let because = Because::default();
                match steps.last_mut() {
                    Some(last) if last.kind == Edges::SO => last.to = to,
                    _ => steps.push(Step { from, to, kind: Edges::SO, because }),
                }
            }
        }
        steps
    }

    /// How the writer of what was read came before another one, if one step shows it: that one read
    /// the same and overwrote it.
    pub(crate) fn overwrote_directly(&self, writer: u32, seen: &Seen) -> bool {
        let by_txn = self.question.base.by_txn(self.context());
        let read = |s: &Seen| s.source == seen.source && s.key == seen.key;
        seen.source == INITIAL || by_txn.seen_by(writer).iter().any(read)
    }
}

fn rank((reason, rank): &(Reason, usize)) -> (usize, u32) {
    (*rank, reason.seen.txn)
}
