//! Certain dependencies between transactions that have been decided, and the cycles that they close.

use isolde_spec::{Certifier, Edges};

use super::breach::{Breach, Broken, Dependency};
use super::mirror::{Deciding, Mirror};
use super::row::{Neighbour, Place, Row, TraceNo};
use super::topology::{Link, Member};
use super::trace::DATABASE;
use crate::content::NameId;

impl Mirror {
    /// Adds the dependencies of a transaction on others that have been decided, and theirs on it.
    ///
    /// Which version follows which is final by then: what could still come between began after both had ended. So each
    /// dependency is added once, when the second of the two is decided. Updates that may have changed nothing are left out,
    /// where such leave no version.
    pub(super) fn certify(&mut self, txn: &Deciding) {
        let trace = &txn.trace;
        let member = Member {
            txn: trace.txn,
            began: trace.turn.began,
            ended: trace.turn.ended,
            commit: trace.commit,
            snapshot: txn.snapshot,
            read_only: trace.read_only,
        };
        self.topology.add(txn.no, member);
        self.link_reads(txn);
        self.link_writes(txn);
    }

    /// From the writer of what it read to it, and from it to the writer of the next version.
    fn link_reads(&mut self, txn: &Deciding) {
        let no = txn.no;
        let idle_vanish = self.profile.idle_updates_vanish;
        for (read, place) in txn.trace.reads.iter().zip(&txn.saw) {
            let (Some(place), op) = (*place, read.op) else { continue };
            let row = self.row_mut(read.row);
            let is_there = |at: Place| !idle_vanish || !row.may_be_idle(at);
            let writer = row.version(place).filter(|v| v.is_certain && v.decided);
            let writer = writer.filter(|_| is_there(place)).map(|v| (v.writer, v.op));
            let next = next_writer(row, place).filter(|next| next.at.0 != no);
            let next = next.filter(|next| is_there(next.place));
            let readers = row.readers_mut(place);
            if readers.last().is_none_or(|(last, _)| *last != no) {
                readers.push((no, op));
            }
            if let Some(writer) = writer {
                self.depend(writer, (no, op), (Edges::WR, true), read.row);
            }
            if let Some(next) = next.filter(|next| next.decided) {
                self.depend((no, op), next.at, (Edges::RW, next.is_next), read.row);
            }
        }
    }

    /// Between it and the writers of the versions before and after its own, from the readers of the version before to it,
    /// and from it to the readers of its own.
    fn link_writes(&mut self, txn: &Deciding) {
        let no = txn.no;
        let idle_vanish = self.profile.idle_updates_vanish;
        for write in txn.trace.writes.iter().filter(|write| write.row != DATABASE) {
            let Some(row) = self.rows.get(&write.row) else { continue };
            let Some(place) = row.place_of(no) else { continue };
            let is_there = |at: Place| !idle_vanish || !row.may_be_idle(at);
            if !is_there(place) {
                continue;
            }
            let Neighbour { place: before, is_next } = row.last_certain(place);
            let next = next_writer(row, place).filter(|n| n.decided && is_there(n.place));
            let earlier = row.version(before).filter(|v| v.decided && is_there(before));
            let earlier = earlier.map(|version| (version.writer, version.op));
            let (missed, own) = (row.readers(before).to_vec(), row.readers(place).to_vec());
            let (at, row) = ((no, write.op), write.row);
            if let Some(earlier) = earlier {
                self.depend(earlier, at, (Edges::WW, is_next), row);
            }
            if let Some(next) = next {
                self.depend(at, next.at, (Edges::WW, next.is_next), row);
            }
            for reader in missed.into_iter().filter(|(reader, _)| *reader != no) {
                self.depend(reader, at, (Edges::RW, is_next), row);
            }
            for reader in own {
                self.depend(at, reader, (Edges::WR, true), row);
            }
        }
    }

    /// One transaction depends on another. PostgreSQL's certifier looks at versions that follow each other; to a cycle it does
    /// not matter what stands between.
    fn depend(&mut self, from: Doer, to: Doer, (kind, is_next): (Edges, bool), row: NameId) {
        let link = Link { kind, row, ops: (from.1, to.1) };
        match self.profile.certifier {
            Certifier::Ssi if kind == Edges::RW && is_next => self.conflict(from.0, to.0, link),
            Certifier::BackwardValidation | Certifier::TimestampOrder => {
                self.validate(from.0, to.0, link);
            }
            _ => {}
        }
        let Some(cycle) = self.topology.link(from.0, to.0, link) else { return };
        let name = |no: TraceNo| self.topology.member(no).map(|member| member.txn);
        let steps = cycle.iter();
        let steps =
            steps.map(|step| Some((name(step.from)?, name(step.to)?, Dependency::from(step.link))));
        let Some(steps) = steps.collect::<Option<Vec<_>>>() else { return };
        if let Some(txn) = name(to.0) {
            self.found.push(Breach { txn, what: Broken::Cycle(steps) });
        }
    }

    /// Holds a dependency against what the certifier lets commit.
    fn validate(&mut self, from: TraceNo, to: TraceNo, link: Link) {
        let (Some(one), Some(two)) = (self.topology.member(from), self.topology.member(to)) else {
            return;
        };
        if is_refused(self.profile.certifier, one, two, link.kind) {
            let (from, to) = (one.txn, two.txn);
            let txn = if one.ended > two.ended { from } else { to };
            let dependency = Dependency::from(link);
            self.found.push(Breach { txn, what: Broken::Refused { from, to, dependency } });
        }
    }
}

/// Whether a certifier lets both transactions of a dependency commit.
fn is_refused(certifier: Certifier, from: &Member, to: &Member, kind: Edges) -> bool {
    match certifier {
        // What it read was certainly overwritten between its snapshot and its own commit.
        Certifier::BackwardValidation if kind == Edges::RW => {
            from.snapshot.is_some_and(|snapshot| snapshot.must_precede(to.commit))
                && to.commit.must_precede(from.commit)
        }
        // The one that comes after the other has the earlier timestamp: it certainly began before it.
        Certifier::TimestampOrder => {
            to.snapshot.zip(from.snapshot).is_some_and(|(to, from)| to.must_precede(from))
        }
        _ => false,
    }
}

/// A transaction and its operation.
type Doer = (TraceNo, u32);

/// The writer of the next version.
struct NextWriter {
    place: Place,
    at: Doer,
    decided: bool,
    is_next: bool,
}

/// The transaction that certainly wrote the next version.
fn next_writer(row: &Row, place: Place) -> Option<NextWriter> {
    let Neighbour { place, is_next } = row.next_certain(place)?;
    let version = row.version(place)?;
    let (at, decided) = ((version.writer, version.op), version.decided);
    Some(NextWriter { place, at, decided, is_next })
}
