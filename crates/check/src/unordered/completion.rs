//! The order in which transactions completed.

use isolde_history::{History, TxnId};

/// The rank of each transaction by the end of its interval; `None` where no transaction has one. One
/// without an end comes last: its answer was never seen.
pub(crate) fn ranks(history: &History) -> Option<Vec<u32>> {
    let ended = |txn: TxnId| history.txn(txn).interval().end;
    if !history.txns().any(|txn| txn.interval().end.is_some()) {
        return None;
    }
    let mut order: Vec<TxnId> = history.txns().map(|txn| txn.id()).collect();
    order.sort_by_key(|txn| (ended(*txn).is_none(), ended(*txn)));
    let mut ranks = vec![0; order.len()];
    for (rank, txn) in order.into_iter().enumerate() {
        ranks[txn.index()] = rank as u32;
    }
    Some(ranks)
}
