//! Whether a recorder's sequence numbers show that transactions are missing.

use isolde_history::{History, SessionId, TxnId, names};

/// A transaction before which one of its session is missing, by its sequence number.
pub(crate) fn first_gap(history: &History) -> Option<TxnId> {
    let seq = |txn: TxnId| history.txn(txn).attr(names::SEQ)?.as_int();
    // Look-ups by name are slow, and most histories have no such attribute.
    if !history.has_txn_attr(names::SEQ) {
        return None;
    }
    (0..history.session_count() as u32).find_map(|session| {
        let mut last: Option<i64> = None;
        history.session(SessionId(session)).iter().copied().find(|txn| {
            let Some(number) = seq(*txn) else { return false };
            let gap = last.is_some_and(|last| number != last.wrapping_add(1));
            last = Some(number);
            gap
        })
    })
}
