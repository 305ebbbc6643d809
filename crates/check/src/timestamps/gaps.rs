//! Whether a recorder's sequence numbers show that transactions are missing.

use isolde_history::{History, TxnId};

/// A transaction before which one of its session is missing, by its sequence number.
pub(crate) fn first_gap(history: &History) -> Option<TxnId> {
    let mut last: Vec<Option<i64>> = vec![None; history.session_count()];
    history.seqs().find_map(|(txn, number)| {
        let last = last.get_mut(history.txn(txn).session().index())?;
        let gap = last.is_some_and(|last| number != last.wrapping_add(1));
        *last = Some(number);
        gap.then_some(txn)
    })
}
