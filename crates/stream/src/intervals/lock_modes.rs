//! Which locks go together.

use isolde_history::LockMode;

/// Whether two locks on one row may be there at the same time (PostgreSQL's four modes; where there are two only, these are
/// `Share` and `Exclusive`).
pub(crate) fn are_compatible(a: LockMode, b: LockMode) -> bool {
    use LockMode::{Exclusive, NoKeyUpdate, None, Share};
    match (a, b) {
        (None, _) | (_, None) => true,
        (Exclusive, _) | (_, Exclusive) => false,
        // What is left with a key-share lock only keeps the key as it is.
        (Share | NoKeyUpdate, Share | NoKeyUpdate) => (a, b) == (Share, Share),
        _ => true,
    }
}
