//! By snapshots, commits stand between two snapshots. The logical part of the timestamp that says so names a transaction
//! which has the second of them: it parts these commits from all later ones, and so belongs to a small history that shows
//! which of two versions was the newer one.

use isolde_history::{Timestamp, TxnId};

use crate::bodies::{Bodies, TxnRef};

/// The logical part that names a transaction: below zero, which is where those stand that see the commits.
pub(crate) fn name(txn: TxnRef) -> i64 {
    -1 - (i64::from(txn.batch() & 0x7fff_ffff) << 32 | i64::from(txn.txn().0))
}

/// The transaction that the timestamp of a commit names.
pub(crate) fn of(commit: Timestamp) -> Option<TxnRef> {
    let named = commit.logical < 0 && commit.logical != i64::MIN;
    let word = -1 - Some(commit.logical).filter(|_| named)?;
    Some(TxnRef::new((word >> 32) as u32, TxnId(word as u32)))
}

/// The transactions that show in which order some writers committed, from wherever these are.
pub(crate) fn all_of(writers: &[TxnRef], bodies: &mut Bodies) -> Vec<TxnRef> {
    let divider = |writer: &TxnRef| {
        let places = bodies.body(writer.batch())?.places?;
        of(places.get(writer.txn().index())?.commit?)
    };
    writers.iter().filter_map(divider).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_named_by_a_number_below_zero() {
        for (batch, txn) in [(0, 0), (0, u32::MAX), (7, 3), (0x7fff_fffe, u32::MAX)] {
            let txn = TxnRef::new(batch, TxnId(txn));
            let commit = Timestamp { physical: 3, logical: name(txn) };
            assert!(commit < Timestamp::plain(3) && of(commit) == Some(txn), "{commit:?}");
        }
        assert_eq!(of(Timestamp::plain(3)), None);
        assert_eq!(of(Timestamp { physical: 3, logical: i64::MIN }), None);
    }
}
