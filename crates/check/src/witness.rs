//! From a cycle of nodes to something that a person can check.

use isolde_history::{History, OpId, StmtId, TxnId};
use isolde_spec::{Anomaly, Because, Edges, Step, Witness};

use crate::cycle::Hop;
use crate::group::Groups;
use crate::provenance::{Provenance, Source};

/// Explains dependencies by the operations that made them.
pub(crate) struct Explainer<'a> {
    history: &'a History,
    p: &'a Provenance,
    reads_of: Groups,
    writes_of: Groups,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(history: &'a History, p: &'a Provenance) -> Explainer<'a> {
        let txns = history.txn_count();
        Explainer {
            history,
            p,
            reads_of: Groups::new(p.reads.len(), txns, |i| p.reads[i].txn.index()),
            writes_of: Groups::new(p.writes.len(), txns, |i| p.writes[i].txn.index()),
        }
    }

    /// The witness of a cycle.
    pub(crate) fn cycle(&self, hops: &[Hop]) -> Witness {
        let steps = self.steps(hops);
        let needs = steps.iter().fold(Edges::NONE, |all, s| all | s.kind);
        let mut txns: Vec<TxnId> = steps.iter().map(|s| s.from).collect();
        txns.sort_unstable();
        txns.dedup();
        Witness {
            anomaly: self.name(&steps),
            needs: needs & (Edges::SO | Edges::RT),
            steps,
            ops: Vec::new(),
            txns,
        }
    }

    /// Hops over helper nodes are one step in real time.
    fn steps(&self, hops: &[Hop]) -> Vec<Step> {
        let txns = self.history.txn_count() as u32;
        // Begin at a transaction, not in the middle of a stretch of helpers.
        let start = hops.iter().position(|hop| hop.from < txns).unwrap_or(0);
        let mut steps: Vec<Step> = Vec::new();
        let mut from = None;
        for hop in hops[start..].iter().chain(&hops[..start]) {
            let origin = *from.get_or_insert(hop.from);
            if hop.to < txns {
                let (from_txn, to) = (TxnId(origin), TxnId(hop.to));
                let because = self.because(from_txn, to, hop.kind);
                steps.push(Step { from: from_txn, to, kind: hop.kind, because });
                from = None;
            }
        }
        steps
    }

    /// The operations that show a dependency.
    fn because(&self, from: TxnId, to: TxnId, kind: Edges) -> Because {
        let found = match kind {
            Edges::WR => self.write_read(from, to),
            Edges::WW => self.write_write(from, to),
            Edges::RW => self.read_write(from, to),
            _ => None,
        };
        let Some((from_op, to_op)) = found else { return Because::default() };
        let key = Some(self.history.op(to_op).key());
        Because { key, from_op: Some(from_op), to_op: Some(to_op) }
    }

    fn write_read(&self, from: TxnId, to: TxnId) -> Option<(OpId, OpId)> {
        self.reads_of.of(to.index()).iter().find_map(|&r| match self.p.sources[r as usize] {
            Source::Write(w) if self.p.writes[w as usize].txn == from => {
                Some((self.p.writes[w as usize].op, self.p.reads[r as usize].op))
            }
            _ => None,
        })
    }

    /// The write that the second overwrote, or else two writes of the same key.
    fn write_write(&self, from: TxnId, to: TxnId) -> Option<(OpId, OpId)> {
        let last = |t: TxnId| {
            let writes = self.writes_of.of(t.index()).iter();
            writes.map(|&w| &self.p.writes[w as usize]).filter(|w| w.last)
        };
        let parent = |w: &crate::scan::WriteFact| {
            let source = w.after.checked_sub(1).map(|r| self.p.sources[r as usize]);
            match source {
                Some(Source::Write(parent)) => Some(self.p.writes[parent as usize]),
                _ => None,
            }
        };
        let direct = last(to).find_map(|w| {
            parent(w).filter(|parent| parent.txn == from).map(|parent| (parent.op, w.op))
        });
        direct.or_else(|| {
            last(to).find_map(|w| last(from).find(|f| f.key == w.key).map(|f| (f.op, w.op)))
        })
    }

    /// A read of the first, and the write of the second that overwrote what it read.
    fn read_write(&self, from: TxnId, to: TxnId) -> Option<(OpId, OpId)> {
        let writes = self.writes_of.of(to.index()).iter();
        let last = || writes.clone().map(|&w| &self.p.writes[w as usize]).filter(|w| w.last);
        let reads = self.reads_of.of(from.index()).iter();
        let same_parent = |read: &u32, after: u32| {
            after
                .checked_sub(1)
                .is_some_and(|a| self.p.sources[a as usize] == self.p.sources[*read as usize])
        };
        let pair = |exact: bool| {
            reads.clone().find_map(|r| {
                let read = &self.p.reads[*r as usize];
                last()
                    .find(|w| w.key == read.key && (!exact || same_parent(r, w.after)))
                    .map(|w| (read.op, w.op))
            })
        };
        pair(true).or_else(|| pair(false))
    }

    // ---- names ----

    fn name(&self, steps: &[Step]) -> Anomaly {
        let anti = steps.iter().filter(|s| s.kind == Edges::RW).count();
        match anti {
            0 if steps.iter().all(|s| s.kind == Edges::WW) => Anomaly::G0,
            0 => Anomaly::G1c,
            1 => self.name_of_single(steps),
            _ if adjacent(steps) => name_of_adjacent(steps),
            2 if is_fork(steps) => Anomaly::LongFork,
            _ => Anomaly::GNonadjacent,
        }
    }

    /// A cycle with one anti-dependency: the transaction that missed something is where it begins.
    fn name_of_single(&self, steps: &[Step]) -> Anomaly {
        let Some(at) = steps.iter().position(|s| s.kind == Edges::RW) else {
            return Anomaly::GSingle;
        };
        let missed = steps[at];
        let rest = || (1..steps.len()).map(|i| steps[(at + i) % steps.len()]);
        let mut others = rest();
        match (others.next(), others.next()) {
            (Some(only), None) => match only.kind {
                Edges::SO => Anomaly::SessionGuaranteeViolation,
                Edges::WR if self.is_earlier(only.because.to_op, missed.because.from_op) => {
                    Anomaly::NonMonotonicRead
                }
                Edges::WR => Anomaly::FracturedRead,
                Edges::WW if only.because.key == missed.because.key => Anomaly::LostUpdate,
                _ => Anomaly::GSingle,
            },
            _ if rest().all(|s| s.kind == Edges::SO || s.kind == Edges::WR) => {
                Anomaly::CausalityViolation
            }
            _ => Anomaly::GSingle,
        }
    }

    /// Whether one operation's statement comes before another's in the same transaction.
    fn is_earlier(&self, first: Option<OpId>, second: Option<OpId>) -> bool {
        match (first, second) {
            (Some(a), Some(b)) => self.statement(a) < self.statement(b),
            _ => false,
        }
    }

    fn statement(&self, op: OpId) -> Option<StmtId> {
        let txn = self.history.txn(self.history.txn_of(op));
        txn.stmts().find(|s| s.ops().any(|o| o.id() == op)).map(|s| s.id())
    }
}

fn adjacent(steps: &[Step]) -> bool {
    let next = |i: usize| steps[(i + 1) % steps.len()].kind;
    (0..steps.len()).any(|i| steps[i].kind == Edges::RW && next(i) == Edges::RW)
}

fn name_of_adjacent(steps: &[Step]) -> Anomaly {
    match steps {
        [a, b] if a.because.key == b.because.key => Anomaly::LostUpdate,
        [_, _] => Anomaly::WriteSkew,
        _ => Anomaly::G2Item,
    }
}

/// Two readers, each of whom saw one write and missed the other.
fn is_fork(steps: &[Step]) -> bool {
    let kinds: Vec<Edges> = steps.iter().map(|s| s.kind).collect();
    let (wr, rw) = (Edges::WR, Edges::RW);
    kinds == [wr, rw, wr, rw] || kinds == [rw, wr, rw, wr]
}
