//! The server's timestamps in words and for machines.

use isolde_history::History;
use isolde_history::{Timestamp, TxnId};
use serde_json::{Value, json};

/// A timestamp as the server wrote it: "7", and with a logical part "7.1".
pub(crate) fn tell(at: Timestamp) -> String {
    match at.logical {
        0 => at.physical.to_string(),
        logical => format!("{}.{logical}", at.physical),
    }
}

/// A timestamp for machines: a number, and with a logical part a pair.
pub(crate) fn to_json(at: Timestamp) -> Value {
    match at.logical {
        0 => json!(at.physical),
        logical => json!([at.physical, logical]),
    }
}

/// The timestamps of a transaction as far as it has them: "start 4, commit 5".
pub(crate) fn both(history: &History, id: TxnId) -> String {
    let txn = history.txn(id);
    let named = [("start", txn.start_ts()), ("commit", txn.commit_ts())];
    let known = named.iter().filter_map(|(name, at)| Some(format!("{name} {}", tell((*at)?))));
    let known: Vec<String> = known.collect();
    if known.is_empty() { "no timestamps".to_owned() } else { known.join(", ") }
}
