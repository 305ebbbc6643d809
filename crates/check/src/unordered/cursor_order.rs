//! A version order in which no update is lost, for cursor stability.
//!
//! A transaction that read a version and overwrote it makes the next version of the key. So the order is
//! a serial execution in which only the reads of such transactions have to return the current version.

use isolde_history::Key;

use crate::graph::edges::TxnParts;
use crate::keys::context::Context;
use crate::limits::{Limit, Limits};
use crate::unordered::serial_try;
use crate::unordered::unordered_key::UnorderedKey;

/// Whether an order was found that the graph allows and that puts every update right behind the version
/// that its transaction read. That is a proof; that none was found is not.
pub(crate) fn exists(
    context: &Context<'_>,
    parts: &TxnParts,
    keys: &[Key],
    limits: &Limits<'_>,
) -> Result<bool, Limit> {
    if !parts.components.acyclic() {
        return Ok(false);
    }
    let updates = UnorderedKey::all_updates(context, limits, keys)?;
    serial_try::succeeds(context, &parts.graph, &updates, limits)
}
