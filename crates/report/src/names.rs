//! What transactions, operations and keys are called in reports.

use isolde_history::notation::write_value;
use isolde_history::{History, Key, OpId, SessionId, TxnId, Value};

/// A value as the notation writes it.
pub(crate) fn value(history: &History, value: Value) -> String {
    let mut text = String::new();
    write_value(history.pool(), value, &mut text);
    text
}

/// A key by its name.
pub(crate) fn key(history: &History, key: Key) -> String {
    value(history, history.pool().key_name(key))
}

/// A key as part of a sentence: a number says that it is a key, so that it is not taken for a value.
pub(crate) fn spoken_key(history: &History, key: Key) -> String {
    spoken("key", &self::key(history, key))
}

/// A name, or what it is and its number.
pub(crate) fn spoken(what: &str, name: &str) -> String {
    let number = name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if number { format!("{what} {name}") } else { name.to_owned() }
}

/// A transaction by the name that the source gave it, or by its number in the history. A number
/// gets a T in front, so that it is not taken for a value; a name is a name.
pub(crate) fn txn(history: &History, id: TxnId) -> String {
    isolde_history::notation::txn_name(history, id)
}

/// A transaction as a line of the notation, with all that is known of it.
pub(crate) fn full_line(history: &History, id: TxnId) -> String {
    let mut text = String::new();
    isolde_history::notation::write_txn(history, history.txn(id), &mut text);
    text
}

/// A transaction as a line of the notation, which a reader can type back.
pub(crate) fn line(history: &History, id: TxnId) -> String {
    let mut text = String::new();
    isolde_history::notation::write_txn_briefly(history, history.txn(id), &mut text);
    text
}

/// An operation as the notation writes it, without its attributes.
pub(crate) fn op(history: &History, id: OpId) -> String {
    let mut text = String::new();
    isolde_history::notation::write_op(history, history.op(id), &mut text);
    text
}

/// A session by its name.
pub(crate) fn session(history: &History, id: SessionId) -> String {
    value(history, history.pool().session_name(id))
}
