//! Answers in words: what each is called, and what is said of one that only says that nothing was found.

use isolde_spec::{Answer, By, Promise};
use serde_json::{Value, json};

use crate::wrap::number;

/// The name of an answer for machines.
pub(crate) fn name(answer: &Answer) -> &'static str {
    match answer {
        Answer::Holds => "holds",
        Answer::NoViolation { .. } => "no-violation",
        Answer::Violated(_) => "violated",
        Answer::Unknown(_) => "unknown",
    }
}

/// Why an answer is unknown.
pub(crate) fn reason(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Unknown(reason) => Some(reason),
        Answer::Holds | Answer::NoViolation { .. } | Answer::Violated(_) => None,
    }
}

/// Among how many nothing was found: "among 1,234 of 1,300 decided". It says if that is less than was asked for.
pub(crate) fn among(answer: &Answer) -> Option<String> {
    let &Answer::NoViolation { decided, of, enough } = answer else { return None };
    let among = format!("among {} of {} decided", number(decided), number(of));
    Some(match (enough, of) {
        (true, _) => among,
        (false, 0) => format!("{among}: there was nothing to decide"),
        (false, _) => format!("{among}, which is a smaller share than was asked for"),
    })
}

/// The same for machines: its figures by name.
pub(crate) fn figures(answer: &Answer) -> Vec<(&'static str, Value)> {
    match *answer {
        Answer::NoViolation { decided, of, enough } => {
            vec![("decided", json!(decided)), ("of", json!(of)), ("enough", json!(enough))]
        }
        Answer::Holds | Answer::Violated(_) | Answer::Unknown(_) => Vec::new(),
    }
}

/// A promise as it is named in a sentence. By intervals, transactions are held against the mechanisms of the server, which know
/// of no sessions: there is no session order that could be missing.
pub(crate) fn promised(promise: Promise) -> Promise {
    match promise.by {
        By::Intervals => Promise { session_order: true, ..promise },
        By::Values | By::Timestamps | By::Snapshots => promise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_was_decided_is_told() {
        let told = |decided, of, enough| among(&Answer::NoViolation { decided, of, enough });
        let told = |decided, of, enough| told(decided, of, enough).unwrap_or_default();
        assert_eq!(told(1234, 1300, true), "among 1,234 of 1,300 decided");
        let short = "among 1 of 9 decided, which is a smaller share than was asked for";
        assert_eq!(told(1, 9, false), short);
        assert_eq!(told(0, 0, false), "among 0 of 0 decided: there was nothing to decide");
        assert_eq!(among(&Answer::Holds), None);
    }
}
