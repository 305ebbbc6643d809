//! One attempt at one transaction: what was done, and what became of it.

use isolde_history::{EndedAt, ErrorClass, OpKind, Outcome};
use isolde_target::{
    After, Answer, Ended, Failure, Path, Request, ServerTxn, Session, SnapshotOf, TakenSnapshot,
    Timestamps,
};

use crate::clock::RunClock;
use crate::confirmed::Reached;

/// What one access did.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Act {
    /// The row's name across all rounds.
    pub(crate) key: u64,
    pub(crate) kind: OpKind,
    pub(crate) path: Path,
    /// What was written, or set.
    pub(crate) value: i64,
    /// What a compare-and-set expected.
    pub(crate) expected: i64,
    /// What came back; nothing if the statement failed.
    pub(crate) answer: Option<Answer>,
    /// The server's revision of the version that it read, if the server tells.
    pub(crate) revision: Option<i64>,
    /// The snapshot that it read from, if the server shows it: its own, or that of the whole transaction if it
    /// was the first.
    pub(crate) snapshot: Option<TakenSnapshot>,
    pub(crate) begin: i64,
    /// When the server answered, be it by an error.
    pub(crate) end: Option<i64>,
}

/// What one attempt did, on its way to the record.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Attempt {
    /// The session of the workload.
    pub(crate) client: u32,
    /// The session in the record: a new one after every lost connection.
    pub(crate) session: u32,
    pub(crate) outcome: Outcome,
    pub(crate) acts: Vec<Act>,
    pub(crate) begin: i64,
    /// When the outcome was known; nothing if it never was.
    pub(crate) end: Option<i64>,
    /// When COMMIT or ROLLBACK was sent; nothing if neither was.
    pub(crate) end_sent: Option<i64>,
    /// Where the server ended it by itself, if it did.
    pub(crate) ended_at: Option<EndedAt>,
    /// Whether it was declared read-only to the server.
    pub(crate) read_only: bool,
    /// When it happened, as the server says.
    pub(crate) timestamps: Timestamps,
    /// Its number at the server, if the server shows it.
    pub(crate) server_txn: Option<ServerTxn>,
    /// The code of the failure that ended it, and what kind that is.
    pub(crate) error: Option<(String, ErrorClass)>,
}

impl Act {
    /// Whether it has changed its row, as far as the server said.
    pub(crate) fn wrote(&self) -> bool {
        self.kind.writes() && self.answer == Some(Answer::Done(true))
    }
}

impl Attempt {
    /// The snapshot of the whole transaction, if there was one.
    pub(crate) fn snapshot(&self) -> Option<&TakenSnapshot> {
        let all = self.acts.iter().filter_map(|act| act.snapshot.as_ref());
        all.into_iter().find(|taken| taken.of == SnapshotOf::Transaction)
    }
}

impl Attempt {
    /// How far it has seen the database come. Snapshots say that only of one server.
    pub(crate) fn reached(&self, one_server: bool) -> Option<Reached> {
        let Timestamps { start, commit } = self.timestamps;
        if self.outcome != Outcome::Committed {
            return None;
        }
        let taken = || {
            let timed = start.is_some() || commit.is_some();
            let taken = self.snapshot().filter(|_| one_server && !timed)?;
            Some(Reached::Snapshot { restart: taken.restart, shown: taken.snapshot.shown() })
        };
        commit.map(Reached::Commit).or_else(taken)
    }
}

/// How an attempt ended, for the client that has to go on.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// What went wrong, if something did.
    pub(crate) failure: Option<Failure>,
    /// Whether the session can be used again.
    pub(crate) usable: bool,
    /// When COMMIT or ROLLBACK was sent; nothing if neither was.
    pub(crate) sent: Option<i64>,
    /// Where the server ended it by itself, if it did.
    pub(crate) ended_at: Option<EndedAt>,
    /// When the transaction happened, as the server says; nothing of one that was aborted.
    pub(crate) timestamps: Timestamps,
}

impl Ending {
    fn fine(outcome: Outcome, sent: i64) -> Ending {
        let (sent, timestamps) = (Some(sent), Timestamps::default());
        Ending { outcome, failure: None, usable: true, sent, ended_at: None, timestamps }
    }
}

/// Ends a transaction in which something failed at that place. COMMIT was not sent, or was refused, so
/// nothing of it can ever take effect, whatever becomes of the connection: it is aborted.
pub(crate) fn give_up(
    session: &mut dyn Session,
    clock: RunClock,
    failure: Failure,
    at: EndedAt,
) -> Ending {
    let (sent, usable) = match failure.after {
        After::Aborted => (None, true),
        After::Open => (Some(clock.now()), session.rollback().is_ok()),
        After::Lost => (None, false),
    };
    let ended_at = failure.ended_here().then_some(at);
    let (outcome, failure, timestamps) = (Outcome::Aborted, Some(failure), Timestamps::default());
    Ending { outcome, failure, usable, sent, ended_at, timestamps }
}

/// Ends a transaction whose statements all succeeded.
pub(crate) fn finish(session: &mut dyn Session, clock: RunClock, rolls_back: bool) -> Ending {
    let sent = clock.now();
    if rolls_back {
        let ending = Ending::fine(Outcome::Aborted, sent);
        return match session.rollback() {
            Ok(()) => ending,
            Err(failure) => Ending { failure: Some(failure), usable: false, ..ending },
        };
    }
    match session.commit() {
        Ok(Ended::Committed) => {
            let timestamps = session.timestamps();
            Ending { timestamps, ..Ending::fine(Outcome::Committed, sent) }
        }
        Ok(Ended::RolledBack) => {
            Ending { ended_at: Some(EndedAt::Commit), ..Ending::fine(Outcome::Aborted, sent) }
        }
        // From here on COMMIT has been sent: without an answer that the protocol makes final,
        // the outcome is unknown.
        Err(failure) if failure.after == After::Lost => {
            let (failure, timestamps) = (Some(failure), session.timestamps());
            let ending = Ending::fine(Outcome::Unknown, sent);
            Ending { failure, usable: false, timestamps, ..ending }
        }
        Err(failure) => {
            // A COMMIT that left the transaction as it was is not what ended it; ROLLBACK is.
            let ending = give_up(session, clock, failure, EndedAt::Commit);
            Ending { sent: ending.sent.or(Some(sent)), ..ending }
        }
    }
}

/// Does one access and notes what it did.
pub(crate) fn act(
    session: &mut dyn Session,
    request: &Request,
    key: u64,
    clock: RunClock,
    acts: &mut Vec<Act>,
) -> Result<(), Failure> {
    let Request { kind, path, value, expected, .. } = *request;
    let begin = clock.now();
    let answer = session.run(request);
    let answered = !matches!(&answer, Err(failure) if failure.after == After::Lost);
    let end = answered.then(|| clock.now());
    let revision = answer.as_ref().ok().and_then(|_| session.revision());
    let snapshot = session.snapshot();
    let (answer, done) = match answer {
        Ok(answer) => (Some(answer), Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    acts.push(Act { key, kind, path, value, expected, answer, revision, snapshot, begin, end });
    done
}
