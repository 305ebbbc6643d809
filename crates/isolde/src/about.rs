//! What a history says of itself, for reports.

use isolde_history::History;
use isolde_report::number;

/// How many facts are told.
const MOST: usize = 20;
/// How long each may be.
const LENGTH: usize = 400;

/// Rows of a name and a text: what the recorder wrote down, and how large the history is.
pub(crate) fn of(history: &History) -> Vec<(String, String)> {
    let text = |value| {
        let mut text = String::new();
        isolde_history::notation::write_value(history.pool(), value, &mut text);
        let plain = history.pool().as_text(value).map_or(text, str::to_owned);
        plain.chars().take(LENGTH).collect::<String>()
    };
    let facts =
        history.meta().info.iter().take(MOST).map(|(name, value)| (text(*name), text(*value)));
    facts.chain(size(history)).collect()
}

/// How large a history is.
pub(crate) fn size(history: &History) -> Option<(String, String)> {
    let count = |n: usize, what: &str| {
        let plural = if n == 1 { "" } else { "s" };
        format!("{} {what}{plural}", number(n))
    };
    let size = [
        count(history.session_count(), "session"),
        count(history.txn_count(), "transaction"),
        count(history.op_count(), "operation"),
        count(history.key_count(), "key"),
    ];
    Some(("size".to_owned(), size.join(", ")))
}
