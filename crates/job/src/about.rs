//! What a history says of itself, for reports.

use isolde_history::{Datum, History, Value};

/// How many facts are told.
const MOST: usize = 20;
/// How long each may be.
const LENGTH: usize = 400;

/// Rows of a name and a text: what the recorder wrote down.
pub fn about(history: &History) -> Vec<(String, String)> {
    let text = |value| plain(history, value).chars().take(LENGTH).collect::<String>();
    let facts =
        history.meta().info.iter().take(MOST).map(|(name, value)| (text(*name), text(*value)));
    facts.collect()
}

/// A value in words: settings as `name value, name value`.
fn plain(history: &History, value: Value) -> String {
    let pool = history.pool();
    if let Datum::Row(row) = pool.datum(value) {
        let all: Vec<String> = row.iter().map(|value| single(history, value)).collect();
        return all.chunks(2).map(|entry| entry.join(" ")).collect::<Vec<_>>().join(", ");
    }
    single(history, value)
}

/// A text without quotes, and anything else as it is written down.
fn single(history: &History, value: Value) -> String {
    let mut text = String::new();
    isolde_history::notation::write_value(history.pool(), value, &mut text);
    history.pool().as_text(value).map_or(text, str::to_owned)
}
