//! What happened by the server's timestamps, in one or two sentences.

use isolde_history::{History, Op, OpId, OpKind, Outcome, Timestamp, TxnId, Value};
use isolde_spec::{Anomaly, Assumed, Axiom, By, Level, Promise, Timed, Witness};

use super::phrase::Phrases;
use super::sources::Sources;
use super::{snapshot_story, story};
use crate::{names, stamps};

/// The story of a witness by timestamps or snapshots; nothing for those by values.
pub(super) fn tell(
    history: &History,
    asked: Promise,
    witness: &Witness,
    sources: &Sources<'_>,
) -> Option<String> {
    let timed = witness.timed.as_ref()?;
    if asked.by == By::Snapshots {
        return Some(snapshot_story::tell(history, witness, timed, sources));
    }
    let p = Phrases { history, sources };
    let teller =
        TimedTeller { p, w: witness, t: timed, serial: asked.level == Level::Serializable };
    let told = match timed.axiom {
        Axiom::Ext => teller.read(),
        Axiom::Int => Some(teller.inside(sources)),
        Axiom::NoConflict => teller.conflict(),
        Axiom::Session => teller.session(),
        Axiom::Stamps => Some(teller.stamps()),
        Axiom::Fresh | Axiom::Snapshots => None,
    };
    let mut told = told.unwrap_or_else(|| story::tell(history, witness, sources));
    for assumed in &timed.assumed {
        told.push_str(&format!(
            " The outcome of {} is unknown: it {}.",
            p.name(assumed.txn),
            taken(assumed)
        ));
    }
    Some(told)
}

/// What had to be assumed of a transaction: "is taken to have committed after 3 and not after 5".
pub(super) fn taken(assumed: &Assumed) -> String {
    let bounds = match (assumed.after.map(stamps::tell), assumed.until.map(stamps::tell)) {
        (Some(after), Some(until)) => format!(" after {after} and not after {until}"),
        (Some(after), None) => format!(" after {after}"),
        (None, Some(until)) => format!(" at {until} at the latest"),
        (None, None) => String::new(),
    };
    format!("is taken to have committed{bounds}")
}

/// Whether a transaction wrote something that stands.
pub(super) fn wrote_anything(history: &History, txn: TxnId) -> bool {
    history.txn(txn).ops().any(|op| op.kind().writes() && story::stands(&op))
}

struct TimedTeller<'a> {
    p: Phrases<'a>,
    w: &'a Witness,
    t: &'a Timed,
    /// Whether commit order is asked for, and not snapshots.
    serial: bool,
}

impl TimedTeller<'_> {
    fn start(&self, txn: TxnId) -> Option<Timestamp> {
        self.p.history.txn(txn).start_ts()
    }

    fn commit(&self, txn: TxnId) -> Option<Timestamp> {
        self.p.history.txn(txn).commit_ts()
    }

    fn wrote_anything(&self, txn: TxnId) -> bool {
        wrote_anything(self.p.history, txn)
    }

    /// Where a transaction stands in the order of timestamps: "started at 6".
    fn stands_at(&self, txn: TxnId, place: Option<Timestamp>) -> Option<String> {
        let at = place?;
        let by_commit = self.serial && (self.wrote_anything(txn) || self.start(txn) != place);
        let verb = if by_commit { "committed" } else { "started" };
        Some(format!("{verb} at {}", stamps::tell(at)))
    }

    // ---- EXT ----

    /// "T3 started at 6 and read x = 1 of T1, which committed at 2; but T2 had overwritten it at 5, so T3 should
    /// have read x = 2."
    fn read(&self) -> Option<String> {
        let op = *self.w.ops.first()?;
        let reader = self.p.name(self.t.txn);
        let stood = match self.stands_at(self.t.txn, self.t.place) {
            // What it read, it read before it committed.
            Some(stood) if stood.starts_with("committed") => format!(", which {stood},"),
            Some(stood) => format!(" {stood} and"),
            None => String::new(),
        };
        let did = format!("{reader}{stood} {}{}", self.p.read(op), self.source());
        let should = self.should(op)?;
        Some(match self.overwriter() {
            Some(but) => format!("{did}; but {but}, so {reader} should have {should}."),
            None => format!("{did}; it should have {should}{}.", self.expected_origin()),
        })
    }

    /// "read x = 2", "found no x", "read x = 2 or x = 3".
    fn should(&self, op: OpId) -> Option<String> {
        let expected: Vec<String> =
            self.t.expected.iter().map(|seen| self.p.version(op, seen)).collect();
        let found =
            self.t.expected.iter().all(|seen| seen.value == Value::ABSENT && seen.list.is_none());
        let verb =
            if found || self.p.history.op(op).kind() == OpKind::Cas { "found" } else { "read" };
        (!expected.is_empty()).then(|| format!("{verb} {}", expected.join(" or ")))
    }

    /// What was wrong with the version that was read.
    fn source(&self) -> String {
        let Some(seen) = &self.t.read else { return String::new() };
        let Some(write) = seen.write else {
            return match self.w.anomaly {
                Anomaly::ThinAirRead => ", which no transaction wrote".to_owned(),
                _ if seen.initial && seen.list.is_none() && seen.value != Value::ABSENT => {
                    ", the initial value".to_owned()
                }
                _ => String::new(),
            };
        };
        let history = self.p.history;
        let writer = history.txn_of(write);
        let of = match seen.list {
            Some(_) => format!(", where {} is of", self.p.value(history.op(write).value())),
            None => " of".to_owned(),
        };
        let of = format!("{of} {}, which", self.p.name(writer));
        let when = self.commit(writer).map(|at| format!(" at {}", stamps::tell(at)));
        let when = when.unwrap_or_default();
        match self.w.anomaly {
            Anomaly::FutureRead => ", which it wrote itself only later".to_owned(),
            Anomaly::UncommittedVersionRead if when.is_empty() => {
                format!("{of} cannot have committed by then")
            }
            Anomaly::UncommittedVersionRead => format!("{of} committed only{when}"),
            Anomaly::AbortedRead if history.txn(writer).outcome() == Outcome::Committed => {
                format!("{of} took it back (to a savepoint)")
            }
            Anomaly::AbortedRead => format!("{of} was rolled back"),
            Anomaly::IntermediateRead => format!("{of} overwrote it before it committed{when}"),
            Anomaly::StaleRead if seen.list.is_none() => format!("{of} committed{when}"),
            _ => String::new(),
        }
    }

    /// Which write made a version old: "T2 had overwritten it at 5".
    fn overwriter(&self) -> Option<String> {
        let newest = self.t.expected.first().filter(|_| self.w.anomaly == Anomaly::StaleRead)?;
        let read = self.t.read.as_ref()?;
        let op = self.p.history.op(newest.write?);
        let writer = self.p.history.txn_of(op.id());
        let value = self.p.value(op.value());
        let did = match op.kind() {
            OpKind::Append => format!("appended {value}"),
            OpKind::Delete => "deleted it".to_owned(),
            _ if read.value == Value::ABSENT => "written it".to_owned(),
            _ => "overwritten it".to_owned(),
        };
        let when = self.commit(writer).map(|at| format!(" at {}", stamps::tell(at)));
        Some(format!("{} had {did}{}", self.p.name(writer), when.unwrap_or_default()))
    }

    /// Where the version is from that should have been read.
    fn expected_origin(&self) -> String {
        let [seen] = &self.t.expected[..] else { return String::new() };
        match seen.write {
            None if seen.value != Value::ABSENT => ", the initial value".to_owned(),
            None => String::new(),
            Some(write) => {
                let writer = self.p.history.txn_of(write);
                let when = self
                    .commit(writer)
                    .map(|at| format!(", which committed at {}", stamps::tell(at)));
                format!(" of {}{}", self.p.name(writer), when.unwrap_or_default())
            }
        }
    }

    // ---- the other rules ----

    /// What contradicts itself within a transaction is told as it is by values.
    fn inside(&self, sources: &Sources<'_>) -> String {
        let mut witness = self.w.clone();
        witness.ops.sort_unstable();
        story::tell(self.p.history, &witness, sources)
    }

    /// "T5 wrote y = 1 and committed at 7 while T3, which started at 6 and committed at 9, wrote y = 2, too."
    fn conflict(&self) -> Option<String> {
        let [first, second] = self.w.ops[..] else { return None };
        let p = &self.p;
        let (a, b) = (p.history.txn_of(first), p.history.txn_of(second));
        let tell =
            |at: Option<Timestamp>| at.map_or_else(|| "an unknown time".to_owned(), stamps::tell);
        let overlap = format!(
            "committed at {} while {}, which started at {} and committed at {},",
            tell(self.commit(a)),
            p.name(b),
            tell(self.start(b)),
            tell(self.commit(b)),
        );
        let read = self.read_before(first).filter(|_| self.w.anomaly == Anomaly::LostUpdate);
        Some(match read {
            Some(read) => format!(
                "{} {}, {} and {overlap} had read the same and {}: one update is lost.",
                p.name(a),
                p.read(read),
                p.wrote(first),
                p.wrote(second),
            ),
            None => {
                format!("{} {} and {overlap} {}, too.", p.name(a), p.wrote(first), p.wrote(second))
            }
        })
    }

    /// What a writer had read of the key that it wrote.
    fn read_before(&self, write: OpId) -> Option<OpId> {
        let history = self.p.history;
        let key = history.op(write).key();
        let own = history.txn(history.txn_of(write)).ops().filter(|op| op.id() < write);
        let read = |op: &Op<'_>| op.kind() == OpKind::Read && op.key() == key;
        own.filter(read).last().map(|op| op.id())
    }

    /// "T2 came after T1 in session a, but started at 5, before T1 committed at 10."
    fn session(&self) -> Option<String> {
        let (p, txn, before) = (&self.p, self.t.txn, self.t.opponent?);
        let (later, earlier) = (p.name(txn), p.name(before));
        let session = names::session(p.history, p.history.txn(txn).session());
        let came = format!("{later} came after {earlier} in session {session}");
        let stood = self.stands_at(txn, self.t.place)?;
        let bound = match (self.commit(before), self.start(before)) {
            (Some(commit), _) if !self.serial => {
                Some(format!("committed at {}", stamps::tell(commit)))
            }
            (None, start) if !self.serial => self.stands_at(before, start),
            (commit, start) if self.wrote_anything(before) => {
                self.stands_at(before, commit.or(start))
            }
            // Where one that only read stands, the history says; its later timestamp bounds it.
            (commit, start) => self.stands_at(before, commit.max(start)),
        };
        Some(match bound {
            Some(bound) if self.serial => {
                format!("{came}, but {stood}, and {earlier} {bound}: not in that order.")
            }
            Some(bound) => {
                format!(
                    "{came}, but {stood}, before {earlier} {bound}: it need not see what {earlier} did."
                )
            }
            None => format!("{came}, but {stood}, before it."),
        })
    }

    fn stamps(&self) -> String {
        match (self.t.opponent, self.w.anomaly) {
            (Some(other), Anomaly::TimestampTie) => self.tie(other),
            _ => self.bad_timestamps(),
        }
    }

    fn tie(&self, other: TxnId) -> String {
        let (p, txn) = (&self.p, self.t.txn);
        let when = self.commit(txn).map_or_else(String::new, stamps::tell);
        let key = self.w.ops.first().map_or_else(|| "a key".to_owned(), |op| p.key(*op));
        format!(
            "{} and {} both wrote {key} and both committed at {when}: nothing says which version is the newer one.",
            p.name(other),
            p.name(txn),
        )
    }

    fn bad_timestamps(&self) -> String {
        let (name, start, commit) =
            (self.p.name(self.t.txn), self.start(self.t.txn), self.commit(self.t.txn));
        let told = |at: Option<Timestamp>| at.map_or_else(|| "?".to_owned(), stamps::tell);
        if start == commit {
            return format!(
                "{name} wrote, and yet it started and committed at the same time, {}.",
                told(start)
            );
        }
        format!(
            "{name} started at {} and committed at {}, before it had started.",
            told(start),
            told(commit)
        )
    }
}
