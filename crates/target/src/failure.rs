//! What went wrong, and what that means for the transaction.

use std::fmt;

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
}

impl Failure {
    /// The code of [`impossible`](Failure::impossible) answers.
    pub const IMPOSSIBLE: &str = "impossible";

    /// A failure that the user should see.
    pub fn new(after: After, code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { after, code: code.into(), message: message.into(), expected: false }
    }

    /// The database answered what cannot be, whatever the isolation: a row that is there twice, a value
    /// that nobody could have written. The session is given up, and the run is not called good.
    pub fn impossible(request: &Request, found: &str) -> Failure {
        let (table, row, path) = (request.table, request.row, request.path.name());
        let message = format!("row {row} of table {table}, reached by {path}: {found}");
        Failure::new(After::Lost, Failure::IMPOSSIBLE, message)
    }

    /// A conflict between transactions.
    pub fn conflict(after: After, code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { after, code: code.into(), message: message.into(), expected: true }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Failure {}
