//! What happened by the server's snapshots, in one or two sentences.

use isolde_history::{History, Op, OpId, OpKind, Snapshot, TxnId, Value};
use isolde_spec::{Anomaly, Axiom, Seen, Timed, Witness};

use super::phrase::Phrases;
use super::sources::Sources;
use super::story;
use crate::names;

/// The story of a witness by snapshots.
pub(super) fn tell(
    history: &History,
    witness: &Witness,
    timed: &Timed,
    sources: &Sources<'_>,
) -> String {
    let p = Phrases { history, sources };
    let teller = SnapshotTeller { p, w: witness, t: timed };
    let told = match timed.axiom {
        Axiom::Ext => teller.read(),
        Axiom::NoConflict => teller.conflict(),
        Axiom::Session => teller.session(),
        Axiom::Fresh => teller.fresh(),
        Axiom::Snapshots => Some(teller.bad()),
        Axiom::Int | Axiom::Stamps => None,
    };
    told.unwrap_or_else(|| {
        let mut witness = witness.clone();
        witness.ops.sort_unstable();
        story::tell(history, &witness, sources)
    })
}

/// The rule that was broken, in a sentence.
pub(super) fn rule(axiom: Axiom, by_statements: bool) -> &'static str {
    match axiom {
        Axiom::Session => "a snapshot shows every earlier commit of its own session",
        Axiom::Int | Axiom::Stamps => "a transaction reads what it wrote or read before",
        Axiom::Ext if by_statements => {
            "a plain read returns the newest version that the snapshot of its statement shows; one that locks, that \
             one or a newer one"
        }
        Axiom::Ext => "a transaction reads the newest version whose writer its snapshot shows",
        Axiom::NoConflict => {
            "of two transactions that updated or deleted a row, the snapshot of one shows the other"
        }
        Axiom::Fresh => {
            "a snapshot shows every commit that had been confirmed before the transaction began"
        }
        Axiom::Snapshots => {
            "no snapshot shows its own transaction, and of two snapshots one shows all that the other one shows"
        }
    }
}

/// What the server says of a transaction: "number 103, snapshot 100:105:102".
pub(super) fn shown(history: &History, txn: TxnId) -> String {
    let of = history.txn(txn);
    let number = of.xid().map(|_| format!("number {}", number(history, txn)));
    let snapshot = of.snapshot().map(|snapshot| format!("snapshot {}", short(&snapshot)));
    let known: Vec<String> = number.into_iter().chain(snapshot).collect();
    if known.is_empty() { "no number".to_owned() } else { known.join(", ") }
}

/// A transaction's number, with the restart if there was one: "103", "103 after restart 1".
fn number(history: &History, txn: TxnId) -> String {
    let of = history.txn(txn);
    let number = of.xid().map_or_else(|| "?".to_owned(), |xid| xid.to_string());
    match of.restart() {
        0 => number,
        restart => format!("{number} after restart {restart}"),
    }
}

/// A snapshot as PostgreSQL writes it: the oldest that was running, the next to come, all that were running.
fn short(snapshot: &Snapshot) -> String {
    let running: Vec<String> = snapshot.in_progress.iter().map(i64::to_string).collect();
    format!("{}:{}:{}", snapshot.xmin, snapshot.xmax, running.join(","))
}

struct SnapshotTeller<'a> {
    p: Phrases<'a>,
    w: &'a Witness,
    t: &'a Timed,
}

impl SnapshotTeller<'_> {
    /// A transaction with its number: "T2 (number 103)".
    fn numbered(&self, txn: TxnId) -> String {
        let name = self.p.name(txn);
        match self.p.history.txn(txn).xid() {
            Some(_) => format!("{name} (number {})", number(self.p.history, txn)),
            None => name,
        }
    }

    /// The snapshot that a read was made from: "its snapshot 100:105:102".
    fn snapshot_of(&self, op: OpId) -> String {
        let txn = self.p.history.txn(self.t.txn);
        let of = |op: Op<'_>| op.id();
        let mut stmts = txn.stmts();
        let stmt = stmts.find(|stmt| stmt.ops().map(of).any(|other| other == op));
        let own = stmt.and_then(|stmt| stmt.snapshot());
        match (own, txn.snapshot()) {
            (Some(snapshot), _) => format!("the snapshot of its statement, {},", short(&snapshot)),
            (None, Some(snapshot)) => format!("its snapshot {}", short(&snapshot)),
            (None, None) => "its snapshot".to_owned(),
        }
    }

    fn read(&self) -> Option<String> {
        let op = *self.w.ops.first()?;
        let reader = self.p.name(self.t.txn);
        let read = format!("{reader} {}", self.p.read(op));
        let source = self.t.read.as_ref().and_then(|seen| seen.write);
        let writer = source.map(|write| self.p.history.txn_of(write));
        let of = writer.map_or_else(|| self.initial(), |txn| format!(" of {}", self.numbered(txn)));
        let snapshot = self.snapshot_of(op);
        Some(match self.w.anomaly {
            Anomaly::UncommittedVersionRead => {
                format!("{read}{of}, which {snapshot} does not show.{}", self.should(op))
            }
            Anomaly::StaleRead => {
                let newer = self.t.expected.first().and_then(|seen| seen.write);
                let newer = newer.map(|write| self.p.history.txn_of(write));
                let newer =
                    newer.map_or_else(|| "another one".to_owned(), |txn| self.numbered(txn));
                format!(
                    "{read}{of}; but {snapshot} shows {newer}, which had {}.{}",
                    self.did(),
                    self.should(op)
                )
            }
            Anomaly::AbortedRead => {
                format!("{read}{of}, which was rolled back.{}", self.should(op))
            }
            Anomaly::IntermediateRead => {
                format!("{read}{of}, which overwrote it before it committed.{}", self.should(op))
            }
            Anomaly::ThinAirRead => {
                format!("{read}, which no transaction wrote.{}", self.should(op))
            }
            _ => return None,
        })
    }

    fn initial(&self) -> String {
        let initial =
            |seen: &Seen| seen.initial && seen.list.is_none() && seen.value != Value::ABSENT;
        let text = self.t.read.as_ref().is_some_and(initial);
        if text { ", the initial value".to_owned() } else { String::new() }
    }

    /// What the newer write did to what was read.
    fn did(&self) -> String {
        let write = self.t.expected.first().and_then(|seen| seen.write);
        let Some(op) = write.map(|write| self.p.history.op(write)) else {
            return "overwritten it".to_owned();
        };
        match op.kind() {
            OpKind::Append => format!("appended {}", self.p.value(op.value())),
            OpKind::Delete => "deleted it".to_owned(),
            _ => "overwritten it".to_owned(),
        }
    }

    /// " It should have read x = 2."
    fn should(&self, op: OpId) -> String {
        if self.p.history.op(op).kind() == OpKind::ListRead
            && self.t.expected.iter().any(|seen| seen.list.is_none())
        {
            return String::new();
        }
        let expected: Vec<String> =
            self.t.expected.iter().map(|seen| self.p.version(op, seen)).collect();
        match expected.is_empty() {
            true => String::new(),
            false => format!(" It should have read {}.", expected.join(" or ")),
        }
    }

    /// "T1 (number 101) wrote x = 1 and T2 (number 103) wrote x = 2, and neither's snapshot shows the other."
    fn conflict(&self) -> Option<String> {
        let [first, second] = self.w.ops[..] else { return None };
        let p = &self.p;
        let (a, b) = (p.history.txn_of(first), p.history.txn_of(second));
        let lost = match self.w.anomaly {
            Anomaly::LostUpdate => " Both had read the same version, so one update is lost.",
            _ => "",
        };
        Some(format!(
            "{} {} and {} {}, and neither's snapshot shows the other.{lost}",
            self.numbered(a),
            p.wrote(first),
            self.numbered(b),
            p.wrote(second),
        ))
    }

    /// "T2 came after T1 (number 101) in session a, but its snapshot does not show it."
    fn session(&self) -> Option<String> {
        let (p, txn, before) = (&self.p, self.t.txn, self.t.opponent?);
        let session = names::session(p.history, p.history.txn(txn).session());
        let came =
            format!("{} came after {} in session {session}", p.name(txn), self.numbered(before));
        Some(match p.history.txn(before).xid() {
            Some(_) => format!("{came}, but its snapshot does not show it."),
            None => format!("{came}, but its snapshot shows less than that one did."),
        })
    }

    /// "The commit of T1 (number 101) had been confirmed when T2 asked for its snapshot, which does not show it."
    fn fresh(&self) -> Option<String> {
        let (p, writer) = (&self.p, self.t.opponent?);
        let snapshot = p.history.txn(self.t.txn).snapshot().map(|s| format!(" {}", short(&s)));
        Some(format!(
            "The commit of {} had been confirmed before {} asked for its snapshot{}, which does not show it.",
            self.numbered(writer),
            p.name(self.t.txn),
            snapshot.unwrap_or_default(),
        ))
    }

    fn bad(&self) -> String {
        let (p, txn) = (&self.p, self.t.txn);
        match (self.t.opponent, self.t.apart) {
            (Some(other), Some((mine, theirs))) => format!(
                "A snapshot of {} shows {} and not {}; one of {} shows {} and not {}.",
                p.name(txn),
                self.numbered(mine),
                self.numbered(theirs),
                p.name(other),
                self.numbered(theirs),
                self.numbered(mine),
            ),
            _ => format!(
                "The snapshot of {} shows that transaction itself, which had not committed.",
                self.numbered(txn)
            ),
        }
    }
}
