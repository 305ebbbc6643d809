//! When the parts of a transaction happened, as far as its client knows, and when the server let go of its locks.

use isolde_history::{EndedAt, ErrorClass, History, OpKind, Outcome, Stmt, Txn, Value, names};
use isolde_spec::Profile;

use super::span::Span;
use super::trace::Fate;

/// When the parts of a transaction were sent and answered.
pub(super) struct Times {
    pub(super) began: i64,
    /// When the answer to BEGIN came; the latest time of all if that is not said, since it travels with the first statement.
    pub(super) begun: i64,
    pub(super) stmts: Vec<Span>,
    /// COMMIT or ROLLBACK.
    pub(super) end: Span,
    /// What it had locked it certainly held until then.
    pub(super) until: i64,
    /// Statements from this one on may have failed: they certainly locked nothing.
    pub(super) failed: usize,
    pub(super) fate: Fate,
}

impl Times {
    pub(super) fn of(history: &History, txn: &Txn<'_>, profile: &Profile) -> Times {
        let whole = txn.interval();
        let (began, ended) = (whole.begin.unwrap_or(i64::MIN), whole.end.unwrap_or(i64::MAX));
        let span = |stmt: Stmt<'_>| {
            let interval = stmt.interval();
            Span { sent: interval.begin.unwrap_or(began), answered: interval.end.unwrap_or(ended) }
        };
        let stmts: Vec<Span> = txn.stmts().map(span).collect();
        let last = stmts.last().copied();
        // What ends it is sent after the last answer; or it travels with the last statement, whose answer is then that of all.
        let known = |last: Span| if last.answered < ended { last.answered } else { last.sent };
        let at_least = last.map_or(began, known);
        let ending = txn.ending();
        let end = Span { sent: ending.begin.unwrap_or(at_least), answered: ended };
        let fate = match txn.outcome() {
            Outcome::Committed => Fate::Committed,
            Outcome::Aborted => Fate::Aborted,
            Outcome::Unknown => Fate::Unknown,
        };
        let answered = if fate == Fate::Unknown { i64::MAX } else { end.answered };
        let (failed, until, end) = (stmts.len(), end.sent, Span { answered, ..end });
        let begun = txn.attr(names::BEGIN_ANSWERED).and_then(Value::as_int).unwrap_or(i64::MAX);
        let mut times = Times { began, begun, stmts, end, until, failed, fate };
        times.cut_short(history, txn, profile);
        times
    }

    /// When it had done all that is judged in it, if it is not known when it ended: unless it certainly committed, that is
    /// what its statements did. It must not keep others from being forgotten for ever.
    pub(super) fn last_known(&self) -> i64 {
        if self.fate == Fate::Committed {
            return i64::MAX;
        }
        let times = self.stmts.iter().flat_map(|stmt| [stmt.sent, stmt.answered]);
        let known = times.chain([self.end.sent]).filter(|time| *time < i64::MAX);
        known.max().unwrap_or(self.began)
    }

    /// Locks go when the server ends the transaction, which may be long before the client says ROLLBACK; and when the
    /// connection is lost, or the server dies, perhaps right after its last answer.
    fn cut_short(&mut self, history: &History, txn: &Txn<'_>, profile: &Profile) {
        if self.fate == Fate::Committed {
            return;
        }
        let last = self.stmts.len().saturating_sub(1);
        let lost =
            txn.error_class() == Some(ErrorClass::ConnectionLost) || self.fate == Fate::Unknown;
        // Where the outcome is unknown COMMIT was sent, so that no statement had failed.
        let has_error = self.fate == Fate::Aborted && txn.attr("error").is_some();
        let ended_at = match txn.ended_at() {
            None if has_error && self.is_ended_by_error(history, txn, profile) => {
                Some(EndedAt::Statement(last as u32))
            }
            None if self.fate == Fate::Aborted => ended_by_statement(history, txn, profile),
            said => said,
        };
        match ended_at {
            Some(EndedAt::Begin) => (self.failed, self.until) = (0, i64::MIN),
            Some(EndedAt::Statement(number)) => {
                self.failed = number as usize;
                self.until = self.stmts.get(number as usize).map_or(i64::MIN, |stmt| stmt.sent);
            }
            // The last statement may be the one that failed.
            None if has_error => self.failed = last,
            Some(EndedAt::Commit) | None => {}
        }
        if lost {
            // A statement without an answer may not have been done.
            let answered = |stmt: &&Span| stmt.answered < i64::MAX;
            let alive = self.stmts[..self.failed].iter().rfind(answered);
            self.until = self.until.min(alive.map_or(i64::MIN, |stmt| stmt.sent));
        }
    }

    /// Whether the error is one after which the server has ended the transaction itself. For records that do not say so.
    fn is_ended_by_error(&self, history: &History, txn: &Txn<'_>, profile: &Profile) -> bool {
        let error = txn.attr("error");
        !self.stmts.is_empty() && error.is_some_and(|error| is_ending(history, error, profile))
    }
}

/// The first statement that was answered by an error after which the server has ended the transaction itself; but not if
/// the client went back to a savepoint after it.
fn ended_by_statement(history: &History, txn: &Txn<'_>, profile: &Profile) -> Option<EndedAt> {
    let ends =
        |stmt: Stmt<'_>| stmt.attr("error").is_some_and(|error| is_ending(history, error, profile));
    let goes_back = |stmt: Stmt<'_>| stmt.ops().any(|op| op.kind() == OpKind::RollbackTo);
    let back = txn.stmts().enumerate().filter(|(_, stmt)| goes_back(*stmt)).last();
    let from = back.map_or(0, |(number, _)| number);
    let ended = txn.stmts().skip(from).position(ends);
    ended.map(|number| EndedAt::Statement((from + number) as u32))
}

fn is_ending(history: &History, error: Value, profile: &Profile) -> bool {
    profile.ending_errors.iter().any(|code| code == "*" || is_code(history, error, code))
}

fn is_code(history: &History, error: Value, code: &str) -> bool {
    match error.as_int() {
        Some(number) => number.to_string() == code,
        None => history.pool().as_text(error) == Some(code),
    }
}
