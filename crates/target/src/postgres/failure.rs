//! What PostgreSQL's errors mean for the transaction.

use isolde_history::ErrorClass;

use super::wire::{ServerError, Trouble};
use crate::failure::{After, Failure};

/// A serialization failure, a deadlock, a lock or a statement that took too long, a row that a
/// concurrent transaction inserted: the normal course of concurrent transactions.
fn is_expected(code: &str) -> bool {
    matches!(code, "40001" | "40P01" | "55P03" | "57014" | "23505")
}

/// What kind of error a code stands for.
fn class(code: &str) -> ErrorClass {
    match code {
        "40P01" => ErrorClass::Deadlock,
        "55P03" => ErrorClass::LockTimeout,
        "57014" => ErrorClass::StatementTimeout,
        "40001" => ErrorClass::Serialization,
        _ if code.starts_with("23") => ErrorClass::Constraint,
        _ if code.starts_with("08") || code.starts_with("57P") => ErrorClass::ConnectionLost,
        _ => ErrorClass::Other,
    }
}

/// Whether the server hangs up after the error.
fn ends_connection(error: &ServerError) -> bool {
    matches!(error.severity.as_str(), "FATAL" | "PANIC")
        || error.code.starts_with("08")
        || error.code.starts_with("57P")
}

/// Damaged data, and a damaged index.
fn is_corruption(code: &str) -> bool {
    matches!(code, "XX001" | "XX002")
}

/// The failure, or what it says of the server itself.
fn judged(failure: Failure) -> Failure {
    if is_corruption(&failure.code) { failure.corrupt() } else { failure }
}

fn lost(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Error(error) if ends_connection(&error) => {
            Failure::lost(error.code, error.message)
        }
        Trouble::Error(ServerError { code, message, .. }) => {
            let class = class(&code);
            Failure::new(After::Lost, code, message).with_class(class)
        }
        Trouble::Gone(message) => Failure::lost("lost", message),
    }
}

/// A failure of a statement that is not COMMIT. `status` is what the server said of the
/// transaction after the error.
pub(super) fn in_transaction(trouble: Trouble, status: u8) -> Failure {
    judged(match trouble {
        Trouble::Error(error) if !ends_connection(&error) => {
            // Without a transaction there is nothing to roll back: BEGIN itself failed.
            let after = if status == b'I' { After::Aborted } else { After::Open };
            Failure { ended: status != b'T', ..told(error, after) }
        }
        other => lost(other),
    })
}

/// What the server said, and what it means.
fn told(error: ServerError, after: After) -> Failure {
    let ServerError { code, message, .. } = error;
    let (expected, class) = (is_expected(&code), class(&code));
    // Without a transaction, or in a failed one: nothing is left of it, nor any of its locks.
    Failure { after, code, message, expected, class, ended: true }
}

/// A failure of COMMIT. The transaction is known to be aborted only if the error says so: a
/// conflict found at commit, a constraint checked then, a transaction in a wrong state.
/// `40003` is "statement completion unknown". Everything else leaves the outcome open: the commit
/// may be on disk already when the error occurs.
pub(super) fn at_commit(trouble: Trouble) -> Failure {
    let known = |e: &ServerError| {
        let class = e.code.get(..2).unwrap_or_default();
        matches!(class, "40" | "23" | "25") && e.code != "40003" && !ends_connection(e)
    };
    judged(match trouble {
        Trouble::Error(error) if known(&error) => told(error, After::Aborted),
        other => lost(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(severity: &str, code: &str) -> Trouble {
        let (severity, code) = (severity.to_owned(), code.to_owned());
        Trouble::Error(ServerError { severity, code, message: String::new() })
    }

    #[test]
    fn commits_end_in_doubt_unless_the_server_is_clear() {
        let cases = [
            ("ERROR", "40001", After::Aborted, true),
            ("ERROR", "40P01", After::Aborted, true),
            ("ERROR", "23505", After::Aborted, true),
            ("ERROR", "25P02", After::Aborted, false),
            ("ERROR", "40003", After::Lost, false),
            ("ERROR", "53100", After::Lost, false),
            ("ERROR", "57014", After::Lost, false),
            ("FATAL", "57P01", After::Lost, false),
            ("FATAL", "40001", After::Lost, false),
            ("ERROR", "08006", After::Lost, false),
        ];
        for (severity, code, after, expected) in cases {
            let failure = at_commit(error(severity, code));
            assert_eq!((failure.after, failure.expected), (after, expected), "{severity} {code}");
        }
        assert_eq!(at_commit(Trouble::Gone(String::new())).after, After::Lost);
    }

    #[test]
    fn statements_leave_the_transaction_open() {
        let cases = [
            ("ERROR", "40001", b'E', After::Open, true),
            ("ERROR", "55P03", b'E', After::Open, true),
            ("ERROR", "57014", b'E', After::Open, true),
            ("ERROR", "42P01", b'E', After::Open, false),
            ("ERROR", "42601", b'I', After::Aborted, false),
            ("FATAL", "57P01", b'E', After::Lost, false),
            ("PANIC", "XX000", b'E', After::Lost, false),
        ];
        for (severity, code, status, after, expected) in cases {
            let failure = in_transaction(error(severity, code), status);
            assert_eq!((failure.after, failure.expected), (after, expected), "{severity} {code}");
            // In a failed transaction nothing is left but the duty to say ROLLBACK.
            assert_eq!(failure.ended_here(), after != After::Lost, "{severity} {code}");
        }
        let open = in_transaction(error("ERROR", "22012"), b'T');
        assert!(open.after == After::Open && !open.ended_here());
    }

    #[test]
    fn a_server_that_reports_its_own_corruption_is_at_fault() {
        for code in ["XX001", "XX002"] {
            let failure = in_transaction(error("ERROR", code), b'E');
            assert_eq!((failure.code.as_str(), failure.after), ("impossible", After::Open));
            assert!(failure.message.contains(code), "{failure}");
            let failure = at_commit(error("ERROR", code));
            assert_eq!((failure.code.as_str(), failure.after), ("impossible", After::Lost));
        }
        // A mistake of the server's own is no damage.
        assert_eq!(in_transaction(error("ERROR", "XX000"), b'E').code, "XX000");
    }

    #[test]
    fn codes_have_their_classes() {
        for (code, expected) in [
            ("40001", ErrorClass::Serialization),
            ("40P01", ErrorClass::Deadlock),
            ("55P03", ErrorClass::LockTimeout),
            ("57014", ErrorClass::StatementTimeout),
            ("23505", ErrorClass::Constraint),
            ("57P01", ErrorClass::ConnectionLost),
            ("42P01", ErrorClass::Other),
        ] {
            assert_eq!(in_transaction(error("ERROR", code), b'E').class, expected, "{code}");
        }
        assert_eq!(at_commit(error("ERROR", "40001")).class, ErrorClass::Serialization);
        assert_eq!(at_commit(error("FATAL", "40001")).class, ErrorClass::ConnectionLost);
        assert_eq!(at_commit(error("ERROR", "53100")).class, ErrorClass::Other);
    }
}
