//! What the errors of MariaDB, MySQL and TiDB mean for the transaction.

use isolde_history::ErrorClass;
use mysql::Error;

use crate::failure::{After, Failure};

/// A deadlock or a snapshot conflict: the server has rolled the transaction back.
/// 1020 is a row that changed since the snapshot; TiDB says 8002, 8022, 9007 for write conflicts.
fn is_conflict(code: u16) -> bool {
    matches!(code, 1213 | 1020 | 8002 | 8022 | 9007)
}

/// What kind of error a code stands for. A cluster says 1213, too, of what it finds in conflict with
/// another node's transaction.
fn class(code: u16) -> ErrorClass {
    match code {
        1213 => ErrorClass::Deadlock,
        1020 | 8002 | 8022 | 9007 => ErrorClass::Serialization,
        1205 => ErrorClass::LockTimeout,
        1969 | 3024 => ErrorClass::StatementTimeout,
        1048 | 1062 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 | 1761 | 3819 | 4025 => {
            ErrorClass::Constraint
        }
        code if ends_connection(code) => ErrorClass::ConnectionLost,
        _ => ErrorClass::Other,
    }
}

/// The server shuts down, killed the connection or interrupted the statement; or the engine could
/// not say how a commit ended (1180).
fn ends_connection(code: u16) -> bool {
    matches!(code, 1053 | 1152 | 1159 | 1160 | 1161 | 1180 | 1184 | 1317 | 1927 | 2006 | 2013)
}

/// The server finds that its data contradicts itself: an index that does not fit its table, a damaged file or
/// page (InnoDB and its relatives), rows and indexes of TiDB that do not agree.
fn is_corruption(code: u16) -> bool {
    matches!(
        code,
        1034 | 1035 | 1194 | 1195 | 1712 | 1817 | 1877 | 8003 | 8133 | 8134 | 8138..=8141 | 8223
    )
}

/// The error as a failure with a known meaning.
fn failure(error: &Error, after: After, expected: bool) -> Failure {
    let failure = match error {
        Error::MySqlError(e) => {
            let class = class(e.code);
            Failure::new(after, e.code.to_string(), e.message.clone()).with_class(class)
        }
        Error::IoError(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ) =>
        {
            Failure::lost("lost", "no answer in time")
        }
        other => Failure::lost("lost", other.to_string()),
    };
    let failure = Failure { after, expected, ..failure };
    if code(error).is_some_and(is_corruption) { failure.corrupt() } else { failure }
}

/// The server's code, if it was the server that complained.
pub(super) fn code(error: &Error) -> Option<u16> {
    match error {
        Error::MySqlError(e) => Some(e.code),
        _ => None,
    }
}

/// A failure of a statement that is not COMMIT.
pub(super) fn in_transaction(error: &Error) -> Failure {
    match code(error) {
        Some(code) if is_conflict(code) => failure(error, After::Aborted, true),
        // Lock and statement time-outs, rows that a concurrent transaction inserted: the
        // transaction goes on without the statement.
        Some(1205 | 1062 | 1969 | 3024) => failure(error, After::Open, true),
        Some(code) if !ends_connection(code) => failure(error, After::Open, false),
        _ => failure(error, After::Lost, false),
    }
}

/// A failure of COMMIT: aborted if the error is a conflict, in doubt otherwise.
pub(super) fn at_commit(error: &Error) -> Failure {
    match code(error) {
        Some(code) if is_conflict(code) => failure(error, After::Aborted, true),
        _ => failure(error, After::Lost, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16) -> Error {
        let (state, message) = ("HY000".to_owned(), String::new());
        Error::MySqlError(mysql::error::MySqlError { state, message, code })
    }

    #[test]
    fn each_error_says_what_became_of_the_transaction() {
        let cases = [
            (1213, After::Aborted, true, After::Aborted),
            (1020, After::Aborted, true, After::Aborted),
            (9007, After::Aborted, true, After::Aborted),
            (1205, After::Open, true, After::Lost),
            (1146, After::Open, false, After::Lost),
            (1180, After::Lost, false, After::Lost),
            (1317, After::Lost, false, After::Lost),
            (1927, After::Lost, false, After::Lost),
        ];
        for (code, after, expected, commit) in cases {
            let failure = in_transaction(&error(code));
            assert_eq!((failure.after, failure.expected), (after, expected), "{code}");
            assert_eq!(at_commit(&error(code)).after, commit, "{code} at COMMIT");
            // A lock that was not to be had in time costs the statement, not the transaction.
            assert_eq!(failure.ended_here(), after == After::Aborted, "{code}");
        }
        for (code, class) in [
            (1213, ErrorClass::Deadlock),
            (1020, ErrorClass::Serialization),
            (1205, ErrorClass::LockTimeout),
            (1062, ErrorClass::Constraint),
            (2013, ErrorClass::ConnectionLost),
            (1146, ErrorClass::Other),
        ] {
            assert_eq!(in_transaction(&error(code)).class, class, "{code}");
        }
        for code in [1712, 8133, 8141] {
            let failure = in_transaction(&error(code));
            assert_eq!(
                (failure.code.as_str(), failure.after),
                ("impossible", After::Open),
                "{code}"
            );
            assert!(failure.message.contains(&code.to_string()), "{failure}");
        }
        let gone = Error::IoError(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(in_transaction(&gone).after, After::Lost);
        assert_eq!(at_commit(&gone).after, After::Lost);
    }
}
