//! How long what a witness by intervals speaks of lasted: a lock, a snapshot that was open; and where an instant can have been.

use std::collections::HashMap;

use isolde_history::{History, OpId, TxnId};
use isolde_spec::{Stretch, StretchOf, Witness};

/// How many are shown.
const MOST: usize = 24;

/// Something that lasted, or happened at one instant of a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// The transaction: its number in [`Exhibit::parts`](super::Exhibit::parts).
    pub part: usize,
    /// What it is: "locked", "snapshot".
    pub name: &'static str,
    /// Whether it happened at one instant of it, and did not last all the time.
    pub instant: bool,
    /// From when until when that is certain. A side that is not known is open.
    pub certain: (Option<i64>, Option<i64>),
    /// From when until when it may have been so.
    pub possible: (Option<i64>, Option<i64>),
}

/// All of a witness, those of each transaction as the witness names them.
pub(super) fn of(history: &History, witness: &Witness, at: &HashMap<TxnId, usize>) -> Vec<Lasting> {
    let stretches = witness.mirrored.iter().flat_map(|mirrored| &mirrored.stretches);
    let shown = |stretch: &Stretch| {
        let instant = matches!(stretch.what, StretchOf::Snapshot | StretchOf::Commit);
        let certain = (stretch.from, stretch.until);
        let possible = if instant { certain } else { possible(history, stretch) };
        Some(Lasting {
            part: *at.get(&stretch.txn)?,
            name: stretch.what.name(),
            instant,
            certain,
            possible,
        })
    };
    stretches.filter_map(shown).take(MOST).collect()
}

/// A lock may have been there since the statement was sent that took it, and until the end was answered.
fn possible(history: &History, stretch: &Stretch) -> (Option<i64>, Option<i64>) {
    let txn = history.txn(stretch.txn);
    let has = |op: OpId| txn.stmts().find(|stmt| stmt.ops().any(|own| own.id() == op));
    let op = stretch.op.filter(|_| stretch.what != StretchOf::Open);
    let sent = op.and_then(has).and_then(|stmt| stmt.interval().begin);
    let from = sent.or(txn.interval().begin).filter(|sent| Some(*sent) <= stretch.from);
    let until = txn.interval().end.filter(|end| Some(*end) >= stretch.until);
    (from.or(stretch.from), until)
}
