//! Mutual exclusion: of two transactions with locks on a row that exclude each other, one lets go before the other has it.

use super::breach::Broken;
use super::lock_modes::are_compatible;
use super::mirror::{Deciding, Mirror};
use super::row::Held;
use super::span::Span;
use super::trace::Hold;

impl Mirror {
    /// Holds the locks of a transaction against those of transactions that have been decided before.
    pub(super) fn exclude(&mut self, txn: &Deciding) {
        let no = txn.no;
        let mut broken = Vec::new();
        for hold in strongest(&txn.trace.holds) {
            let row = self.row_mut(hold.row);
            let met = row.held.iter().rev().take_while(|held| held.hold.until > hold.from);
            let excluded = met.filter(|held| {
                held.by != no
                    && hold.overlaps(&held.hold)
                    && !are_compatible(hold.mode, held.hold.mode)
            });
            broken.extend(excluded.map(|held| (hold.clone(), held.clone())));
            row.add_held(Held { by: no, txn: txn.trace.txn, hold: hold.clone() });
        }
        for (hold, held) in broken {
            let (other, other_op) = (held.txn, held.hold.op);
            let span = |hold: &Hold| Span { sent: hold.from, answered: hold.until };
            let what = Broken::Locks {
                op: hold.op,
                held: span(&hold),
                other,
                other_op,
                other_held: span(&held.hold),
            };
            self.tell(&txn.trace, what);
        }
    }
}

/// Of the locks of one transaction on one row those that say something: the first of each mode.
fn strongest(holds: &[Hold]) -> Vec<&Hold> {
    let mut first: Vec<&Hold> = Vec::with_capacity(holds.len());
    let mut by_row: Vec<&Hold> = holds.iter().collect();
    by_row.sort_by_key(|hold| (hold.row, hold.from));
    for hold in by_row {
        let covered = first
            .iter()
            .rev()
            .take_while(|old| old.row == hold.row)
            .any(|old| old.mode == hold.mode && old.until >= hold.until);
        if !covered {
            first.push(hold);
        }
    }
    first
}
