//! A version order that the history itself shows.

use isolde_history::OpId;

/// The version order of a key that the history itself shows: by the reads of a list, or as the
/// recorder gave it.
#[derive(Default)]
pub(crate) struct ShownOrder {
    /// The versions in order, as indices of the key's writes.
    pub(crate) seen: Vec<u32>,
    /// Every element of a list that is known to be there, in its order: the elements of two
    /// transactions may not alternate.
    pub(crate) elements: Vec<u32>,
    /// The versions that the order does not tell.
    pub(crate) unseen: Vec<u32>,
    /// Whether those come after the others, as the unread elements of a list do.
    pub(crate) unseen_last: bool,
    /// The read that shows the order.
    pub(crate) shown_by: Option<OpId>,
}
