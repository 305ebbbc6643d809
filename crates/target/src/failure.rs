//! What went wrong, and what that means for the transaction.

use std::fmt;

use isolde_history::ErrorClass;

use crate::request::Request;

/// What an error says of the transaction in which it occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// The server ended the transaction: nothing of it will ever take effect, and the next
    /// statement would run outside of it (MariaDB's 1213 and 1020).
    Aborted,
    /// The statement failed, and the transaction is still there, to be rolled back (MariaDB's 1205,
    /// PostgreSQL's failed transactions, SQLite's BUSY).
    Open,
    /// No answer came, or one after which nothing is certain: if COMMIT had been sent, the
    /// transaction may have committed. The session is of no more use.
    Lost,
}

/// An error of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What it says of the transaction.
    pub after: After,
    /// The server's code, such as `40001` or `1213`; a short word of ours where there is none.
    pub code: String,
    /// What the server or the client library says.
    pub message: String,
    /// Whether it belongs to the normal course of concurrent transactions: conflicts, deadlocks,
    /// lock time-outs. Others are shown to the user.
    pub expected: bool,
    /// What kind of error it is, whatever the server calls it.
    pub class: ErrorClass,
    /// Whether the server has ended the transaction at this very request: undone it and let go of its
    /// locks, no sooner and no later. PostgreSQL does so at every error, and still wants to be told
    /// ROLLBACK; a cluster may have done so long before it says so.
    pub ended: bool,
}

impl Failure {
    /// The code of [`impossible`](Failure::impossible) answers.
    pub const IMPOSSIBLE: &str = "impossible";

    /// A failure that the user should see.
    pub fn new(after: After, code: impl Into<String>, message: impl Into<String>) -> Failure {
        let (code, message, class) = (code.into(), message.into(), ErrorClass::Other);
        let ended = after == After::Aborted;
        Failure { after, code, message, expected: false, class, ended }
    }

    /// The database answered what cannot be, whatever the isolation: a row that is there twice, a value
    /// that no transaction could have written. The session is given up, and the run is not called good.
    pub fn impossible(request: &Request, found: &str) -> Failure {
        let (table, row, path) = (request.table, request.row, request.path.name());
        let message = format!("row {row} of table {table}, reached by {path}: {found}");
        Failure::new(After::Lost, Failure::IMPOSSIBLE, message)
    }

    /// The server says itself that its data is damaged. Whatever the record shows, the run is not called
    /// good.
    #[must_use]
    pub fn corrupt(self) -> Failure {
        let message = format!("the server reports damaged data: {} ({})", self.message, self.code);
        let code = Failure::IMPOSSIBLE.to_owned();
        Failure { code, message, expected: false, ..self }
    }

    /// A conflict between transactions.
    pub fn conflict(after: After, code: impl Into<String>, message: impl Into<String>) -> Failure {
        let class = ErrorClass::Serialization;
        Failure { expected: true, class, ..Failure::new(after, code, message) }
    }

    /// The connection is gone, or the server has not answered in time.
    pub fn lost(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure::new(After::Lost, code, message).with_class(ErrorClass::ConnectionLost)
    }

    /// The same, of another kind.
    #[must_use]
    pub fn with_class(self, class: ErrorClass) -> Failure {
        Failure { class, ..self }
    }

    /// Whether the server is known to have ended the transaction at this request. Of a lost connection
    /// it is unknown when the server will notice.
    pub fn ended_here(&self) -> bool {
        self.ended && self.after != After::Lost
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_has_ended_what_it_says_it_has() {
        let failure = |after| Failure::new(after, "c", "m");
        let failed = |after| Failure { ended: true, ..failure(after) };
        assert!(failure(After::Aborted).ended_here());
        assert!(failed(After::Open).ended_here() && !failure(After::Open).ended_here());
        assert!(!failed(After::Lost).ended_here() && !failure(After::Lost).ended_here());
    }
}
