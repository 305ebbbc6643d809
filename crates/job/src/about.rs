//! What a history says of itself, for reports.

use isolde_history::History;

/// How many facts are told.
const MOST: usize = 20;
/// How long each may be.
const LENGTH: usize = 400;

/// Rows of a name and a text: what the recorder wrote down.
pub fn about(history: &History) -> Vec<(String, String)> {
    let text = |value| {
        let mut text = String::new();
        isolde_history::notation::write_value(history.pool(), value, &mut text);
        let plain = history.pool().as_text(value).map_or(text, str::to_owned);
        plain.chars().take(LENGTH).collect::<String>()
    };
    let facts =
        history.meta().info.iter().take(MOST).map(|(name, value)| (text(*name), text(*value)));
    facts.collect()
}
