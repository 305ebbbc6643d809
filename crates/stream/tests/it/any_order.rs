//! Orders in which transactions may arrive.

use crate::made::Random;

/// The same in another order that keeps sessions, of which there are fewer than `most`.
pub(crate) fn in_any_order<T: Clone>(
    txns: &[T],
    session: impl Fn(&T) -> u64,
    most: u64,
    random: &mut Random,
) -> Vec<T> {
    let session = &session;
    let of = |own: u64| txns.iter().filter(move |txn| session(txn) == own).cloned();
    let mut left: Vec<_> = (0..most).map(of).collect();
    let mut all = Vec::with_capacity(txns.len());
    while all.len() < txns.len() {
        all.extend(left[random.below(most) as usize].next());
    }
    all
}
