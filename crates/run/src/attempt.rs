//! One attempt at one transaction: what was done, and what became of it.

use isolde_history::{OpKind, Outcome};
use isolde_target::{After, Answer, Ended, Failure, Path, Request, Session};

use crate::clock::RunClock;

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
    pub(crate) begin: i64,
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
    /// The code of the failure that ended it.
    pub(crate) error: Option<String>,
}

/// How an attempt ended, for whoever has to go on.
pub(crate) struct Ending {
    pub(crate) outcome: Outcome,
    /// What went wrong, if something did.
    pub(crate) failure: Option<Failure>,
    /// Whether the session can be used again.
    pub(crate) usable: bool,
}

impl Ending {
    fn fine(outcome: Outcome) -> Ending {
        Ending { outcome, failure: None, usable: true }
    }
}

/// Ends a transaction in which a statement failed. COMMIT was not sent, so nothing of it can ever
/// take effect, whatever becomes of the connection: it is aborted.
pub(crate) fn give_up(session: &mut dyn Session, failure: Failure) -> Ending {
    let usable = match failure.after {
        After::Aborted => true,
        After::Open => session.rollback().is_ok(),
        After::Lost => false,
    };
    Ending { outcome: Outcome::Aborted, failure: Some(failure), usable }
}

/// Ends a transaction whose statements all succeeded.
pub(crate) fn finish(session: &mut dyn Session, rolls_back: bool) -> Ending {
    if rolls_back {
        return match session.rollback() {
            Ok(()) => Ending::fine(Outcome::Aborted),
            Err(f) => Ending { outcome: Outcome::Aborted, failure: Some(f), usable: false },
        };
    }
    match session.commit() {
        Ok(Ended::Committed) => Ending::fine(Outcome::Committed),
        Ok(Ended::RolledBack) => Ending::fine(Outcome::Aborted),
        // From here on COMMIT has been sent: without an answer that the protocol makes final,
        // nobody knows.
        Err(failure) if failure.after == After::Lost => {
            Ending { outcome: Outcome::Unknown, failure: Some(failure), usable: false }
        }
        Err(failure) => give_up(session, failure),
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
    let end = answer.is_ok().then(|| clock.now());
    let (answer, done) = match answer {
        Ok(answer) => (Some(answer), Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    acts.push(Act { key, kind, path, value, expected, answer, begin, end });
    done
}
